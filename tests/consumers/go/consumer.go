// Attention from Go through cgo, with nothing but the installed library and the standard library.
//
// Computes scaled dot-product attention with a causal mask and key lengths, compares it with a plain computation in
// double, and reads the message of a call that must fail.
package main

/*
#cgo pkg-config: attnzoo
#include <attnzoo/attnzoo.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"unsafe"
)

const (
	batch, heads, queries, keys, headSize, valueSize = 2, 2, 4, 5, 3, 2
	scale                                            = 0.75
)

var keyLengths = [batch]int64{5, 3}

func expect(got C.attnzoo_status, wanted C.attnzoo_status) {
	if got != wanted {
		fail("status %d, expected %d: %s", got, wanted, C.GoString(C.attnzoo_last_error()))
	}
}

func fail(format string, values ...interface{}) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

// memory is memory outside Go's heap: a view keeps a pointer to it, which Go does not allow for its own.
type memory struct {
	start unsafe.Pointer
	count int
}

func allocate(count int, elementSize int) memory {
	return memory{C.calloc(C.size_t(count), C.size_t(elementSize)), count}
}

func (m memory) floats() []float32 {
	return unsafe.Slice((*float32)(m.start), m.count)
}

// numbers are some floats that look irregular.
func numbers(count int, seed float64) memory {
	made := allocate(count, 4)
	for i := range made.floats() {
		made.floats()[i] = float32(math.Sin(seed + 1.7*float64(i)))
	}
	return made
}

func view(m memory, dtype C.int32_t, shape ...C.int64_t) *C.attnzoo_tensor {
	var made *C.attnzoo_tensor
	expect(C.attnzoo_tensor_create(&made, m.start, dtype, C.int32_t(len(shape)), &shape[0], nil), C.ATTNZOO_STATUS_OK)
	return made
}

// plainAttention is causal attention, the last query standing at the last key, over each batch's first keys.
func plainAttention(query, key, value []float32) []float64 {
	var context []float64
	for row := 0; row < batch*heads*queries; row++ {
		batchHead, i := row/queries, row%queries
		seen := keys - queries + i + 1
		if length := int(keyLengths[batchHead/heads]); length < seen {
			seen = length
		}
		var sum float64
		var total [valueSize]float64
		for j := 0; j < seen; j++ {
			var score float64
			for d := 0; d < headSize; d++ {
				score += float64(query[row*headSize+d]) * float64(key[(batchHead*keys+j)*headSize+d])
			}
			weight := math.Exp(scale * score)
			sum += weight
			for d := range total {
				total[d] += weight * float64(value[(batchHead*keys+j)*valueSize+d])
			}
		}
		for d := range total {
			context = append(context, total[d]/sum)
		}
	}
	return context
}

func largestError(got []float32, expected []float64) float64 {
	largest := 0.0
	for i := range got {
		largest = math.Max(largest, math.Abs(float64(got[i])-expected[i]))
	}
	return largest
}

func main() {
	// The message of an error belongs to the thread that made the call.
	runtime.LockOSThread()

	query := numbers(batch*heads*queries*headSize, 1)
	key := numbers(batch*heads*keys*headSize, 2)
	value := numbers(batch*heads*keys*valueSize, 3)
	context := allocate(batch*heads*queries*valueSize, 4)
	lengths := allocate(batch, 8)
	copy(unsafe.Slice((*int64)(lengths.start), batch), keyLengths[:])

	queryView := view(query, C.ATTNZOO_DTYPE_FLOAT32, batch, heads, queries, headSize)
	keyView := view(key, C.ATTNZOO_DTYPE_FLOAT32, batch, heads, keys, headSize)
	valueView := view(value, C.ATTNZOO_DTYPE_FLOAT32, batch, heads, keys, valueSize)
	lengthsView := view(lengths, C.ATTNZOO_DTYPE_INT64, batch)
	contextView := view(context, C.ATTNZOO_DTYPE_FLOAT32, batch, heads, queries, valueSize)

	mechanism, option := C.CString("scaled_dot_product"), C.CString("scale")
	var module *C.attnzoo_module
	var mask *C.attnzoo_mask
	var executor *C.attnzoo_executor
	expect(C.attnzoo_module_create(&module, mechanism), C.ATTNZOO_STATUS_OK)
	expect(C.attnzoo_module_set_option_float(module, option, scale), C.ATTNZOO_STATUS_OK)
	expect(C.attnzoo_module_prepare(module), C.ATTNZOO_STATUS_OK)
	expect(C.attnzoo_executor_create(&executor, 2), C.ATTNZOO_STATUS_OK)
	expect(C.attnzoo_mask_create(&mask), C.ATTNZOO_STATUS_OK)
	expect(C.attnzoo_mask_set_causal(mask, 1), C.ATTNZOO_STATUS_OK)
	expect(C.attnzoo_mask_set_key_lengths(mask, lengthsView), C.ATTNZOO_STATUS_OK)

	forward := func(keyView *C.attnzoo_tensor) C.attnzoo_status {
		return C.attnzoo_module_forward(module, executor, queryView, keyView, valueView, mask, nil, contextView, nil)
	}
	// The value's rows are of another size than the query's.
	expect(forward(valueView), C.ATTNZOO_STATUS_SHAPE_MISMATCH)
	message := C.GoString(C.attnzoo_last_error())
	if !strings.Contains(message, "key") {
		fail("the message does not name the key: %s", message)
	}
	expect(forward(keyView), C.ATTNZOO_STATUS_OK)

	largest := largestError(context.floats(), plainAttention(query.floats(), key.floats(), value.floats()))
	if !(largest < 2e-6) {
		fail("off by %g", largest)
	}
	fmt.Printf("Go, libattnzoo %s: error %.1e; refused: %s\n", C.GoString(C.attnzoo_version_string()), largest, message)

	for _, made := range []*C.attnzoo_tensor{queryView, keyView, valueView, lengthsView, contextView} {
		C.attnzoo_tensor_destroy(made)
	}
	C.attnzoo_mask_destroy(mask)
	C.attnzoo_executor_destroy(executor)
	C.attnzoo_module_destroy(module)
	for _, held := range []memory{query, key, value, context, lengths} {
		C.free(held.start)
	}
	C.free(unsafe.Pointer(mechanism))
	C.free(unsafe.Pointer(option))
}
