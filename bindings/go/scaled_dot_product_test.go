package attnzoo_test

// scaled_dot_product_test.go: the mechanism without weights, through which masks, strides and element types are tested.

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"attnzoo"
)

// dotCase is one call with the numbers that it is made of.
type dotCase struct {
	batch, heads, keyHeads, queries, keys, size, valueSize int

	query, key, value []float32
}

func newDotCase(source *rand.Rand) *dotCase {
	c := &dotCase{
		batch: 1 + source.Intn(3), keyHeads: 1 + source.Intn(2), queries: 1 + source.Intn(6), keys: 1 + source.Intn(9),
		size: 1 + source.Intn(7), valueSize: 1 + source.Intn(5),
	}
	c.heads = c.keyHeads * (1 + source.Intn(2))
	c.query = random(source, c.batch*c.heads*c.queries*c.size)
	c.key = random(source, c.batch*c.keyHeads*c.keys*c.size)
	c.value = random(source, c.batch*c.keyHeads*c.keys*c.valueSize)
	return c
}

func (c *dotCase) problem() problem {
	group := c.heads / c.keyHeads
	return problem{
		batch: c.batch, heads: c.heads, queries: c.queries, keys: c.keys, valueSize: c.valueSize,
		score: func(b, h, i, j int) float64 {
			sum := 0.0
			for d := 0; d < c.size; d++ {
				sum += float64(c.query[((b*c.heads+h)*c.queries+i)*c.size+d]) *
					float64(c.key[((b*c.keyHeads+h/group)*c.keys+j)*c.size+d])
			}
			return sum / math.Sqrt(float64(c.size))
		},
		value: func(b, h, i, j, d int) float64 {
			return float64(c.value[((b*c.keyHeads+h/group)*c.keys+j)*c.valueSize+d])
		},
	}
}

func (c *dotCase) call() attnzoo.Call {
	return attnzoo.Call{
		Query: attnzoo.TensorOf(c.query, c.batch, c.heads, c.queries, c.size),
		Key:   attnzoo.TensorOf(c.key, c.batch, c.keyHeads, c.keys, c.size),
		Value: attnzoo.TensorOf(c.value, c.batch, c.keyHeads, c.keys, c.valueSize),
	}
}

// tolerance: products of numbers up to 1, size of them, times a scale of 1/sqrt(size); biases up to 8, rounded once.
func (c *dotCase) tolerance() float64 {
	return contextTolerance(dotError(c.size+1, math.Sqrt(float64(c.size)))+8*epsilon, c.keys, 1)
}

// check makes a call for all outputs and compares them.
func (c *dotCase) check(t *testing.T, call attnzoo.Call, expected solution) {
	t.Helper()
	module := must(attnzoo.NewModule("scaled_dot_product"))
	defer module.Close()
	context := make([]float32, c.batch*c.heads*c.queries*c.valueSize)
	attention := make([]float32, c.batch*c.heads*c.queries*c.keys)
	logSumExp := make([]float32, c.batch*c.heads*c.queries)
	for i := range context {
		context[i] = float32(math.NaN()) // whatever was there must be gone
	}
	call.Context = attnzoo.TensorOf(context, c.batch, c.heads, c.queries, c.valueSize)
	call.Attention = attnzoo.TensorOf(attention, c.batch, c.heads, c.queries, c.keys)
	call.LogSumExp = attnzoo.TensorOf(logSumExp, c.batch, c.heads, c.queries)
	if err := module.Forward(call); err != nil {
		t.Fatalf("%+v: %v", *c, err)
	}
	compare(t, "context", context, expected.context, c.tolerance())
	compare(t, "attention", attention, expected.attention, c.tolerance())
	// A logarithm near x is off by the relative error of the sum, and by rounding x, which is below 12 here.
	compare(t, "log-sum-exp", logSumExp, expected.logSumExp, c.tolerance()+12*2*epsilon)
}

func TestScaledDotProduct(t *testing.T) {
	source := rand.New(rand.NewSource(1))
	for round := 0; round < 200; round++ {
		c := newDotCase(source)
		c.check(t, c.call(), c.problem().solve())
	}
}

// maskCase is a constraint with what it means.
type maskCase struct {
	name string
	mask attnzoo.Mask
	sees func(b, h, i, j int) bool
	bias func(b, h, i, j int) float64
}

// maskCases has one of each constraint and bias, in both integer types where both are taken.
func maskCases(c *dotCase, source *rand.Rand) []maskCase {
	bottomRight := func(i int) int { return c.keys - c.queries + i }
	var keyLengths []int64
	var queryLengths, queryOffsets []int32
	for b := 0; b < c.batch; b++ {
		keyLengths = append(keyLengths, int64(source.Intn(c.keys+1)))
		queryLengths = append(queryLengths, int32(source.Intn(c.queries+1)))
		queryOffsets = append(queryOffsets, int32(source.Intn(5)-2))
	}
	allowed := make([]bool, c.heads*c.queries*c.keys)
	padding := make([]bool, c.batch*c.keys)
	for _, bools := range [][]bool{allowed, padding} {
		for i := range bools {
			bools[i] = source.Intn(3) > 0
		}
	}
	bias := random(source, c.queries*c.keys)
	bias[0] = float32(math.Inf(-1))
	slopes := random(source, c.heads)
	segments := make([]int64, c.batch*c.keys)
	for i := range segments {
		segments[i] = int64(source.Intn(2))
	}
	distance := func(a, b int) float64 { return math.Abs(float64(a - b)) }

	return []maskCase{
		{name: "nothing"},
		{name: "causal", mask: attnzoo.Mask{Causal: true},
			sees: func(b, h, i, j int) bool { return j <= bottomRight(i) }},
		{name: "causal, top left", mask: attnzoo.Mask{Causal: true, Alignment: attnzoo.AlignTopLeft()},
			sees: func(b, h, i, j int) bool { return j <= i }},
		{name: "causal, bottom right", mask: attnzoo.Mask{Causal: true, Alignment: attnzoo.AlignBottomRight()},
			sees: func(b, h, i, j int) bool { return j <= bottomRight(i) }},
		{name: "causal, offset", mask: attnzoo.Mask{Causal: true, Alignment: attnzoo.AlignOffset(-1)},
			sees: func(b, h, i, j int) bool { return j <= i-1 }},
		{name: "causal, offsets",
			mask: attnzoo.Mask{Causal: true, Alignment: attnzoo.AlignOffsets(attnzoo.TensorOf(queryOffsets))},
			sees: func(b, h, i, j int) bool { return j <= i+int(queryOffsets[b]) }},
		{name: "causal, lengths",
			mask: attnzoo.Mask{Causal: true, Alignment: attnzoo.AlignLengths(), KeyLengths: attnzoo.TensorOf(keyLengths)},
			sees: func(b, h, i, j int) bool {
				return j <= int(keyLengths[b])-c.queries+i && j < int(keyLengths[b])
			}},
		{name: "diagonal", mask: attnzoo.Mask{Window: &attnzoo.Window{}},
			sees: func(b, h, i, j int) bool { return j == bottomRight(i) }},
		{name: "window", mask: attnzoo.Mask{Window: &attnzoo.Window{Left: 2, Right: 1}},
			sees: func(b, h, i, j int) bool { return bottomRight(i)-2 <= j && j <= bottomRight(i)+1 }},
		{name: "half window", mask: attnzoo.Mask{Window: &attnzoo.Window{Left: 1, Right: attnzoo.Unlimited}},
			sees: func(b, h, i, j int) bool { return bottomRight(i)-1 <= j }},
		{name: "key lengths", mask: attnzoo.Mask{KeyLengths: attnzoo.TensorOf(keyLengths)},
			sees: func(b, h, i, j int) bool { return j < int(keyLengths[b]) }},
		{name: "query lengths", mask: attnzoo.Mask{QueryLengths: attnzoo.TensorOf(queryLengths)},
			sees: func(b, h, i, j int) bool { return i < int(queryLengths[b]) }},
		{name: "boolean", mask: attnzoo.Mask{Boolean: attnzoo.TensorOf(allowed, c.heads, c.queries, c.keys)},
			sees: func(b, h, i, j int) bool { return allowed[(h*c.queries+i)*c.keys+j] }},
		{name: "padding", mask: attnzoo.Mask{Boolean: attnzoo.TensorOf(padding, c.batch, 1, 1, c.keys)},
			sees: func(b, h, i, j int) bool { return padding[b*c.keys+j] }},
		{name: "bias", mask: attnzoo.Mask{Bias: attnzoo.TensorOf(bias, c.queries, c.keys)},
			bias: func(b, h, i, j int) float64 { return float64(bias[i*c.keys+j]) }},
		{name: "linear bias", mask: attnzoo.Mask{LinearBias: attnzoo.TensorOf(slopes)},
			bias: func(b, h, i, j int) float64 { return -float64(slopes[h]) * distance(bottomRight(i), j) }},
		{name: "segments, first queries",
			mask: attnzoo.Mask{Alignment: attnzoo.AlignTopLeft(), Segments: attnzoo.TensorOf(segments, c.batch, c.keys),
				QueryLengths: attnzoo.TensorOf(repeat(int32(minimum(c.queries, c.keys)), c.batch))},
			sees: func(b, h, i, j int) bool {
				return i < c.keys && segments[b*c.keys+i] == segments[b*c.keys+j]
			}},
		{name: "several", mask: attnzoo.Mask{Causal: true, Window: &attnzoo.Window{Left: 3, Right: 0},
			KeyLengths: attnzoo.TensorOf(keyLengths), Bias: attnzoo.TensorOf(bias, c.queries, c.keys)},
			sees: func(b, h, i, j int) bool {
				return j <= bottomRight(i) && j >= bottomRight(i)-3 && j < int(keyLengths[b])
			},
			bias: func(b, h, i, j int) float64 { return float64(bias[i*c.keys+j]) }},
	}
}

func repeat[T any](value T, count int) []T {
	values := make([]T, count)
	for i := range values {
		values[i] = value
	}
	return values
}

func minimum(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func TestMasks(t *testing.T) {
	for round := int64(0); round < 30; round++ {
		source := rand.New(rand.NewSource(round))
		c := newDotCase(source)
		for _, constraint := range maskCases(c, source) {
			mask := constraint.mask
			t.Run(fmt.Sprint(constraint.name, " ", round), func(t *testing.T) {
				problem := c.problem()
				problem.sees, problem.bias = constraint.sees, constraint.bias
				call := c.call()
				call.Mask = &mask
				c.check(t, call, problem.solve())
			})
		}
	}
}

// Every view of the call lies in one larger slice, in another order of axes, backwards, or with gaps.
func TestStrides(t *testing.T) {
	source := rand.New(rand.NewSource(3))
	for round := 0; round < 50; round++ {
		c := newDotCase(source)
		call := c.call()
		// Query as [B, N, H, D].
		swapped := make([]float32, len(c.query))
		for i, number := range widen(c.query) {
			d, n := i%c.size, i/c.size%c.queries
			h, b := i/c.size/c.queries%c.heads, i/c.size/c.queries/c.heads
			swapped[((b*c.queries+n)*c.heads+h)*c.size+d] = float32(number)
		}
		call.Query = attnzoo.TensorOf(swapped, c.batch, c.queries, c.heads, c.size).SwapAxes(1, 2)
		// Keys from the last number to the first.
		backwards := make([]float32, len(c.key))
		for i := range backwards {
			backwards[len(backwards)-1-i] = c.key[i]
		}
		call.Key = attnzoo.StridedTensorOf(backwards, len(backwards)-1, []int{c.batch, c.keyHeads, c.keys, c.size},
			[]int{-c.keyHeads * c.keys * c.size, -c.keys * c.size, -c.size, -1})
		// Values with a gap behind each, and something in front.
		gaps := repeat(float32(math.NaN()), 3+2*len(c.value))
		for i, number := range c.value {
			gaps[3+2*i] = number
		}
		call.Value = attnzoo.StridedTensorOf(gaps, 3, []int{c.batch, c.keyHeads, c.keys, c.valueSize},
			[]int{2 * c.keyHeads * c.keys * c.valueSize, 2 * c.keys * c.valueSize, 2 * c.valueSize, 2})
		c.check(t, call, c.problem().solve())
	}
}

func TestRepeatedKeys(t *testing.T) {
	c := newDotCase(rand.New(rand.NewSource(4)))
	for i := range c.value {
		c.value[i] = c.value[i%c.valueSize]
	}
	call := c.call()
	call.Value = attnzoo.StridedTensorOf(c.value[:c.valueSize], 0,
		[]int{c.batch, c.keyHeads, c.keys, c.valueSize}, []int{0, 0, 0, 1})
	c.check(t, call, c.problem().solve())
}

func TestHalfTypes(t *testing.T) {
	source := rand.New(rand.NewSource(5))
	for round := 0; round < 30; round++ {
		c := newDotCase(source)
		key, value := make([]attnzoo.Float16, len(c.key)), make([]attnzoo.BFloat16, len(c.value))
		for i := range key {
			key[i] = attnzoo.NewFloat16(c.key[i])
			c.key[i] = key[i].Float32()
		}
		for i := range value {
			value[i] = attnzoo.NewBFloat16(c.value[i])
			c.value[i] = value[i].Float32()
		}
		call := c.call()
		call.Key = attnzoo.TensorOf(key, c.batch, c.keyHeads, c.keys, c.size)
		call.Value = attnzoo.TensorOf(value, c.batch, c.keyHeads, c.keys, c.valueSize)
		expected := c.problem().solve()
		c.check(t, call, expected)

		module := must(attnzoo.NewModule("scaled_dot_product"))
		context := make([]attnzoo.Float16, len(expected.context))
		call.Context = attnzoo.TensorOf(context, c.batch, c.heads, c.queries, c.valueSize)
		if err := module.Forward(call); err != nil {
			t.Fatal(err)
		}
		widened := make([]float32, len(context))
		for i := range widened {
			widened[i] = context[i].Float32()
		}
		// A half below 1 is off by at most 2^-12.
		compare(t, "context", widened, expected.context, c.tolerance()+1.0/(1<<12))
	}
}

func TestOptions(t *testing.T) {
	c := newDotCase(rand.New(rand.NewSource(6)))
	problem := c.problem()
	score := problem.score
	problem.score = func(b, h, i, j int) float64 {
		return 2 * math.Tanh(3*math.Sqrt(float64(c.size))*score(b, h, i, j)/2)
	}
	expected := problem.solve()
	for _, settings := range [][]attnzoo.Setting{
		{attnzoo.Option("scale", 3.0), attnzoo.Option("softcap", 2.0)},
		{attnzoo.Option("scale", 3), attnzoo.Option("softcap", int64(2))},
		{attnzoo.Option("softcap", "2"), attnzoo.Option("scale", "7"), attnzoo.Option("scale", "3.0")},
	} {
		module := must(attnzoo.NewModule("scaled_dot_product", settings...))
		context, _, err := module.Attend(c.call())
		if err != nil {
			t.Fatal(err)
		}
		// Scores up to 3 sqrt(size) * sqrt(size); tanh is within 2 ulp and its slope at most 1.
		tolerance := contextTolerance(dotError(c.size+1, 3*float64(c.size))+2*4*epsilon, c.keys, 1)
		compare(t, "context", context, expected.context, tolerance)
	}
}

func TestNothing(t *testing.T) {
	module := must(attnzoo.NewModule("scaled_dot_product"))
	var none []float32
	context, shape, err := module.Attend(attnzoo.Call{
		Query: attnzoo.TensorOf(none, 0, 3), Key: attnzoo.TensorOf([]float32{1, 2, 3}, 1, 3),
		Value: attnzoo.TensorOf([]float32{1, 2}, 1, 2),
	})
	if err != nil || len(context) != 0 || fmt.Sprint(shape) != "[0 2]" {
		t.Errorf("no queries: %v %v %v", context, shape, err)
	}
	context, shape, err = module.Attend(attnzoo.Call{
		Query: attnzoo.TensorOf([]float32{1, 2, 3}, 1, 3), Key: attnzoo.TensorOf(none, 0, 3),
		Value: attnzoo.TensorOf([]float32{}, 0, 2),
	})
	if err != nil || fmt.Sprint(context) != "[0 0]" || fmt.Sprint(shape) != "[1 2]" {
		t.Errorf("no keys: %v %v %v", context, shape, err)
	}
}
