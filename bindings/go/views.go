package attnzoo

// views.go: packs tensors for the shim. Why so: shim.h.

/*
#include "shim.h"
*/
import "C"

// views is what one call into the shim takes: descriptions, which hold no pointers, and beside them the data pointers.
type views struct {
	described []C.struct_attnzoo_go_view
	data      [C.ATTNZOO_GO_PLACES]*C.uchar
}

// add puts a tensor in a place; the zero Tensor leaves the place empty. The name is for errors.
func (v *views) add(place int, isOutput bool, name string, tensor Tensor) error {
	if tensor.err != nil {
		return failure(tensor.err.Status, "%s: %s", name, tensor.err.Message)
	}
	if tensor.isNone() {
		return nil
	}
	for _, view := range v.described {
		if int(view.place) == place {
			return failure(InvalidArgument, "%s is given twice", name)
		}
	}
	view := C.struct_attnzoo_go_view{place: C.int32_t(place), dtype: C.int32_t(tensor.dtype), rank: C.int32_t(tensor.rank)}
	// Where it is read-only the library says so, by its own name for the output.
	if isOutput && !tensor.isReadOnly {
		view.is_output = 1
	}
	for axis := 0; axis < tensor.rank; axis++ {
		view.shape[axis] = C.int64_t(tensor.shape[axis])
		view.strides[axis] = C.int64_t(tensor.strides[axis])
	}
	v.data[len(v.described)] = (*C.uchar)(tensor.data)
	v.described = append(v.described, view)
	return nil
}

// hasNoQueries tells whether a call has N = 0 or B = 0. The innermost axis is the queries' features.
func (v *views) hasNoQueries() bool {
	for _, view := range v.described {
		if view.place != C.ATTNZOO_GO_FIRST_INPUT+C.ATTNZOO_INPUT_QUERY {
			continue
		}
		for axis := C.int32_t(0); axis < view.rank-1; axis++ {
			if view.shape[axis] == 0 {
				return true
			}
		}
	}
	return false
}

func (v *views) arguments() C.struct_attnzoo_go_views {
	arguments := C.struct_attnzoo_go_views{count: C.int32_t(len(v.described)), data: v.data}
	if len(v.described) > 0 {
		arguments.described = &v.described[0]
	}
	return arguments
}

// shapeOf calls what tells a shape.
func shapeOf(tell func(rank *C.int32_t, shape *C.int64_t) C.attnzoo_status) ([]int, error) {
	var rank C.int32_t
	var shape [RankMax]int64
	if err := check(func() C.attnzoo_status { return tell(&rank, (*C.int64_t)(&shape[0])) }); err != nil {
		return nil, err
	}
	return toInts(shape[:rank]), nil
}

// firstError is the first of several that is one.
func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
