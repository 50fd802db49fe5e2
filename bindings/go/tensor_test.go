package attnzoo_test

// tensor_test.go: what a view may show of its slice, and that slices are passed to C where they lie.

import (
	"fmt"
	"math"
	"math/rand"
	"runtime"
	"testing"

	"attnzoo"
)

const largest = int(^uint(0) >> 1)

func TestViewsThatAreNone(t *testing.T) {
	data := make([]float32, 12)
	cases := []struct {
		tensor attnzoo.Tensor
		status attnzoo.Status
	}{
		{attnzoo.TensorOf(data, 3, 5), attnzoo.ShapeMismatch},
		{attnzoo.TensorOf(data, 3, 3), attnzoo.ShapeMismatch},
		{attnzoo.TensorOf(data, -3, -4), attnzoo.InvalidArgument},
		{attnzoo.TensorOf(data, largest, 2), attnzoo.InvalidArgument},
		{attnzoo.TensorOf(data, largest, largest, 0), attnzoo.ShapeMismatch},
		{attnzoo.TensorOf(data, 0, largest, largest), attnzoo.InvalidArgument},
		{attnzoo.TensorOf(data, 1, 1, 1, 1, 1, 1, 1, 1, 12), attnzoo.InvalidArgument},
		{attnzoo.TensorOf([]float32(nil), 1), attnzoo.ShapeMismatch},
		{attnzoo.StridedTensorOf(data, 0, nil, nil), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 0, []int{2, 2}, []int{1}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, -1, []int{1}, []int{1}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 12, []int{1}, []int{1}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 0, []int{13}, []int{1}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 1, []int{12}, []int{1}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 0, []int{2}, []int{-1}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 0, []int{2, 2}, []int{11, 1}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 5, []int{2, 2}, []int{-5, -1}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 0, []int{3}, []int{largest}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 0, []int{3}, []int{-largest - 1}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 0, []int{largest}, []int{largest}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 0, []int{3, 3}, []int{largest, largest}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 6, []int{2, 2}, []int{largest, -largest}), attnzoo.InvalidArgument},
		{attnzoo.StridedTensorOf(data, 0, []int{-1}, []int{1}), attnzoo.InvalidArgument},
		{attnzoo.TensorOf(data, 3, 4).SwapAxes(0, 2), attnzoo.InvalidArgument},
		{attnzoo.TensorOf(data, 3, 4).SwapAxes(-1, 0), attnzoo.InvalidArgument},
		{attnzoo.TensorOf(data, 3, 5).SwapAxes(0, 1), attnzoo.ShapeMismatch},
	}
	module := must(attnzoo.NewModule("scaled_dot_product"))
	for i, each := range cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			expectError(t, each.tensor.Err(), each.status)
			expectError(t, module.Forward(attnzoo.Call{Query: each.tensor}), each.status, "query")
			expectError(t, module.Forward(attnzoo.Call{Mask: &attnzoo.Mask{Bias: each.tensor}}), each.status, "bias")
		})
	}
	for _, tensor := range []attnzoo.Tensor{
		{},
		attnzoo.TensorOf(data), attnzoo.TensorOf(data, 12), attnzoo.TensorOf(data[:0]), attnzoo.TensorOf(data[:0], 0, 5),
		attnzoo.StridedTensorOf(data, 11, []int{4, 3}, []int{-3, -1}),
		attnzoo.StridedTensorOf(data, 11, []int{largest, 1}, []int{0, largest}),
		attnzoo.StridedTensorOf(data, 99, []int{3, 0}, []int{largest, largest}),
	} {
		if err := tensor.Err(); err != nil {
			t.Error(err)
		}
	}
}

// Random views against the places of all their elements.
func TestReach(t *testing.T) {
	source := rand.New(rand.NewSource(51))
	outside := 0
	for round := 0; round < 20000; round++ {
		data := make([]int32, source.Intn(30))
		offset := source.Intn(32) - 1
		rank := 1 + source.Intn(3)
		shape, strides := make([]int, rank), make([]int, rank)
		for axis := range shape {
			shape[axis], strides[axis] = source.Intn(4), source.Intn(15)-7
		}
		places := []int{offset}
		for axis := range shape {
			var next []int
			for _, place := range places {
				for i := 0; i < shape[axis]; i++ {
					next = append(next, place+i*strides[axis])
				}
			}
			places = next
		}
		fits := true
		for _, place := range places {
			fits = fits && place >= 0 && place < len(data)
		}
		if !fits {
			outside++
		}
		if err := attnzoo.StridedTensorOf(data, offset, shape, strides).Err(); (err == nil) != fits {
			t.Fatalf("%d elements, offset %d, shape %v, strides %v: %v", len(data), offset, shape, strides, err)
		}
	}
	if outside < 1000 || outside > 19000 {
		t.Errorf("%d of 20000 outside", outside)
	}
}

func TestTensorTexts(t *testing.T) {
	tensor := attnzoo.TensorOf([]attnzoo.BFloat16{1, 2, 3, 4, 5, 6}, 2, 3)
	if tensor.String() != "bfloat16 [2 3]" || tensor.SwapAxes(0, 1).String() != "bfloat16 [3 2]" ||
		(attnzoo.Tensor{}).String() != "none" {
		t.Error(tensor, tensor.SwapAxes(0, 1), attnzoo.Tensor{})
	}
	sizes := map[attnzoo.DType]int{attnzoo.DTypeFloat32: 4, attnzoo.DTypeFloat16: 2, attnzoo.DTypeBFloat16: 2,
		attnzoo.DTypeBool: 1, attnzoo.DTypeInt32: 4, attnzoo.DTypeInt64: 8}
	for dtype, size := range sizes {
		if dtype.Size() != size {
			t.Error(dtype, dtype.Size())
		}
	}
	if attnzoo.TensorOf([]int64{1}).DType() != attnzoo.DTypeInt64 || attnzoo.DTypeInt64.String() != "int64" {
		t.Error(attnzoo.TensorOf([]int64{1}).DType())
	}
}

// A slice may lie beside pointers into Go's memory: only the slice itself is passed.
func TestSlicesBesidePointers(t *testing.T) {
	layer := &struct {
		name    *string
		query   [6]float32
		context [6]float32
		others  map[string][]float32
	}{name: new(string), query: [6]float32{1, 2, 3, 4, 5, 6}, others: map[string][]float32{"a": {1}}}
	query := attnzoo.TensorOf(layer.query[:], 2, 3)
	module := must(attnzoo.NewModule("scaled_dot_product"))
	err := module.Forward(attnzoo.Call{Query: query, Key: query, Value: query,
		Context: attnzoo.TensorOf(layer.context[:], 2, 3)})
	if err != nil || layer.context[0] <= 1 || layer.context[0] > 4 {
		t.Error(err, layer.context)
	}
	runtime.KeepAlive(layer)
}

// What a call allocates in Go does not grow with its slices: nothing is copied.
func TestNoCopies(t *testing.T) {
	module := must(attnzoo.NewModule("scaled_dot_product"))
	executor := must(attnzoo.NewExecutor(1))
	defer executor.Close()
	data, context := make([]float32, 1<<22), make([]float32, 1<<8)
	call := attnzoo.Call{
		Query: attnzoo.TensorOf(data[:1<<8], 4, 1<<6), Key: attnzoo.TensorOf(data, 1<<16, 1<<6),
		Value: attnzoo.TensorOf(data, 1<<16, 1<<6), Context: attnzoo.TensorOf(context, 4, 1<<6), Executor: executor,
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := module.Forward(call)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; err != nil || grown > 1<<16 {
		t.Errorf("%d bytes for a call on %d, %v", grown, 8*len(data), err)
	}
}

// All 65536 numbers of each 16-bit type against what they mean, and rounding between them.
func TestHalfs(t *testing.T) {
	meaning := func(bits, exponentBits, mantissaBits int) float64 {
		mantissa := float64(bits & (1<<mantissaBits - 1))
		exponent := bits >> mantissaBits & (1<<exponentBits - 1)
		bias := 1<<(exponentBits-1) - 1
		size := math.Ldexp(float64(int(1)<<mantissaBits)+mantissa, exponent-bias-mantissaBits)
		switch {
		case exponent == 1<<exponentBits-1 && mantissa != 0:
			return math.NaN()
		case exponent == 1<<exponentBits-1:
			size = math.Inf(1)
		case exponent == 0:
			size = math.Ldexp(mantissa, 1-bias-mantissaBits)
		}
		if bits>>15 == 1 {
			return -size
		}
		return size
	}
	same := func(got float32, expected float64) bool {
		return float64(got) == expected && math.Signbit(float64(got)) == math.Signbit(expected) ||
			got != got && math.IsNaN(expected)
	}
	for bits := 0; bits < 1<<16; bits++ {
		half, brain := attnzoo.Float16(bits), attnzoo.BFloat16(bits)
		if !same(half.Float32(), meaning(bits, 5, 10)) || !same(brain.Float32(), meaning(bits, 8, 7)) {
			t.Fatalf("%#x: %g %g", bits, half.Float32(), brain.Float32())
		}
		if half.Float32() == half.Float32() && attnzoo.NewFloat16(half.Float32()) != half ||
			brain.Float32() == brain.Float32() && attnzoo.NewBFloat16(brain.Float32()) != brain {
			t.Fatalf("%#x does not come back", bits)
		}
		if bits&0x7fff >= 0x7c00 || bits >= 0x8000 {
			continue
		}
		// Halfway to the next number up goes to the even one; a little to either side to the nearer one.
		next := attnzoo.Float16(bits + 1)
		middle := (meaning(bits, 5, 10) + math.Min(meaning(bits+1, 5, 10), 65536)) / 2
		even := half
		if bits&1 == 1 {
			even = next
		}
		up, down := math.Nextafter32(float32(middle), 1e9), math.Nextafter32(float32(middle), 0)
		for number, expected := range map[float32]attnzoo.Float16{float32(middle): even, up: next, down: half} {
			if attnzoo.NewFloat16(number) != expected || attnzoo.NewFloat16(-number) != expected|0x8000 {
				t.Fatalf("%g is %#x, must be %#x", number, attnzoo.NewFloat16(number), expected)
			}
		}
	}
	for number, expected := range map[float32]attnzoo.BFloat16{
		1 + 1.0/256: 0x3f80, 1 + 3.0/256: 0x3f82, math.MaxFloat32: 0x7f80, math.Nextafter32(1+1.0/256, 2): 0x3f81} {
		if attnzoo.NewBFloat16(number) != expected {
			t.Errorf("%g is %#x, must be %#x", number, attnzoo.NewBFloat16(number), expected)
		}
	}
	for _, bits := range []uint32{0x7f800001, 0xff800001, 0x7fffffff, 0x7fc00000} {
		number := math.Float32frombits(bits)
		half, brain := attnzoo.NewFloat16(number).Float32(), attnzoo.NewBFloat16(number).Float32()
		if half == half || brain == brain {
			t.Errorf("%#x is no NaN any more: %g %g", bits, half, brain)
		}
	}
}

func TestVersion(t *testing.T) {
	number := attnzoo.VersionNumber()
	text := fmt.Sprintf("%d.%d.%d", number/10000, number/100%100, number%100)
	if attnzoo.Version() != text || number < attnzoo.HeaderVersion || attnzoo.BuildInformation() == "" {
		t.Error(attnzoo.Version(), number, attnzoo.HeaderVersion, attnzoo.BuildInformation())
	}
}
