package attnzoo

// tensor.go: views of slices. A Tensor is a description; the library's own view of it lives only within a call, see
// views.go.

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// RankMax is the most axes a tensor may have.
const RankMax = C.ATTNZOO_RANK_MAX

// DType is the type of a tensor's elements.
type DType int32

// The element types, each with its type in Go. [Float16] and [BFloat16] are in half.go.
const (
	DTypeFloat32  DType = C.ATTNZOO_DTYPE_FLOAT32  // float32
	DTypeFloat16  DType = C.ATTNZOO_DTYPE_FLOAT16  // Float16
	DTypeBFloat16 DType = C.ATTNZOO_DTYPE_BFLOAT16 // BFloat16
	DTypeBool     DType = C.ATTNZOO_DTYPE_BOOL     // bool
	DTypeInt32    DType = C.ATTNZOO_DTYPE_INT32    // int32
	DTypeInt64    DType = C.ATTNZOO_DTYPE_INT64    // int64
)

// String is the element type's name, such as "float32".
func (d DType) String() string {
	return C.GoString(C.attnzoo_dtype_name(C.int32_t(d)))
}

// Size is how many bytes an element takes.
func (d DType) Size() int {
	return int(C.attnzoo_dtype_size(C.int32_t(d)))
}

// Element is what a tensor may be made of.
type Element interface {
	float32 | Float16 | BFloat16 | bool | int32 | int64
}

// Tensor is a view of a slice: where its elements are, and in which shape. It is a small value without a life of its
// own, to be made where it is needed, and it keeps the slice alive, not a copy of it. The zero Tensor is no tensor: it
// leaves out an input that may be left out, or an output that is not wanted.
//
// A shape that does not fit its slice is not refused here but by the first call that is given the tensor; [Tensor.Err]
// tells it before.
type Tensor struct {
	data    unsafe.Pointer
	dtype   DType
	rank    int
	shape   [RankMax]int64
	strides [RankMax]int64
	// A view of tiles, which may have one element in several places, is for inputs alone.
	isReadOnly bool
	err        *Error
}

// TensorOf is a view of all of data in row-major order, the innermost axis last. Without a shape it has one axis.
func TensorOf[E Element](data []E, shape ...int) Tensor {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	strides := make([]int, len(shape))
	count := 1
	for axis := len(shape) - 1; axis >= 0; axis-- {
		strides[axis] = count
		high, low := bits.Mul64(uint64(count), uint64(shape[axis]))
		if shape[axis] < 0 || high != 0 || low > uint64(maxInt) {
			return Tensor{err: failure(InvalidArgument, "shape %v is no shape", shape)}
		}
		count = int(low)
	}
	if count != len(data) {
		return Tensor{err: failure(ShapeMismatch, "shape %v has %d elements, the slice has %d", shape, count, len(data))}
	}
	return StridedTensorOf(data, 0, shape, strides)
}

// StridedTensorOf is a view of some of data: the element at index 0 of every axis is data[offset], and strides are the
// steps in elements from one to the next along each axis. Zero repeats, negative runs backwards. All elements must lie
// within data.
func StridedTensorOf[E Element](data []E, offset int, shape, strides []int) Tensor {
	tensor := Tensor{dtype: dtypeOf[E](), rank: len(shape)}
	if tensor.rank < 1 || tensor.rank > RankMax || len(strides) != tensor.rank {
		return Tensor{err: failure(InvalidArgument, "shape %v with strides %v: must have 1 to %d axes, and a stride for each",
			shape, strides, RankMax)}
	}
	isEmpty := false
	for axis := range shape {
		if shape[axis] < 0 {
			return Tensor{err: failure(InvalidArgument, "shape %v is no shape", shape)}
		}
		isEmpty = isEmpty || shape[axis] == 0
		tensor.shape[axis], tensor.strides[axis] = int64(shape[axis]), int64(strides[axis])
	}
	if isEmpty {
		return tensor
	}
	if !reachFits(len(data), offset, shape, strides) {
		return Tensor{err: failure(InvalidArgument, "shape %v with strides %v from element %d reaches outside its slice of %d",
			shape, strides, offset, len(data))}
	}
	tensor.data = unsafe.Pointer(&data[offset])
	return tensor
}

const maxInt = int(^uint(0) >> 1)

// reachFits tells whether all elements lie in a slice of length elements. It subtracts from what there is on either side,
// so that nothing can overflow.
func reachFits(length, offset int, shape, strides []int) bool {
	if offset < 0 || offset >= length {
		return false
	}
	before, behind := uint64(offset), uint64(length-1-offset)
	for axis, size := range shape {
		room, step := &behind, uint64(strides[axis])
		if strides[axis] < 0 {
			room, step = &before, -step
		}
		high, reach := bits.Mul64(uint64(size-1), step)
		if high != 0 || reach > *room {
			return false
		}
		*room -= reach
	}
	return true
}

func dtypeOf[E Element]() DType {
	var element E
	switch any(element).(type) {
	case float32:
		return DTypeFloat32
	case Float16:
		return DTypeFloat16
	case BFloat16:
		return DTypeBFloat16
	case bool:
		return DTypeBool
	case int32:
		return DTypeInt32
	default:
		return DTypeInt64
	}
}

// Err tells why this is not a tensor that a call would take; nil if it is one, or the zero Tensor.
func (t Tensor) Err() error {
	if t.err == nil {
		return nil
	}
	return t.err
}

// DType is the type of the elements; 0 of the zero Tensor.
func (t Tensor) DType() DType {
	return t.dtype
}

// Shape is the sizes of the axes, outermost first; nil of the zero Tensor.
func (t Tensor) Shape() []int {
	return toInts(t.shape[:t.rank])
}

// Strides is the steps in elements from one to the next along each axis; nil of the zero Tensor.
func (t Tensor) Strides() []int {
	return toInts(t.strides[:t.rank])
}

// SwapAxes is a view of the same elements with two axes exchanged: [B, N, H, D] becomes [B, H, N, D] by SwapAxes(1, 2).
func (t Tensor) SwapAxes(first, second int) Tensor {
	if t.err != nil {
		return t
	}
	if first < 0 || second < 0 || first >= t.rank || second >= t.rank {
		return Tensor{err: failure(InvalidArgument, "axes %d and %d of a tensor with %d", first, second, t.rank)}
	}
	t.shape[first], t.shape[second] = t.shape[second], t.shape[first]
	t.strides[first], t.strides[second] = t.strides[second], t.strides[first]
	return t
}

// String is type and shape, such as "float32 [2 3]".
func (t Tensor) String() string {
	switch {
	case t.err != nil:
		return t.err.Message
	case t.isNone():
		return "none"
	}
	return fmt.Sprintf("%v %v", t.dtype, t.Shape())
}

func (t Tensor) isNone() bool {
	return t.dtype == 0 && t.err == nil
}

func toInts(numbers []int64) []int {
	if len(numbers) == 0 {
		return nil
	}
	ints := make([]int, len(numbers))
	for i, number := range numbers {
		ints[i] = int(number)
	}
	return ints
}

// newFloats makes memory for a shape that the library has told. Inputs with strides of zero are of any size, and so are
// then the shapes that follow from them. Go ends the process when it cannot have memory, so C is asked first.
func newFloats(what string, shape []int) ([]float32, error) {
	const size = uint64(unsafe.Sizeof(float32(0)))
	count, isTooLarge := uint64(1), false
	for _, number := range shape {
		if number == 0 {
			return []float32{}, nil
		}
		high, low := bits.Mul64(count, uint64(number))
		count, isTooLarge = low, isTooLarge || high != 0
	}
	if isTooLarge || count > uint64(maxInt)/size || C.attnzoo_go_has_memory(C.size_t(count*size)) == 0 {
		return nil, failure(OutOfMemory, "there is no memory for %s of shape %v", what, shape)
	}
	return make([]float32, count), nil
}
