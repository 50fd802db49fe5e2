package attnzoo

// error.go: statuses as errors, and how every call that can fail is made.

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// Status is what kind of error a call ended with. It is an error itself, for errors.Is; the text that names the
// offending thing and its numbers is in the [Error] around it.
type Status int32

// The kinds of errors. A later library may return numbers that are not listed here.
const (
	// InvalidArgument: an argument breaks a rule, such as a negative size or a number out of bounds.
	InvalidArgument Status = C.ATTNZOO_STATUS_INVALID_ARGUMENT
	// ShapeMismatch: two shapes do not fit each other, or one does not fit what the mechanism needs.
	ShapeMismatch Status = C.ATTNZOO_STATUS_SHAPE_MISMATCH
	// DTypeMismatch: the element type is not one that this place takes.
	DTypeMismatch Status = C.ATTNZOO_STATUS_DTYPE_MISMATCH
	// Unsupported: well formed, but this library or this mechanism does not have it.
	Unsupported Status = C.ATTNZOO_STATUS_UNSUPPORTED
	// OutOfMemory: memory could not be had.
	OutOfMemory Status = C.ATTNZOO_STATUS_OUT_OF_MEMORY
	// BadState: the object is closed, or was made for another.
	BadState Status = C.ATTNZOO_STATUS_BAD_STATE
	// UnknownName: no mechanism, option, parameter, input, output or field has this name.
	UnknownName Status = C.ATTNZOO_STATUS_UNKNOWN_NAME
	// Overlap: an output overlaps an input, another output, or itself.
	Overlap Status = C.ATTNZOO_STATUS_OVERLAP
	// System: the operating system refused something other than memory, such as a thread.
	System Status = C.ATTNZOO_STATUS_SYSTEM
)

// Error is the status' name, such as "shape mismatch".
func (s Status) Error() string {
	return C.GoString(C.attnzoo_status_name(C.attnzoo_status(s)))
}

// Error is an error of the library, or of this package in front of it.
type Error struct {
	// Status is the kind of error, which errors.Is finds.
	Status Status
	// Message names the thing, its numbers and the rule, in one line of English.
	Message string
}

// Error gives the message. Those of the library begin with its function's name.
func (e *Error) Error() string {
	if strings.HasPrefix(e.Message, "attnzoo_") {
		return e.Message
	}
	return "attnzoo: " + e.Message
}

// Unwrap gives the status.
func (e *Error) Unwrap() error {
	return e.Status
}

func failure(status Status, format string, values ...any) *Error {
	return &Error{status, fmt.Sprintf(format, values...)}
}

// check makes one call into the library. The message of an error belongs to the thread that made the call, and a
// goroutine may change threads between two calls into C.
func check(call func() C.attnzoo_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := call()
	if status == C.ATTNZOO_STATUS_OK {
		return nil
	}
	return &Error{Status(status), C.GoString(C.attnzoo_last_error())}
}

// text is a string as C reads it, in Go's memory: the library copies what it keeps. C would take a string with a zero
// byte for a shorter one.
func text(what, value string) (*C.char, error) {
	if strings.IndexByte(value, 0) >= 0 {
		return nil, failure(InvalidArgument, "%s %q has a zero byte", what, value)
	}
	bytes := make([]byte, len(value)+1)
	copy(bytes, value)
	return (*C.char)(unsafe.Pointer(&bytes[0])), nil
}
