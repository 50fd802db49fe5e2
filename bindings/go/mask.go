package attnzoo

// mask.go: masks as plain values. The library's own mask is made by the shim within the call.

/*
#include "shim.h"
*/
import "C"

// Mask says which keys a query may see, and adds biases to scores. All that is set holds together: a key is seen only
// if every constraint lets it be seen. The zero Mask hides nothing. One mask serves any number of calls at once.
//
// A query that may see no key has context 0, attention 0 and log-sum-exp -infinity, never NaN. Keys beyond a key
// length, or outside causal and window for every query of a call, are never read.
type Mask struct {
	// Causal: query i sees key j only if j <= p(i), the query's position.
	Causal bool
	// Window, where it is not nil, bounds how far from its own position a query sees.
	Window *Window
	// Alignment says where the queries stand; the zero Alignment lets the last query stand at the last key.
	Alignment Alignment
	// KeyLengths [B], int32 or int64: only keys before the batch's length are seen; nothing beyond is read.
	KeyLengths Tensor
	// QueryLengths [B], int32 or int64: queries from the batch's length on see nothing.
	QueryLengths Tensor
	// Boolean, bool, int32 or int64: true means attend. It broadcasts to [B, H, N, M] from the right: axes of size 1
	// repeat, missing leading ones count as 1. So [B, M] is read as [N, M]; say [B, 1, 1, M] for padding.
	Boolean Tensor
	// Bias, of float32, Float16 or BFloat16, is added to the scores; -infinity hides the key. It broadcasts as Boolean.
	Bias Tensor
	// LinearBias [H], slopes (ALiBi): adds -slope * |p(i) - j|.
	LinearBias Tensor
	// Segments [B, M], int32 or int64, for several sequences packed into one: a query sees only keys with its own id.
	Segments Tensor
}

// Window: query i sees key j only if p(i) - Left <= j <= p(i) + Right. [Unlimited] is no limit on that side; the zero
// Window is the diagonal alone.
type Window struct {
	// Left is how many keys before its own position a query sees, Right how many behind it.
	Left, Right int64
}

// Unlimited is a [Window]'s side without a limit.
const Unlimited = -1

// Alignment is where the queries' positions start: query i stands at p(i) = offset + i, key j at j.
type Alignment struct {
	number    C.int32_t
	hasOffset bool
	offset    int64
	offsets   Tensor
}

// AlignBottomRight lets the last query stand at the last key: offset = M - N. So does the zero Alignment.
func AlignBottomRight() Alignment {
	return Alignment{number: C.ATTNZOO_ALIGNMENT_BOTTOM_RIGHT}
}

// AlignTopLeft lets the first query stand at the first key: offset = 0.
func AlignTopLeft() Alignment {
	return Alignment{number: C.ATTNZOO_ALIGNMENT_TOP_LEFT}
}

// AlignLengths takes offset = key length - query length of each batch, N and M where no lengths are set.
func AlignLengths() Alignment {
	return Alignment{number: C.ATTNZOO_ALIGNMENT_LENGTHS}
}

// AlignOffset is an offset for all batches; it may be negative.
func AlignOffset(offset int64) Alignment {
	return Alignment{hasOffset: true, offset: offset}
}

// AlignOffsets is an offset for each batch: [B], int32 or int64.
func AlignOffsets(offsets Tensor) Alignment {
	return Alignment{offsets: offsets}
}

// pack adds the mask's tensors to the views of a call and returns the rest; nil is no mask.
func (m *Mask) pack(packed *views) (*C.struct_attnzoo_go_mask, error) {
	if m == nil {
		return nil, nil
	}
	flat := &C.struct_attnzoo_go_mask{
		is_causal:  fromBool(m.Causal),
		has_offset: fromBool(m.Alignment.hasOffset),
		alignment:  m.Alignment.number,
		offset:     C.int64_t(m.Alignment.offset),
	}
	if m.Window != nil {
		flat.has_window = 1
		flat.left, flat.right = C.int64_t(m.Window.Left), C.int64_t(m.Window.Right)
	}
	return flat, firstError(
		packed.add(C.ATTNZOO_GO_QUERY_OFFSETS, false, "query offsets", m.Alignment.offsets),
		packed.add(C.ATTNZOO_GO_KEY_LENGTHS, false, "key lengths", m.KeyLengths),
		packed.add(C.ATTNZOO_GO_QUERY_LENGTHS, false, "query lengths", m.QueryLengths),
		packed.add(C.ATTNZOO_GO_BOOLEAN, false, "boolean mask", m.Boolean),
		packed.add(C.ATTNZOO_GO_BIAS, false, "bias", m.Bias),
		packed.add(C.ATTNZOO_GO_LINEAR_BIAS, false, "linear bias", m.LinearBias),
		packed.add(C.ATTNZOO_GO_SEGMENTS, false, "segments", m.Segments))
}
