package attnzoo

// module.go: modules: made, with all their settings, in one step, so that there is none that is not ready. Calls are in
// call.go.

/*
#include "shim.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Module is a mechanism with its options and parameters, ready to be called. It never changes, and any number of
// goroutines may call it at once.
type Module struct {
	mechanism string
	mutex     sync.RWMutex // read: a call runs; write: it is being closed
	isClosed  bool
	handle    *C.attnzoo_module
	// The library's module must outlive its states: 1 while the module is open, and 1 for each open state.
	users atomic.Int32
}

// Setting is an option or a parameter, or several, for [NewModule].
type Setting struct {
	apply func(*Module) error
}

// OptionValue is what an option may be set to; [Describe] tells which type an option has.
type OptionValue interface {
	int | int64 | float64 | bool | string
}

// Option sets an option. Numbers, truth values and choices may also be given as text, "0.125", and a whole number is
// fine for an option of type float.
func Option[V OptionValue](name string, value V) Setting {
	return Setting{func(m *Module) error { return m.setOption(name, value) }}
}

// Parameter sets a parameter (a weight), such as "query_proj.weight", of float32, Float16 or BFloat16. NewModule copies
// it.
func Parameter(name string, values Tensor) Setting {
	return Setting{func(m *Module) error { return m.setParameter(name, values) }}
}

// Parameters sets several parameters.
func Parameters(values map[string]Tensor) Setting {
	return Setting{func(m *Module) error {
		for name, tensor := range values {
			if err := m.setParameter(name, tensor); err != nil {
				return err
			}
		}
		return nil
	}}
}

// NewModule makes a module by its mechanism's name. Options that are not set have their defaults; of two settings of
// one name the later counts.
func NewModule(mechanism string, settings ...Setting) (*Module, error) {
	name, err := text("mechanism", mechanism)
	if err != nil {
		return nil, err
	}
	m := &Module{mechanism: mechanism}
	if err := check(func() C.attnzoo_status { return C.attnzoo_module_create(&m.handle, name) }); err != nil {
		return nil, err
	}
	m.users.Store(1)
	runtime.SetFinalizer(m, (*Module).Close)
	for _, setting := range settings {
		if setting.apply == nil {
			continue
		}
		if err := setting.apply(m); err != nil {
			m.Close()
			return nil, err
		}
	}
	if err := check(func() C.attnzoo_status { return C.attnzoo_module_prepare(m.handle) }); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Mechanism is the name of the module's mechanism; "" of nil and of the zero Module.
func (m *Module) Mechanism() string {
	if m == nil {
		return ""
	}
	return m.mechanism
}

// Close waits for calls that run and frees the module. States of the module may still be read; what they need of it
// goes with the last of them. It always returns nil.
func (m *Module) Close() error {
	if m == nil {
		return nil
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !m.isClosed && m.handle != nil {
		m.isClosed = true
		runtime.SetFinalizer(m, nil)
		m.release()
	}
	return nil
}

func (m *Module) release() {
	if m.users.Add(-1) == 0 {
		C.attnzoo_module_destroy(m.handle)
		m.handle = nil
	}
}

// use keeps the module open until m.mutex.RUnlock().
func (m *Module) use() error {
	if m == nil {
		return failure(InvalidArgument, "the module is nil")
	}
	m.mutex.RLock()
	// The handle of a closed module may go at any time, with its last state.
	if m.isClosed || m.handle == nil {
		m.mutex.RUnlock()
		return failure(BadState, "the module is closed, or was not made by NewModule")
	}
	return nil
}

func (m *Module) setOption(name string, value any) error {
	cName, err := text("option", name)
	if err != nil {
		return err
	}
	var set func() C.attnzoo_status
	switch value := value.(type) {
	case int:
		return m.setOption(name, int64(value))
	case int64:
		if m.isFloat(name) {
			return m.setOption(name, float64(value))
		}
		set = func() C.attnzoo_status { return C.attnzoo_module_set_option_int(m.handle, cName, C.int64_t(value)) }
	case float64:
		set = func() C.attnzoo_status { return C.attnzoo_module_set_option_float(m.handle, cName, C.double(value)) }
	case bool:
		set = func() C.attnzoo_status { return C.attnzoo_module_set_option_bool(m.handle, cName, fromBool(value)) }
	case string:
		cValue, err := text(name, value)
		if err != nil {
			return err
		}
		set = func() C.attnzoo_status { return C.attnzoo_module_set_option_text(m.handle, cName, cValue) }
	}
	return check(set)
}

// isFloat tells whether there is an option of that name whose type is float.
func (m *Module) isFloat(name string) bool {
	index, ok := indexOf(m.mechanism, C.ATTNZOO_ITEM_OPTION, name)
	return ok && itemText(m.mechanism, C.ATTNZOO_ITEM_OPTION, index, C.ATTNZOO_FIELD_TYPE) == "float"
}

func (m *Module) setParameter(name string, values Tensor) error {
	cName, err := text("parameter", name)
	if err != nil {
		return err
	}
	var packed views
	if err := packed.add(0, false, name, values); err != nil {
		return err
	}
	if values.isNone() {
		return failure(InvalidArgument, "%s is no tensor", name)
	}
	return check(func() C.attnzoo_status {
		return C.attnzoo_go_set_parameter(m.handle, cName, packed.arguments())
	})
}

func fromBool(value bool) C.int32_t {
	if value {
		return 1
	}
	return 0
}
