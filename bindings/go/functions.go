package attnzoo

// functions.go: what stands beside modules: merging of contexts, and tables of positions.

/*
#include "shim.h"
*/
import "C"

// MergeContexts puts together attention that was computed over two disjoint sets of keys, exactly as though it had been
// over all at once:
//
//	L = log(exp(La) + exp(Lb));  context = exp(La - L) contextA + exp(Lb - L) contextB
//
// The contexts are [..., Dv]; La and Lb are the LogSumExp of their calls, float32, in the contexts' shape without the last
// axis. context may be the very tensor contextA, and logSumExp the very tensor logSumExpA; logSumExp may also be
// left out. Repeat it for more than two parts.
func MergeContexts(contextA, logSumExpA, contextB, logSumExpB, context, logSumExp Tensor) error {
	var packed views
	err := firstError(
		packed.add(0, false, "contextA", contextA),
		packed.add(1, false, "logSumExpA", logSumExpA),
		packed.add(2, false, "contextB", contextB),
		packed.add(3, false, "logSumExpB", logSumExpB),
		packed.add(4, true, "context", context),
		packed.add(5, true, "logSumExp", logSumExp))
	if err != nil {
		return err
	}
	return check(func() C.attnzoo_status { return C.attnzoo_go_merge_contexts(packed.arguments()) })
}

// Arrangement is how the columns of a sinusoidal table are arranged.
type Arrangement int32

const (
	// Interleaved: column 2i is sin, column 2i + 1 is cos.
	Interleaved Arrangement = C.ATTNZOO_SINUSOID_INTERLEAVED
	// Halves: all sines come first, then all cosines.
	Halves Arrangement = C.ATTNZOO_SINUSOID_HALVES
)

// FillSinusoidalPositions fills table, [P, E] or [B, P, E], with the sinusoids of positions: row p stands for the
// position x = first + p * step and holds sin(x / 10000^(2i/E)) and cos(x / 10000^(2i/E)).
//
// For relative_multi_head row p stands for the distance M - 1 - p, which is first = M - 1 and step = -1, with M + N - 1
// rows (or, under a causal mask, M rows).
func FillSinusoidalPositions(table Tensor, first, step int64, arrangement Arrangement) error {
	var packed views
	if err := packed.add(0, true, "table", table); err != nil {
		return err
	}
	return check(func() C.attnzoo_status {
		return C.attnzoo_go_fill_positions(C.int64_t(first), C.int64_t(step), C.int32_t(arrangement), packed.arguments())
	})
}
