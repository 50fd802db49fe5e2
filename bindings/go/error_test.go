package attnzoo_test

// error_test.go: what is refused, how, and that messages reach the goroutine that they are meant for.

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"attnzoo"
)

func expectError(t *testing.T, err error, status attnzoo.Status, words ...string) {
	t.Helper()
	var known *attnzoo.Error
	if !errors.Is(err, status) || !errors.As(err, &known) || known.Status != status {
		t.Fatalf("%v: not the status %v", err, status)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	for other := attnzoo.InvalidArgument; other <= attnzoo.System; other++ {
		if other != status && errors.Is(err, other) {
			t.Errorf("%v is %v, too", err, other)
		}
	}
}

func second[T any](_ T, err error) error {
	return err
}

func TestErrorsOfModules(t *testing.T) {
	expectError(t, second(attnzoo.NewModule("dot")), attnzoo.UnknownName, "dot", "scaled_dot_product")
	expectError(t, second(attnzoo.NewModule("additive\x00")), attnzoo.InvalidArgument, "zero byte")
	expectError(t, second(attnzoo.NewModule("multi_head", attnzoo.Option("num_head", 8))), attnzoo.UnknownName, "num_heads")
	expectError(t, second(attnzoo.NewModule("multi_head", attnzoo.Option("num_heads", 8.0))), attnzoo.InvalidArgument,
		"num_heads", "int")
	expectError(t, second(attnzoo.NewModule("multi_head", attnzoo.Option("num_heads\x00", 8))), attnzoo.InvalidArgument)
	expectError(t, second(attnzoo.NewModule("relative_multi_head", attnzoo.Option("flavor", "shaw\x00"))),
		attnzoo.InvalidArgument)
	expectError(t, second(attnzoo.NewModule("multi_head", attnzoo.Option("average_heads", "yes"))), attnzoo.InvalidArgument)
	expectError(t, second(attnzoo.NewModule("multi_head")), attnzoo.InvalidArgument, "query_proj.weight")
	weight := attnzoo.TensorOf([]float32{1, 2, 3, 4}, 2, 2)
	expectError(t, second(attnzoo.NewModule("multi_head", attnzoo.Parameter("query.weight", weight))), attnzoo.UnknownName)
	expectError(t, second(attnzoo.NewModule("multi_head", attnzoo.Parameter("query_proj.weight\x00", weight))),
		attnzoo.InvalidArgument)
	expectError(t, second(attnzoo.NewModule("multi_head", attnzoo.Parameter("query_proj.bias", weight))),
		attnzoo.ShapeMismatch)
	expectError(t, second(attnzoo.NewModule("multi_head", attnzoo.Parameter("query_proj.weight", attnzoo.Tensor{}))),
		attnzoo.InvalidArgument, "query_proj.weight")
	expectError(t, second(attnzoo.NewModule("multi_head",
		attnzoo.Parameter("query_proj.weight", attnzoo.TensorOf([]int32{1}, 1, 1)))), attnzoo.DTypeMismatch)
	expectError(t, second(attnzoo.NewModule("multi_head", attnzoo.Parameters(map[string]attnzoo.Tensor{
		"query_proj.weight": attnzoo.TensorOf([]float32{1, 2, 3}, 2, 2)}))), attnzoo.ShapeMismatch, "query_proj.weight")
	expectError(t, second(attnzoo.NewExecutor(-1)), attnzoo.InvalidArgument)
	expectError(t, second(attnzoo.NewExecutor(1<<40)), attnzoo.InvalidArgument)
	expectError(t, second(attnzoo.NewExecutor(257)), attnzoo.InvalidArgument)
	expectError(t, second(attnzoo.Describe("dot")), attnzoo.UnknownName, "dot", "scaled_dot_product")
}

func TestErrorsOfCalls(t *testing.T) {
	module := must(attnzoo.NewModule("scaled_dot_product"))
	defer module.Close()
	rows := func() attnzoo.Tensor { return attnzoo.TensorOf(make([]float32, 6), 2, 3) }
	good := func() attnzoo.Call { return attnzoo.Call{Query: rows(), Key: rows(), Value: rows(), Context: rows()} }
	if err := module.Forward(good()); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		change func(*attnzoo.Call)
		status attnzoo.Status
		words  string
	}{
		{func(c *attnzoo.Call) { c.Query = attnzoo.Tensor{} }, attnzoo.InvalidArgument, "query"},
		{func(c *attnzoo.Call) { c.Context = attnzoo.Tensor{} }, attnzoo.InvalidArgument, "context"},
		{func(c *attnzoo.Call) { c.Key = attnzoo.TensorOf(make([]float32, 4), 2, 2) }, attnzoo.ShapeMismatch, "key"},
		{func(c *attnzoo.Call) { c.Key = attnzoo.TensorOf(make([]float32, 5), 2, 3) }, attnzoo.ShapeMismatch, "key"},
		{func(c *attnzoo.Call) { c.Value = attnzoo.TensorOf(make([]int64, 6), 2, 3) }, attnzoo.DTypeMismatch, "value"},
		{func(c *attnzoo.Call) { c.Context = c.Query }, attnzoo.Overlap, "context"},
		{func(c *attnzoo.Call) { c.Position = rows() }, attnzoo.Unsupported, "place 3"},
		{func(c *attnzoo.Call) { c.Inputs = map[string]attnzoo.Tensor{"position": rows()} }, attnzoo.UnknownName, "position"},
		{func(c *attnzoo.Call) { c.Outputs = map[string]attnzoo.Tensor{"answer": rows()} }, attnzoo.UnknownName, "answer"},
		{func(c *attnzoo.Call) { c.Inputs = map[string]attnzoo.Tensor{"query": rows()} }, attnzoo.InvalidArgument, "twice"},
		{func(c *attnzoo.Call) { c.Outputs = map[string]attnzoo.Tensor{"context": rows()} }, attnzoo.InvalidArgument, "twice"},
		{func(c *attnzoo.Call) { c.Mask = &attnzoo.Mask{Window: &attnzoo.Window{Left: -2}} }, attnzoo.InvalidArgument, "left"},
		{func(c *attnzoo.Call) { c.Mask = &attnzoo.Mask{KeyLengths: attnzoo.TensorOf([]int32{3})} },
			attnzoo.InvalidArgument, "length"},
		{func(c *attnzoo.Call) { c.Mask = &attnzoo.Mask{KeyLengths: attnzoo.TensorOf([]float32{1})} },
			attnzoo.DTypeMismatch, "length"},
		{func(c *attnzoo.Call) { c.Mask = &attnzoo.Mask{Bias: attnzoo.TensorOf([]float32{1}, 2)} },
			attnzoo.ShapeMismatch, "bias"},
		{func(c *attnzoo.Call) { c.Mask = &attnzoo.Mask{Boolean: attnzoo.TensorOf(make([]bool, 3), 3)} },
			attnzoo.ShapeMismatch, "boolean"},
	}
	for i, each := range cases {
		call := good()
		each.change(&call)
		t.Run(fmt.Sprint(i), func(t *testing.T) { expectError(t, module.Forward(call), each.status, each.words) })
	}
	_, err := module.OutputShape(good(), "answer")
	expectError(t, err, attnzoo.UnknownName, "answer")
	_, _, err = module.Attend(good())
	expectError(t, err, attnzoo.InvalidArgument)
	expectError(t, second(module.NewState(1, 1)), attnzoo.Unsupported)
	expectError(t, attnzoo.FillSinusoidalPositions(attnzoo.Tensor{}, 0, 1, attnzoo.Halves), attnzoo.InvalidArgument)
	expectError(t, attnzoo.FillSinusoidalPositions(rows(), 0, 1, 7), attnzoo.InvalidArgument)
	expectError(t, attnzoo.MergeContexts(rows(), rows(), rows(), rows(), rows(), rows()), attnzoo.ShapeMismatch)
	expectError(t, attnzoo.MergeContexts(attnzoo.TensorOf([]bool{true}, 2), rows(), rows(), rows(), rows(), rows()),
		attnzoo.ShapeMismatch, "contextA")
}

// A stride of zero makes a huge query of one element. What would come out of it is more than there is memory.
func TestHugeContexts(t *testing.T) {
	module := must(attnzoo.NewModule("scaled_dot_product"))
	defer module.Close()
	huge := func(queries, valueSize int) attnzoo.Call {
		return attnzoo.Call{
			Query: attnzoo.StridedTensorOf([]float32{1}, 0, []int{queries, 1}, []int{0, 0}),
			Key:   attnzoo.TensorOf([]float32{1}, 1, 1),
			Value: attnzoo.StridedTensorOf([]float32{1}, 0, []int{1, valueSize}, []int{0, 0}),
		}
	}
	// More than makeslice takes; all that there are addresses for, which it takes and then ends the process; more than a
	// count of bytes, and of elements, can say.
	for _, sizes := range [][2]int{{1 << 45, 4}, {1 << 46, 1}, {1 << 40, 1 << 22}, {1 << 40, 1 << 24}, {1 << 40, 1<<24 + 1}} {
		_, _, err := module.Attend(huge(sizes[0], sizes[1]))
		expectError(t, err, attnzoo.OutOfMemory, "context", fmt.Sprint(sizes[0]))
	}
	context, shape, err := module.Attend(huge(0, 1<<45))
	if err != nil || len(context) != 0 || len(shape) != 2 {
		t.Error(len(context), shape, err)
	}
}

func TestErrorsOfStates(t *testing.T) {
	module, tokens := cachedModule(31)
	defer module.Close()
	expectError(t, second(module.NewState(-1, 1)), attnzoo.InvalidArgument)
	state := must(module.NewState(1, 2))
	defer state.Close()
	_, _, err := state.Field("alignment")
	expectError(t, err, attnzoo.UnknownName, "alignment")
	expectError(t, state.SetFields(map[string]attnzoo.Tensor{"query": {}}), attnzoo.UnknownName, "query")
	expectError(t, state.SetFields(nil), attnzoo.InvalidArgument)
	expectError(t, state.Truncate(-1), attnzoo.InvalidArgument)
	other, _ := cachedModule(32)
	defer other.Close()
	call := tokensFrom(tokens, 0, 1)
	call.State = must(other.NewState(1, 2))
	_, _, err = module.Attend(call)
	expectError(t, err, attnzoo.BadState)
	wide := must(other.NewState(2, 2))
	expectError(t, wide.CopyFrom(state), attnzoo.ShapeMismatch)
}

func TestStatusNames(t *testing.T) {
	if attnzoo.ShapeMismatch.Error() != "shape mismatch" || attnzoo.Status(99).Error() != "unknown status" {
		t.Error(attnzoo.ShapeMismatch, attnzoo.Status(99))
	}
}

func TestClosed(t *testing.T) {
	module, tokens := cachedModule(33)
	executor := must(attnzoo.NewExecutor(1))
	state := must(module.NewState(1, tokenCount))
	call := tokensFrom(tokens, 0, 2)
	call.State, call.Executor = state, executor
	if _, _, err := module.Attend(call); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 2; i++ {
		if err := executor.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := module.Attend(call)
	expectError(t, err, attnzoo.BadState, "executor is closed")
	if executor.ThreadCount() != 0 {
		t.Error(executor.ThreadCount())
	}
	call.Executor = nil
	for i := 0; i < 2; i++ {
		if err := module.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = module.Attend(call)
	expectError(t, err, attnzoo.BadState, "module is closed")
	expectError(t, module.Forward(call), attnzoo.BadState, "module is closed")
	expectError(t, second(module.NewState(1, 1)), attnzoo.BadState, "module is closed")
	// What the state holds can still be read.
	if values, _, err := state.Field("key"); err != nil || len(values) != 2*tokenSize || state.Length() != 2 {
		t.Error(values, err)
	}
	for i := 0; i < 2; i++ {
		if err := state.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = state.Field("key")
	expectError(t, err, attnzoo.BadState, "state is closed")
	expectError(t, state.Reset(), attnzoo.BadState)
	expectError(t, state.Truncate(0), attnzoo.BadState)
	expectError(t, state.CopyFrom(state), attnzoo.BadState)
	expectError(t, state.SetFields(nil), attnzoo.BadState)
	if state.Length() != -1 || state.Capacity() != -1 || state.Batch() != -1 {
		t.Error(state.Length(), state.Capacity(), state.Batch())
	}
}

// Nobody made these: they answer with errors, and there is nothing to close.
func TestNilAndZeroValues(t *testing.T) {
	maker, tokens := cachedModule(34)
	defer maker.Close()
	good := must(maker.NewState(1, tokenCount))
	defer good.Close()
	// Inside another struct, where memory is not of their own.
	var zero struct {
		number   int
		module   attnzoo.Module
		state    attnzoo.State
		executor attnzoo.Executor
	}
	for _, module := range []*attnzoo.Module{nil, &zero.module} {
		status := attnzoo.BadState
		if module == nil {
			status = attnzoo.InvalidArgument
		}
		_, _, err := module.Attend(tokensFrom(tokens, 0, 1))
		expectError(t, err, status, "module")
		expectError(t, module.Forward(tokensFrom(tokens, 0, 1)), status, "module")
		expectError(t, module.Forward(attnzoo.Call{}), status, "module")
		expectError(t, second(module.OutputShape(tokensFrom(tokens, 0, 1), "context")), status, "module")
		expectError(t, second(module.NewState(1, 1)), status, "module")
		if err := module.Close(); err != nil || module.Mechanism() != "" {
			t.Error(err, module.Mechanism())
		}
	}
	for _, state := range []*attnzoo.State{nil, &zero.state} {
		status := attnzoo.BadState
		if state == nil {
			status = attnzoo.InvalidArgument
		}
		_, _, err := state.Field("key")
		expectError(t, err, status, "state")
		expectError(t, state.SetFields(map[string]attnzoo.Tensor{"key": {}}), status, "state")
		expectError(t, state.Reset(), status, "state")
		expectError(t, state.Truncate(0), status, "state")
		expectError(t, state.CopyFrom(good), status, "state")
		expectError(t, good.CopyFrom(state), status, "state")
		expectError(t, state.CopyFrom(state), status, "state")
		if state.Length() != -1 || state.Capacity() != -1 || state.Batch() != -1 {
			t.Error(state.Length(), state.Capacity(), state.Batch())
		}
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	}
	expectError(t, (*attnzoo.State)(nil).CopyFrom(&zero.state), attnzoo.InvalidArgument)
	expectError(t, zero.state.CopyFrom(nil), attnzoo.BadState)
	for _, executor := range []*attnzoo.Executor{nil, &zero.executor} {
		if err := executor.Close(); err != nil || executor.ThreadCount() != 0 {
			t.Error(err, executor.ThreadCount())
		}
	}
	call := tokensFrom(tokens, 0, 1)
	call.State = &zero.state
	expectError(t, second(maker.OutputShape(call, "context")), attnzoo.BadState, "state")
	call.Context = attnzoo.TensorOf(make([]float32, tokenSize), 1, 1, tokenSize)
	expectError(t, maker.Forward(call), attnzoo.BadState, "state")
	call.State, call.Executor = good, &zero.executor
	expectError(t, maker.Forward(call), attnzoo.BadState, "executor")
	call.Executor = nil
	if err := maker.Forward(call); err != nil || good.Length() != 1 {
		t.Error("the state was left locked or changed:", err, good.Length())
	}
	var none attnzoo.Tensor
	if none.Err() != nil || none.Shape() != nil || none.DType() != 0 || none.String() != "none" ||
		none.SwapAxes(0, 1).Err() == nil {
		t.Error("the zero Tensor is", none)
	}
	zeros := attnzoo.Call{Query: none, Mask: &attnzoo.Mask{}}
	expectError(t, maker.Forward(zeros), attnzoo.InvalidArgument, "query")
	expectError(t, second(attnzoo.NewModule("", attnzoo.Setting{})), attnzoo.UnknownName)
}

// Goroutines change threads between calls; each must get its own message all the same.
func TestMessagesFromManyGoroutines(t *testing.T) {
	var group sync.WaitGroup
	for number := 0; number < 32; number++ {
		name := fmt.Sprintf("no such mechanism %d,", number)
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 200; i++ {
				if _, err := attnzoo.NewModule(name); err == nil || !strings.Contains(err.Error(), name[:len(name)-1]) {
					t.Errorf("%q: %v", name, err)
					return
				}
			}
		}()
	}
	group.Wait()
}
