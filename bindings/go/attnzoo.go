// Package attnzoo computes attention: libattnzoo from Go.
//
// A [Module] is one attention mechanism with its options and parameters. It is made once, never changes, and is called
// from as many goroutines as you like. A [Call] says what goes in and what comes out: every tensor is a [Tensor], a
// view of a slice of yours, of which nothing is copied.
//
//	module, err := attnzoo.NewModule("scaled_dot_product")
//	context, shape, err := module.Attend(attnzoo.Call{
//		Query: attnzoo.TensorOf(query, 8, 512, 64),
//		Key:   attnzoo.TensorOf(key, 8, 512, 64),
//		Value: attnzoo.TensorOf(value, 8, 512, 64),
//		Mask:  &attnzoo.Mask{Causal: true},
//	})
//
// Which mechanisms there are, and which options, parameters, inputs, outputs and states each has, is told by
// [Mechanisms] and [Describe]. A mechanism that a later libattnzoo brings needs no new version of this package.
//
// # Memory
//
// The library sees a slice while a call runs and keeps no pointer to follow afterwards, so that Go's rules for passing
// pointers hold: the library's own views are made and freed within one call into C. Slices that a call reads must
// not be written by other goroutines meanwhile; slices that it writes must not be used by any.
//
// Modules, states and executors own memory outside Go's heap. Close frees it; the garbage collector does, too, but it
// does not know how large it is and may take its time. Close waits for running calls, may be called again, and whatever
// else is called on a closed object returns an error, as it does on a nil pointer and on a zero Module, State or
// Executor.
//
// # Errors
//
// Each error that the library tells is an [*Error], with a [Status] that errors.Is finds:
//
//	if errors.Is(err, attnzoo.ShapeMismatch) { ... }
//
// After an error no output was written and nothing was changed.
package attnzoo

/*
#cgo pkg-config: attnzoo
#cgo CFLAGS: -std=c11
#include "shim.h"
*/
import "C"

// HeaderVersion is the version of the library's header that this package was compiled with, major * 10000 + minor *
// 100 + patch. [VersionNumber] tells that of the library that runs.
const HeaderVersion = C.ATTNZOO_VERSION_NUMBER

// VersionNumber is the version of the library that runs, major * 10000 + minor * 100 + patch.
func VersionNumber() int {
	return int(C.attnzoo_version_number())
}

// Version is the version of the library that runs, such as "1.0.0".
func Version() string {
	return C.GoString(C.attnzoo_version_string())
}

// BuildInformation says in one line how the library was built and what it runs on: CPU path, BLAS, compiler. It is for
// people and bug reports; its form is not fixed.
func BuildInformation() string {
	return C.GoString(C.attnzoo_build_information())
}
