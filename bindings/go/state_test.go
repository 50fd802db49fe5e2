package attnzoo_test

// state_test.go: caches and alignments.

import (
	"errors"
	"math/rand"
	"runtime"
	"testing"
	"time"

	"attnzoo"
)

const tokenSize, tokenCount = 6, 7

// cachedModule is causal self-attention over tokens, with one token's tensor by its place.
func cachedModule(seed int64) (*attnzoo.Module, []float32) {
	source := rand.New(rand.NewSource(seed))
	var settings []attnzoo.Setting
	for _, name := range []string{"query_proj.weight", "key_proj.weight", "value_proj.weight"} {
		settings = append(settings,
			attnzoo.Parameter(name, attnzoo.TensorOf(random(source, tokenSize*tokenSize), tokenSize, tokenSize)))
	}
	settings = append(settings, attnzoo.Option("num_heads", 2))
	return must(attnzoo.NewModule("multi_head", settings...)), random(source, tokenCount*tokenSize)
}

func tokensFrom(tokens []float32, first, count int) attnzoo.Call {
	part := attnzoo.TensorOf(tokens[first*tokenSize:(first+count)*tokenSize], 1, count, tokenSize)
	return attnzoo.Call{Query: part, Key: part, Value: part, Mask: &attnzoo.Mask{Causal: true}}
}

// cacheTolerance: the same sums in another order. Projections are over 6 terms up to 1, scores over 3 of 6 times 6.
var cacheTolerance = func() float64 {
	row := bound{tokenSize, dotError(tokenSize, tokenSize)}
	return 2 * (contextTolerance(scoreBound(tokenSize/2, row, row).err, tokenCount, tokenSize) + row.err)
}()

// attendFrom calls with the tokens from first on, one a call, and returns their contexts.
func attendFrom(t *testing.T, module *attnzoo.Module, state *attnzoo.State, tokens []float32, first int) []float32 {
	t.Helper()
	var contexts []float32
	for token := first; token < tokenCount; token++ {
		call := tokensFrom(tokens, token, 1)
		call.State = state
		context, _, err := module.Attend(call)
		if err != nil {
			t.Fatal(err)
		}
		contexts = append(contexts, context...)
	}
	return contexts
}

func TestCache(t *testing.T) {
	const prompt = 3
	module, tokens := cachedModule(21)
	whole, _, err := module.Attend(tokensFrom(tokens, 0, tokenCount))
	if err != nil {
		t.Fatal(err)
	}
	state := must(module.NewState(1, tokenCount))
	if state.Length() != 0 || state.Capacity() != tokenCount || state.Batch() != 1 {
		t.Fatalf("a new state: %d %d %d", state.Length(), state.Capacity(), state.Batch())
	}
	call := tokensFrom(tokens, 0, prompt)
	call.State = state
	first, _, err := module.Attend(call)
	if err != nil || state.Length() != prompt {
		t.Fatal(err, state.Length())
	}
	compare(t, "prompt", first, widen(whole[:prompt*tokenSize]), cacheTolerance)

	// What was kept goes on in a copy, and in a state that was made from the fields; and after a draft was taken back.
	copied := must(module.NewState(1, tokenCount))
	if err := copied.CopyFrom(state); err != nil {
		t.Fatal(err)
	}
	fields := map[string]attnzoo.Tensor{}
	for _, name := range []string{"key", "value"} {
		values, shape, err := state.Field(name)
		if err != nil || shape[2] != prompt {
			t.Fatal(err, shape)
		}
		fields[name] = attnzoo.TensorOf(values, shape...)
	}
	loaded := must(module.NewState(1, tokenCount))
	if err := loaded.SetFields(fields); err != nil {
		t.Fatal(err)
	}
	expected := widen(whole[prompt*tokenSize:])
	stepped := attendFrom(t, module, state, tokens, prompt)
	compare(t, "steps", stepped, expected, cacheTolerance)
	compare(t, "steps of the copy", attendFrom(t, module, copied, tokens, prompt), widen(stepped), 0)
	compare(t, "steps from the fields", attendFrom(t, module, loaded, tokens, prompt), widen(stepped), 0)

	full := tokensFrom(tokens, 0, 1)
	full.State = state
	if _, _, err := module.Attend(full); !errors.Is(err, attnzoo.InvalidArgument) || state.Length() != tokenCount {
		t.Fatal("a full cache took another key:", err)
	}
	if err := state.Truncate(prompt); err != nil || state.Length() != prompt {
		t.Fatal(err, state.Length())
	}
	compare(t, "steps after a cut", attendFrom(t, module, state, tokens, prompt), widen(stepped), 0)
	if err := state.Reset(); err != nil || state.Length() != 0 {
		t.Fatal(err, state.Length())
	}
	if err := state.CopyFrom(state); err != nil {
		t.Fatal(err)
	}
}

func TestAlignment(t *testing.T) {
	l, expected := locationLayer(22)
	module := must(attnzoo.NewModule("location_aware", l.settings...))
	state := must(module.NewState(batch, keys))
	for i := 0; i < queries; i++ {
		call := l.call()
		call.Query = attnzoo.StridedTensorOf(l.query, i*querySize, []int{batch, 1, querySize},
			[]int{queries * querySize, querySize, 1})
		call.State = state
		context, _, err := module.Attend(call)
		if err != nil {
			t.Fatal(err)
		}
		for b := 0; b < batch; b++ {
			at := (b*queries + i) * sizeOfV
			compare(t, "context", context[b*sizeOfV:(b+1)*sizeOfV], expected.context[at:at+sizeOfV], locationTolerance())
		}
	}
	alignment, shape, err := state.Field("alignment")
	if err != nil || len(shape) != 3 {
		t.Fatal(err, shape)
	}
	for b := 0; b < batch; b++ {
		at := (b*queries + queries - 1) * keys
		compare(t, "alignment", alignment[b*keys:(b+1)*keys], expected.attention[at:at+keys], locationTolerance())
	}
}

// isCollected runs the collector until a finalizer has run, or gives up after a while.
func isCollected(collected <-chan struct{}, patience time.Duration) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		runtime.GC()
		select {
		case <-collected:
			return true
		case <-time.After(time.Millisecond):
		}
	}
	return false
}

// watchedKeys are keys of which it can be told whether they were collected.
func watchedKeys() (attnzoo.Tensor, <-chan struct{}) {
	collected := make(chan struct{}, 1)
	key := new([batch * keys * keySize]float32)
	runtime.SetFinalizer(key, func(*[batch * keys * keySize]float32) { collected <- struct{}{} })
	return attnzoo.TensorOf(key[:], batch, keys, keySize), collected
}

// The library knows by their address the keys that it has projected. As long as it does, nothing else may lie there; and
// nothing else is kept.
func TestStateKeepsTheKeysThatItKnows(t *testing.T) {
	l, _ := locationLayer(23)
	module := must(attnzoo.NewModule("location_aware", l.settings...))
	state := must(module.NewState(batch, keys))
	copied := must(module.NewState(batch, keys))
	attend := func(change func(*attnzoo.Call)) <-chan struct{} {
		t.Helper()
		call := l.call()
		key, collected := watchedKeys()
		call.Key, call.State = key, state
		change(&call)
		if _, _, err := module.Attend(call); err != nil {
			t.Fatal(err)
		}
		return collected
	}
	withQueries := func(*attnzoo.Call) {}
	byName := func(c *attnzoo.Call) {
		c.Inputs = map[string]attnzoo.Tensor{"query": c.Query, "key": c.Key}
		c.Query, c.Key = attnzoo.Tensor{}, attnzoo.Tensor{}
	}
	withoutQueries := func(c *attnzoo.Call) { c.Query = attnzoo.TensorOf([]float32{}, batch, 0, querySize) }
	const patience = 10 * time.Second

	first := attend(withQueries)
	if isCollected(first, 50*time.Millisecond) {
		t.Fatal("the keys were collected though the state knows them")
	}
	for i := 0; i < 3; i++ {
		if !isCollected(attend(withoutQueries), patience) {
			t.Fatal("the keys of a call that did nothing are kept")
		}
	}
	if isCollected(first, 50*time.Millisecond) {
		t.Fatal("the keys were collected after calls without queries")
	}
	named := attend(byName)
	if !isCollected(first, patience) {
		t.Fatal("the keys are kept though the state knows others")
	}
	if isCollected(named, 50*time.Millisecond) {
		t.Fatal("keys given by name were collected though the state knows them")
	}
	if err := copied.CopyFrom(state); err != nil {
		t.Fatal(err)
	}
	last := attend(byName)
	if isCollected(named, 50*time.Millisecond) {
		t.Fatal("the keys were collected though the copy knows them")
	}
	if err := copied.Close(); err != nil || !isCollected(named, patience) {
		t.Fatal("the keys are kept after the copy is closed:", err)
	}
	if err := state.Reset(); err != nil || !isCollected(last, patience) {
		t.Fatal("the keys are kept after the reset:", err)
	}
	runtime.KeepAlive(state)
}

// Queries without features are queries all the same: the call runs, and the library notes its keys.
func TestStateKeepsTheKeysOfQueriesWithoutFeatures(t *testing.T) {
	l, _ := locationLayer(24)
	settings := append(l.settings, attnzoo.Parameter("query_proj.weight", attnzoo.TensorOf([]float32{}, hidden, 0)))
	module := must(attnzoo.NewModule("location_aware", settings...))
	state := must(module.NewState(batch, keys))
	collected := func() <-chan struct{} {
		call := l.call()
		key, collected := watchedKeys()
		call.Key, call.State, call.Query = key, state, attnzoo.TensorOf([]float32{}, batch, 1, 0)
		if _, _, err := module.Attend(call); err != nil {
			t.Fatal(err)
		}
		return collected
	}()
	if isCollected(collected, 50*time.Millisecond) {
		t.Fatal("the keys were collected though the state knows them")
	}
	runtime.KeepAlive(state)
}
