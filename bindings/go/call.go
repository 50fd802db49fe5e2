package attnzoo

// call.go: forward calls and the shapes of what they give.

/*
#include "shim.h"
*/
import "C"

import "runtime"

// Call is what goes into a call of a [Module] and where the results go. Inputs and outputs may be float32, Float16 or
// BFloat16, or int32 or int64 where [Describe] says "integer", with any strides; leading axes of size 1 (batch, heads) may
// be left out. [Describe] tells which of them a mechanism has, with their shapes.
type Call struct {
	// Query is what is looked for, Key what it is found by, and Value what is found. Some mechanisms can do without a key
	// or a value.
	Query, Key, Value Tensor
	// Position is the table of positions of relative_multi_head; see [FillSinusoidalPositions].
	Position Tensor
	// Inputs are inputs by name that have no field here. Those above are "query", "key", "value" and "position".
	Inputs map[string]Tensor

	// Mask hides keys; nil hides nothing.
	Mask *Mask
	// State is carried from call to call; nil for a call by itself. Calls with one state take turns.
	State *State
	// Executor lends threads and memory; nil lets the call run in its own thread.
	Executor *Executor

	// Context is where the result goes.
	Context Tensor
	// Attention, if it is wanted, receives the weight of each key for each query.
	Attention Tensor
	// LogSumExp, if it is wanted, receives what [MergeContexts] needs: [B, H, N], scaled_dot_product only.
	LogSumExp Tensor
	// Outputs are outputs by name that have no field here. Those above are "context", "attention" and "log_sum_exp".
	Outputs map[string]Tensor
}

// Forward computes attention: for each query, the keys' scores, their softmax over the keys that may be seen (the
// attention), and the values summed by it (the context). Outputs may not overlap anything else of the call. After an
// error no output was written and the state is as it was.
func (m *Module) Forward(call Call) error {
	if err := m.use(); err != nil {
		return err
	}
	defer m.mutex.RUnlock()
	var packed views
	if err := m.packInputs(&call, &packed); err != nil {
		return err
	}
	if err := m.packOutputs(&call, &packed); err != nil {
		return err
	}
	mask, err := call.Mask.pack(&packed)
	if err != nil {
		return err
	}
	executor, unuse, err := call.Executor.use()
	if err != nil {
		return err
	}
	defer unuse()
	state, unlock, err := call.State.use()
	if err != nil {
		return err
	}
	defer unlock()
	err = check(func() C.attnzoo_status {
		return C.attnzoo_go_forward(m.handle, executor, state, mask, packed.arguments())
	})
	runtime.KeepAlive(&packed)
	if err == nil {
		call.State.remember(&packed)
	}
	return err
}

// Attend is Forward with a context of its own, float32 in row-major order, which it returns with its shape. The call
// must not have one.
func (m *Module) Attend(call Call) (context []float32, shape []int, err error) {
	if !call.Context.isNone() {
		return nil, nil, failure(InvalidArgument, "Attend makes the context itself, but the call has one")
	}
	shape, err = m.OutputShape(call, "context")
	if err != nil {
		return nil, nil, err
	}
	context, err = newFloats("the context", shape)
	if err != nil {
		return nil, nil, err
	}
	call.Context = TensorOf(context, shape...)
	if err := m.Forward(call); err != nil {
		return nil, nil, err
	}
	return context, shape, nil
}

// OutputShape tells the shape that an output of a call would have, so that memory for it can be had: "context",
// "attention", or another by the name that [Describe] tells. Of the call only the shapes of its inputs and its state are
// looked at.
func (m *Module) OutputShape(call Call, output string) ([]int, error) {
	if err := m.use(); err != nil {
		return nil, err
	}
	defer m.mutex.RUnlock()
	place, ok := indexOf(m.mechanism, C.ATTNZOO_ITEM_OUTPUT, output)
	if !ok {
		return nil, unknown(m.mechanism, "output", output, C.ATTNZOO_ITEM_OUTPUT)
	}
	var packed views
	if err := m.packInputs(&call, &packed); err != nil {
		return nil, err
	}
	state, unlock, err := call.State.use()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return shapeOf(func(rank *C.int32_t, shape *C.int64_t) C.attnzoo_status {
		return C.attnzoo_go_output_shape(m.handle, state, C.int32_t(place), rank, shape, packed.arguments())
	})
}

func (m *Module) packInputs(call *Call, packed *views) error {
	return firstError(
		packed.add(C.ATTNZOO_GO_FIRST_INPUT+C.ATTNZOO_INPUT_QUERY, false, "query", call.Query),
		packed.add(C.ATTNZOO_GO_FIRST_INPUT+C.ATTNZOO_INPUT_KEY, false, "key", call.Key),
		packed.add(C.ATTNZOO_GO_FIRST_INPUT+C.ATTNZOO_INPUT_VALUE, false, "value", call.Value),
		packed.add(C.ATTNZOO_GO_FIRST_INPUT+C.ATTNZOO_INPUT_POSITION, false, "position", call.Position),
		m.packNamed(packed, C.ATTNZOO_ITEM_INPUT, call.Inputs))
}

func (m *Module) packOutputs(call *Call, packed *views) error {
	return firstError(
		packed.add(C.ATTNZOO_GO_FIRST_OUTPUT+C.ATTNZOO_OUTPUT_CONTEXT, true, "context", call.Context),
		packed.add(C.ATTNZOO_GO_FIRST_OUTPUT+C.ATTNZOO_OUTPUT_ATTENTION, true, "attention", call.Attention),
		packed.add(C.ATTNZOO_GO_FIRST_OUTPUT+C.ATTNZOO_OUTPUT_LOG_SUM_EXP, true, "log_sum_exp", call.LogSumExp),
		m.packNamed(packed, C.ATTNZOO_ITEM_OUTPUT, call.Outputs))
}

// packNamed puts tensors where the mechanism says that their names belong.
func (m *Module) packNamed(packed *views, item int, tensors map[string]Tensor) error {
	first, what, isOutput := C.ATTNZOO_GO_FIRST_INPUT, "input", false
	if item == C.ATTNZOO_ITEM_OUTPUT {
		first, what, isOutput = C.ATTNZOO_GO_FIRST_OUTPUT, "output", true
	}
	for name, tensor := range tensors {
		place, ok := indexOf(m.mechanism, item, name)
		if !ok {
			return unknown(m.mechanism, what, name, item)
		}
		if place >= C.ATTNZOO_GO_SLOTS {
			return failure(Unsupported, "%s is in place %d; this package has %d", name, place, C.ATTNZOO_GO_SLOTS)
		}
		if err := packed.add(first+place, isOutput, name, tensor); err != nil {
			return err
		}
	}
	return nil
}
