/*
 * attnzoo/attnzoo.h: the whole public interface of libattnzoo. This is the one file to include.
 *
 * Five opaque handles carry the interface:
 *
 *   attnzoo_module    an attention mechanism with its options and parameters    attnzoo/module.h
 *   attnzoo_mask      which keys a query may see, and biases on the scores      attnzoo/mask.h
 *   attnzoo_tensor    a view of memory that the caller owns                     attnzoo/tensor.h
 *   attnzoo_state     what a mechanism carries from one call to the next        attnzoo/state.h
 *   attnzoo_executor  threads and scratch memory                                attnzoo/executor.h
 *
 * Views also come from and go to DLPack tensors (attnzoo/dlpack.h), and text, images, video and audio become sequences of
 * glimpses (attnzoo/glimpse.h).
 *
 * Every mechanism is used the same way: query, key, value, mask and state go in; the context and, where
 * asked for, the attention come out.
 *
 *   create a module -> set options -> set parameters -> prepare -> forward, as often as wanted
 *
 * Letters in shapes: B batch, H query heads, G key/value heads (H % G == 0; query head h reads key/value
 * head h / (H/G)), N queries, M keys, D head size of query and key, Dv head size of value, E (Eq, Ek, Ev, Eo) features
 * before and after projections, A hidden size of additive scores, F filters of width W, P rows of positions, T keys
 * kept by a cache. Linear layers are y = x W^T + b with W stored [out, in]. Tensors are
 * row-major unless strides say otherwise; sizes and strides are int64_t and count elements.
 *
 * Errors: every function that can fail returns an attnzoo_status; attnzoo_last_error() then says in words
 * what was wrong (attnzoo/status.h). After an error nothing was changed and no output was written.
 *
 * Threads: functions on different handles may run at the same time in any threads. One handle may be read
 * (passed as const, used by a forward call) by many threads at once; a call that changes a handle must
 * not run beside another call on that same handle. Executors are the exception: one may be shared, calls
 * on it then take turns.
 *
 * The library never prints, never ends the process, installs no signal or exit handler, keeps the
 * caller's locale, floating-point environment and BLAS thread count, and may be used after fork(). One thing
 * is out of its hands: with a BLAS built on OpenMP, GNU's libgomp ends the process when it has no memory for threads.
 */
#ifndef ATTNZOO_ATTNZOO_H
#define ATTNZOO_ATTNZOO_H

#include "dlpack.h"
#include "executor.h"
#include "glimpse.h"
#include "introspection.h"
#include "mask.h"
#include "merge.h"
#include "module.h"
#include "position.h"
#include "state.h"
#include "status.h"
#include "tensor.h"
#include "version.h"

#endif
