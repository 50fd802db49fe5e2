package attnzoo

// executor.go: threads and scratch memory.

/*
#include "shim.h"
*/
import "C"

import (
	"math"
	"runtime"
	"sync"
)

// Executor holds the threads and the scratch memory that calls use. Its memory grows to what the calls need, and is
// then used again. Results do not depend on the number of threads: they are the same to the bit.
//
// One executor may be shared by goroutines; their calls then take turns. A call without an executor runs in its own
// thread, with memory allocated for that call alone.
type Executor struct {
	mutex  sync.RWMutex // read: a call runs; write: it is being closed
	handle *C.attnzoo_executor
}

// NewExecutor makes an executor whose calls are worked on by so many threads, the calling one included; 0 for as many
// as the process may use.
func NewExecutor(threadCount int) (*Executor, error) {
	if threadCount < 0 || threadCount > math.MaxInt32 {
		return nil, failure(InvalidArgument, "thread count is %d, must be from 0 to 256", threadCount)
	}
	e := new(Executor)
	if err := check(func() C.attnzoo_status {
		return C.attnzoo_executor_create(&e.handle, C.int32_t(threadCount))
	}); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(e, (*Executor).Close)
	return e, nil
}

// Close waits for calls that run, ends the threads and frees the memory. It always returns nil.
func (e *Executor) Close() error {
	if e == nil {
		return nil
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.handle != nil {
		C.attnzoo_executor_destroy(e.handle)
		e.handle = nil
		runtime.SetFinalizer(e, nil)
	}
	return nil
}

// ThreadCount is how many threads work on a call, the calling one included; 0 of nil and once it is closed.
func (e *Executor) ThreadCount() int {
	if e == nil {
		return 0
	}
	e.mutex.RLock()
	defer e.mutex.RUnlock()
	return int(C.attnzoo_executor_thread_count(e.handle))
}

// use keeps the executor open until the returned function is called; nil is no executor.
func (e *Executor) use() (*C.attnzoo_executor, func(), error) {
	if e == nil {
		return nil, func() {}, nil
	}
	e.mutex.RLock()
	if e.handle == nil {
		e.mutex.RUnlock()
		return nil, nil, failure(BadState, "the executor is closed, or was not made by NewExecutor")
	}
	return e.handle, e.mutex.RUnlock, nil
}
