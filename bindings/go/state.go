package attnzoo

// state.go: what a mechanism carries from one call to the next.

/*
#include "shim.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// State is a key/value cache (multi_head, relative_multi_head) or the alignment of a recurrent mechanism
// (location_aware), for calls of one module. Methods and calls that use one state from several goroutines take turns.
//
// A cache appends the projected keys and values of each call and attends over all. An alignment belongs to one
// utterance: until [State.Reset] every call must have the same keys and values, in memory that does not change; the state
// keeps the inputs of its last call from being collected.
type State struct {
	module *Module // outlives the state, and is finalized after it
	number uint64  // in which order two states are locked
	mutex  sync.Mutex
	handle *C.attnzoo_state
	// The library compares where keys and values lie with where they lay in the call before, to know whether it has
	// projected them already. It never follows that address; but were the memory collected, other keys could come to lie
	// there and be taken for these.
	remembered []*C.uchar
}

var stateCount atomic.Uint64

// NewState makes an empty state for calls with B = batch and room for so many keys. A call that needs more room is an
// error, and changes nothing.
func (m *Module) NewState(batch, capacity int) (*State, error) {
	if err := m.use(); err != nil {
		return nil, err
	}
	defer m.mutex.RUnlock()
	s := &State{module: m, number: stateCount.Add(1)}
	if err := check(func() C.attnzoo_status {
		return C.attnzoo_state_create(&s.handle, m.handle, C.int64_t(batch), C.int64_t(capacity))
	}); err != nil {
		return nil, err
	}
	m.users.Add(1)
	runtime.SetFinalizer(s, (*State).Close)
	return s, nil
}

// Close waits for calls that run and frees the state. It always returns nil.
func (s *State) Close() error {
	if s == nil {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.handle != nil {
		C.attnzoo_state_destroy(s.handle)
		s.handle = nil
		s.remembered = nil
		runtime.SetFinalizer(s, nil)
		s.module.release()
	}
	return nil
}

// Reset empties the state, as though it were new. To be called before each new sequence or utterance.
func (s *State) Reset() error {
	handle, err := s.lock()
	if err != nil {
		return err
	}
	defer s.mutex.Unlock()
	return s.change(func() C.attnzoo_status { return C.attnzoo_state_reset(handle) })
}

// Truncate forgets all keys of a cache from number length on, for instance after a rejected draft of tokens.
func (s *State) Truncate(length int) error {
	handle, err := s.lock()
	if err != nil {
		return err
	}
	defer s.mutex.Unlock()
	return check(func() C.attnzoo_status { return C.attnzoo_state_truncate(handle, C.int64_t(length)) })
}

// CopyFrom makes the state hold what source holds, without allocating. Both must be of the same mechanism and sizes.
func (s *State) CopyFrom(source *State) error {
	if s == source {
		_, err := s.lock()
		if err == nil {
			s.mutex.Unlock()
		}
		return err
	}
	first, second := s, source
	if first != nil && second != nil && first.number > second.number {
		first, second = second, first
	}
	if _, err := first.lock(); err != nil {
		return err
	}
	defer first.mutex.Unlock()
	if _, err := second.lock(); err != nil {
		return err
	}
	defer second.mutex.Unlock()
	err := check(func() C.attnzoo_status { return C.attnzoo_state_copy(s.handle, source.handle) })
	if err == nil {
		s.remembered = append([]*C.uchar(nil), source.remembered...)
	}
	return err
}

// Length is how many keys the state holds: T of a cache, M of an alignment, 0 when empty; -1 of nil and once it is closed.
func (s *State) Length() int {
	return s.tell(func(handle *C.attnzoo_state) C.int64_t { return C.attnzoo_state_length(handle) })
}

// Capacity is the most keys the state can hold; -1 of nil and once it is closed.
func (s *State) Capacity() int {
	return s.tell(func(handle *C.attnzoo_state) C.int64_t { return C.attnzoo_state_capacity(handle) })
}

// Batch is B of the calls that the state serves; -1 of nil and once it is closed.
func (s *State) Batch() int {
	return s.tell(func(handle *C.attnzoo_state) C.int64_t { return C.attnzoo_state_batch(handle) })
}

func (s *State) tell(number func(handle *C.attnzoo_state) C.int64_t) int {
	handle, err := s.lock()
	if err != nil {
		return -1
	}
	defer s.mutex.Unlock()
	return int(number(handle))
}

// Field copies a field out, such as "key" or "alignment", and tells its shape. [Describe] tells the names.
func (s *State) Field(name string) (values []float32, shape []int, err error) {
	handle, err := s.lock()
	if err != nil {
		return nil, nil, err
	}
	defer s.mutex.Unlock()
	index, err := s.field(name)
	if err != nil {
		return nil, nil, err
	}
	shape, err = shapeOf(func(rank *C.int32_t, shape *C.int64_t) C.attnzoo_status {
		return C.attnzoo_state_field_shape(handle, C.int32_t(index), rank, shape)
	})
	if err != nil {
		return nil, nil, err
	}
	values, err = newFloats(name, shape)
	if err != nil {
		return nil, nil, err
	}
	var packed views
	if err := packed.add(index, true, name, TensorOf(values, shape...)); err != nil {
		return nil, nil, err
	}
	err = check(func() C.attnzoo_status {
		return C.attnzoo_go_get_field(handle, C.int32_t(index), packed.arguments())
	})
	if err != nil {
		return nil, nil, err
	}
	return values, shape, nil
}

// SetFields replaces what the state holds, all fields at once. What [State.Field] gave makes it continue from there, to
// the bit.
func (s *State) SetFields(fields map[string]Tensor) error {
	handle, err := s.lock()
	if err != nil {
		return err
	}
	defer s.mutex.Unlock()
	var packed views
	for name, values := range fields {
		index, err := s.field(name)
		if err == nil {
			err = packed.add(index, false, name, values)
		}
		if err != nil {
			return err
		}
	}
	return s.change(func() C.attnzoo_status { return C.attnzoo_go_set_fields(handle, packed.arguments()) })
}

// field is a field's number. The state is locked, as in change and remember.
func (s *State) field(name string) (int, error) {
	index, ok := indexOf(s.module.mechanism, C.ATTNZOO_ITEM_STATE, name)
	if !ok {
		return 0, failure(UnknownName, "states of %s have no field %q", s.module.mechanism, name)
	}
	if index >= C.ATTNZOO_GO_PLACES {
		return 0, failure(Unsupported, "%s is field %d; this package has %d", name, index, C.ATTNZOO_GO_PLACES)
	}
	return index, nil
}

// change makes a call after which the library knows nothing of earlier calls any more.
func (s *State) change(call func() C.attnzoo_status) error {
	err := check(call)
	if err == nil {
		s.remembered = nil
	}
	return err
}

// remember keeps the inputs of a call, of which the library's state may have noted where they lie, in the place of those
// of the call before. A call without queries does nothing, so that the note of the one before stands.
func (s *State) remember(packed *views) {
	if s == nil || packed.hasNoQueries() {
		return
	}
	s.remembered = nil
	for i, view := range packed.described {
		if view.is_output == 0 && view.place < C.ATTNZOO_GO_FIRST_OUTPUT {
			s.remembered = append(s.remembered, packed.data[i])
		}
	}
}

// lock takes the state for one call, until s.mutex.Unlock().
func (s *State) lock() (*C.attnzoo_state, error) {
	if s == nil {
		return nil, failure(InvalidArgument, "the state is nil")
	}
	s.mutex.Lock()
	if s.handle == nil {
		s.mutex.Unlock()
		return nil, failure(BadState, "the state is closed, or was not made by NewState")
	}
	return s.handle, nil
}

// use takes the state for a forward call until the returned function is called; nil is no state.
func (s *State) use() (*C.attnzoo_state, func(), error) {
	if s == nil {
		return nil, func() {}, nil
	}
	handle, err := s.lock()
	return handle, s.mutex.Unlock, err
}
