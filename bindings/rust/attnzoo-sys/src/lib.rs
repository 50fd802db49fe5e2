//! Declarations of libattnzoo's C interface, as in `attnzoo/attnzoo.h`, and nothing more: no wrapper, no check.
//! Programs want the crate `attnzoo`.
//!
//! The header is the reference for shapes, ownership, threads and errors. `tests/header.rs` holds this file to it: the
//! same functions with the same arguments, the same constants with the same numbers.
//!
//! ```
//! let version = unsafe { std::ffi::CStr::from_ptr(attnzoo_sys::attnzoo_version_string()) };
//! println!("libattnzoo {}", version.to_string_lossy());
//! ```

#![allow(non_camel_case_types)]
#![warn(missing_docs)]

mod dlpack;

use std::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_double, c_void};

pub use dlpack::*;

/// Declares a type that only the library can look into, and that Rust can neither make, move nor send.
macro_rules! opaque {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        #[repr(C)]
        pub struct $name {
            _data: [u8; 0],
            _marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    };
}

/// What a call came to: 0 is success, everything else an error, numbers that are not listed here included.
pub type attnzoo_status = i32;

// attnzoo/status.h

/// Success.
pub const ATTNZOO_STATUS_OK: attnzoo_status = 0;
/// An argument breaks a rule: NULL where a handle is needed, a negative size, a number out of bounds.
pub const ATTNZOO_STATUS_INVALID_ARGUMENT: attnzoo_status = 1;
/// The shapes of two things do not fit each other, or one does not fit what the mechanism needs.
pub const ATTNZOO_STATUS_SHAPE_MISMATCH: attnzoo_status = 2;
/// The element type is not one that this place takes.
pub const ATTNZOO_STATUS_DTYPE_MISMATCH: attnzoo_status = 3;
/// The request is well formed, but this library or this mechanism does not have it.
pub const ATTNZOO_STATUS_UNSUPPORTED: attnzoo_status = 4;
/// Memory could not be had.
pub const ATTNZOO_STATUS_OUT_OF_MEMORY: attnzoo_status = 5;
/// The handle is not in the right condition: a module not prepared yet, or prepared already.
pub const ATTNZOO_STATUS_BAD_STATE: attnzoo_status = 6;
/// No mechanism, option or parameter has this name.
pub const ATTNZOO_STATUS_UNKNOWN_NAME: attnzoo_status = 7;
/// An output overlaps an input, another output, or itself.
pub const ATTNZOO_STATUS_OVERLAP: attnzoo_status = 8;
/// The operating system refused something other than memory, such as a thread.
pub const ATTNZOO_STATUS_SYSTEM: attnzoo_status = 9;

extern "C" {
    /// The name of a status code, such as "shape mismatch"; "unknown status" for a number that is none.
    pub fn attnzoo_status_name(status: attnzoo_status) -> *const c_char;
    /// What went wrong in the last call of this thread that returns a status: the thing, its numbers and the
    /// rule, in one line of English. "" if that call succeeded or there was none.
    pub fn attnzoo_last_error() -> *const c_char;
}

// attnzoo/version.h

/// The version of the header that these declarations were made from. What runs is told by `attnzoo_version_number()`.
pub const ATTNZOO_VERSION_MAJOR: i32 = 1;
/// See `ATTNZOO_VERSION_MAJOR`.
pub const ATTNZOO_VERSION_MINOR: i32 = 0;
/// See `ATTNZOO_VERSION_MAJOR`.
pub const ATTNZOO_VERSION_PATCH: i32 = 0;
/// Major * 10000 + minor * 100 + patch.
pub const ATTNZOO_VERSION_NUMBER: i32 =
    ATTNZOO_VERSION_MAJOR * 10000 + ATTNZOO_VERSION_MINOR * 100 + ATTNZOO_VERSION_PATCH;

extern "C" {
    /// The version of the library that runs, major * 10000 + minor * 100 + patch.
    pub fn attnzoo_version_number() -> i32;
    /// The version of the library that runs, such as "1.0.0"; static.
    pub fn attnzoo_version_string() -> *const c_char;
    /// How the library was built and what it runs on, in one line for people and bug reports: the CPU path
    /// chosen, small or large products, the BLAS with its version and threading, the compiler.
    pub fn attnzoo_build_information() -> *const c_char;
}

// attnzoo/tensor.h

opaque! {
    /// A view of elements in memory: pointer, element type, sizes and strides.
    attnzoo_tensor
}

// Element types.

/// IEEE 754 binary32, Rust's f32.
pub const ATTNZOO_DTYPE_FLOAT32: i32 = 1;
/// IEEE 754 binary16.
pub const ATTNZOO_DTYPE_FLOAT16: i32 = 2;
/// The upper half of a float32.
pub const ATTNZOO_DTYPE_BFLOAT16: i32 = 3;
/// One byte an element: 0 is false, anything else true.
pub const ATTNZOO_DTYPE_BOOL: i32 = 4;
/// Rust's i32.
pub const ATTNZOO_DTYPE_INT32: i32 = 5;
/// Rust's i64.
pub const ATTNZOO_DTYPE_INT64: i32 = 6;

/// The most axes a view may have.
pub const ATTNZOO_RANK_MAX: i32 = 8;

extern "C" {
    /// Bytes an element of this type takes; 0 for a number that is no element type.
    pub fn attnzoo_dtype_size(dtype: i32) -> i64;
    /// The name of an element type, such as "float32"; "unknown" for a number that is none.
    pub fn attnzoo_dtype_name(dtype: i32) -> *const c_char;
    /// Makes a view of memory that may be read and written.
    pub fn attnzoo_tensor_create(
        tensor: *mut *mut attnzoo_tensor,
        data: *mut c_void,
        dtype: i32,
        rank: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> attnzoo_status;
    /// Makes a view of memory that is only read.
    pub fn attnzoo_tensor_create_readonly(
        tensor: *mut *mut attnzoo_tensor,
        data: *const c_void,
        dtype: i32,
        rank: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> attnzoo_status;
    /// Frees a view, not the memory it shows.
    pub fn attnzoo_tensor_destroy(tensor: *mut attnzoo_tensor);
    /// Describes an existing view anew, in all its parts, without allocating.
    pub fn attnzoo_tensor_assign(
        tensor: *mut attnzoo_tensor,
        data: *mut c_void,
        dtype: i32,
        rank: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> attnzoo_status;
    /// As attnzoo_tensor_assign(), for memory that is only read.
    pub fn attnzoo_tensor_assign_readonly(
        tensor: *mut attnzoo_tensor,
        data: *const c_void,
        dtype: i32,
        rank: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> attnzoo_status;
    /// Points a view at other memory of the same type, shape and strides, without allocating.
    pub fn attnzoo_tensor_set_data(tensor: *mut attnzoo_tensor, data: *mut c_void) -> attnzoo_status;
    /// As attnzoo_tensor_set_data(), for memory that is only read.
    pub fn attnzoo_tensor_set_readonly_data(tensor: *mut attnzoo_tensor, data: *const c_void) -> attnzoo_status;
    /// The element type, an ATTNZOO_DTYPE_ number; 0 if tensor is NULL.
    pub fn attnzoo_tensor_dtype(tensor: *const attnzoo_tensor) -> i32;
    /// The number of axes; 0 if tensor is NULL.
    pub fn attnzoo_tensor_rank(tensor: *const attnzoo_tensor) -> i32;
    /// The size of an axis, 0 the outermost; -1 if tensor is NULL or has no such axis.
    pub fn attnzoo_tensor_size(tensor: *const attnzoo_tensor, axis: i32) -> i64;
    /// The stride of an axis in elements; 0 if tensor is NULL or has no such axis.
    pub fn attnzoo_tensor_stride(tensor: *const attnzoo_tensor, axis: i32) -> i64;
    /// How many elements the view has, the product of its sizes; 0 if tensor is NULL.
    pub fn attnzoo_tensor_element_count(tensor: *const attnzoo_tensor) -> i64;
    /// The memory that the view shows, at index 0 of every axis; NULL if tensor is NULL.
    pub fn attnzoo_tensor_data(tensor: *const attnzoo_tensor) -> *const c_void;
}

// attnzoo/mask.h

opaque! {
    /// Constraints on what may be seen, and biases on scores.
    attnzoo_mask
}

// Where the queries' positions start.

/// offset = M - N: the last query stands at the last key.
pub const ATTNZOO_ALIGNMENT_BOTTOM_RIGHT: i32 = 0;
/// offset = 0: the first query stands at the first key.
pub const ATTNZOO_ALIGNMENT_TOP_LEFT: i32 = 1;
/// offset = key length - query length of each batch (M and N where no lengths are set).
pub const ATTNZOO_ALIGNMENT_LENGTHS: i32 = 2;

extern "C" {
    /// Makes a mask that hides nothing.
    pub fn attnzoo_mask_create(mask: *mut *mut attnzoo_mask) -> attnzoo_status;
    /// Frees a mask.
    pub fn attnzoo_mask_destroy(mask: *mut attnzoo_mask);
    /// Causal: query i sees key j only if j <= p(i).
    pub fn attnzoo_mask_set_causal(mask: *mut attnzoo_mask, enabled: i32) -> attnzoo_status;
    /// Sliding window: query i sees key j only if p(i) - left <= j <= p(i) + right.
    pub fn attnzoo_mask_set_window(mask: *mut attnzoo_mask, left: i64, right: i64) -> attnzoo_status;
    /// Says where the queries' positions start, and drops any explicit offset set before.
    pub fn attnzoo_mask_set_alignment(mask: *mut attnzoo_mask, alignment: i32) -> attnzoo_status;
    /// Sets the offset itself, one for every batch: query i stands at offset + i.
    pub fn attnzoo_mask_set_query_offset(mask: *mut attnzoo_mask, offset: i64) -> attnzoo_status;
    /// Sets the offset of each batch.
    pub fn attnzoo_mask_set_query_offsets(mask: *mut attnzoo_mask, offsets: *const attnzoo_tensor) -> attnzoo_status;
    /// Key lengths: in batch b only keys j < lengths`[b]` are seen; nothing beyond is read.
    pub fn attnzoo_mask_set_key_lengths(mask: *mut attnzoo_mask, lengths: *const attnzoo_tensor) -> attnzoo_status;
    /// Query lengths: in batch b queries i >= lengths`[b]` see nothing, so their context and attention are 0.
    pub fn attnzoo_mask_set_query_lengths(mask: *mut attnzoo_mask, lengths: *const attnzoo_tensor) -> attnzoo_status;
    /// Dense boolean mask: TRUE MEANS ATTEND.
    pub fn attnzoo_mask_set_boolean(mask: *mut attnzoo_mask, allowed: *const attnzoo_tensor) -> attnzoo_status;
    /// Dense additive bias: added to the scores after scale and softcap. -infinity hides the key.
    pub fn attnzoo_mask_set_bias(mask: *mut attnzoo_mask, bias: *const attnzoo_tensor) -> attnzoo_status;
    /// Linear bias by distance (ALiBi; Press et al. 2022, arXiv 2108.12409): adds -slopes`[h]` * |p(i) - j|.
    pub fn attnzoo_mask_set_linear_bias(mask: *mut attnzoo_mask, slopes: *const attnzoo_tensor) -> attnzoo_status;
    /// Segments, for several sequences packed into one: a query sees only keys with its own segment id.
    pub fn attnzoo_mask_set_segments(mask: *mut attnzoo_mask, ids: *const attnzoo_tensor) -> attnzoo_status;
}

// attnzoo/executor.h

opaque! {
    /// Threads and scratch memory.
    attnzoo_executor
}

extern "C" {
    /// Makes an executor.
    pub fn attnzoo_executor_create(executor: *mut *mut attnzoo_executor, thread_count: i32) -> attnzoo_status;
    /// Ends the threads and frees the executor.
    pub fn attnzoo_executor_destroy(executor: *mut attnzoo_executor);
    /// How many threads work on a call, the calling one included; 0 if executor is NULL.
    pub fn attnzoo_executor_thread_count(executor: *const attnzoo_executor) -> i32;
}

// attnzoo/module.h

opaque! {
    /// A mechanism, its options and its parameters.
    attnzoo_module
}

opaque! {
    /// What a mechanism carries from one call to the next; see attnzoo/state.h.
    attnzoo_state
}

// Places of the inputs in attnzoo_module_forward_slots().

/// The queries.
pub const ATTNZOO_INPUT_QUERY: i32 = 0;
/// The keys.
pub const ATTNZOO_INPUT_KEY: i32 = 1;
/// The values.
pub const ATTNZOO_INPUT_VALUE: i32 = 2;
/// relative_multi_head, flavor=transformer_xl: the table of positions, `[P, E]` or `[B, P, E]`.
pub const ATTNZOO_INPUT_POSITION: i32 = 3;
/// multi_head with rotary positions: where each query of the call stands, integers `[B, N]`.
pub const ATTNZOO_INPUT_QUERY_POSITIONS: i32 = 4;
/// The same for its keys, integers `[B, M]`.
pub const ATTNZOO_INPUT_KEY_POSITIONS: i32 = 5;
/// hard, select=sample: one integer, `[1]`, which tells what is drawn.
pub const ATTNZOO_INPUT_SEED: i32 = 6;

// Places of the outputs in attnzoo_module_forward_slots().

/// The values summed by the attention.
pub const ATTNZOO_OUTPUT_CONTEXT: i32 = 0;
/// The weights of the keys, a row a query.
pub const ATTNZOO_OUTPUT_ATTENTION: i32 = 1;
/// The natural logarithm of the sum of exp(score) over the keys that a query sees.
pub const ATTNZOO_OUTPUT_LOG_SUM_EXP: i32 = 2;
/// hard: the number of the key that was chosen, integers.
pub const ATTNZOO_OUTPUT_INDEX: i32 = 3;
/// hard: the natural logarithm of the probability that the key had which was chosen.
pub const ATTNZOO_OUTPUT_LOG_PROBABILITY: i32 = 4;
/// hard: the entropy of the probabilities that the key was chosen by, in nats.
pub const ATTNZOO_OUTPUT_ENTROPY: i32 = 5;

extern "C" {
    /// Makes a module with the default options and no parameters.
    pub fn attnzoo_module_create(module: *mut *mut attnzoo_module, mechanism: *const c_char) -> attnzoo_status;
    /// Frees a module.
    pub fn attnzoo_module_destroy(module: *mut attnzoo_module);
    /// The name of the module's mechanism, a static string; NULL if module is NULL.
    pub fn attnzoo_module_mechanism(module: *const attnzoo_module) -> *const c_char;
    /// Sets an option from text, whatever its type: "8", "0.125", "true", "shaw".
    pub fn attnzoo_module_set_option_text(
        module: *mut attnzoo_module,
        name: *const c_char,
        value: *const c_char,
    ) -> attnzoo_status;
    /// Sets an option whose type is float.
    pub fn attnzoo_module_set_option_float(
        module: *mut attnzoo_module,
        name: *const c_char,
        value: c_double,
    ) -> attnzoo_status;
    /// Sets an option whose type is int.
    pub fn attnzoo_module_set_option_int(
        module: *mut attnzoo_module,
        name: *const c_char,
        value: i64,
    ) -> attnzoo_status;
    /// Sets an option whose type is bool, to 0 or 1.
    pub fn attnzoo_module_set_option_bool(
        module: *mut attnzoo_module,
        name: *const c_char,
        value: i32,
    ) -> attnzoo_status;
    /// Copies a parameter into the module, replacing what was set for that name before.
    pub fn attnzoo_module_set_parameter(
        module: *mut attnzoo_module,
        name: *const c_char,
        parameter: *const attnzoo_tensor,
    ) -> attnzoo_status;
    /// Checks options and parameters together and makes the module ready to run.
    pub fn attnzoo_module_prepare(module: *mut attnzoo_module) -> attnzoo_status;
    /// Tells the shape that an output would have, so that memory for it can be had.
    pub fn attnzoo_module_output_shape(
        module: *const attnzoo_module,
        inputs: *const *const attnzoo_tensor,
        input_count: i32,
        state: *const attnzoo_state,
        output: i32,
        rank: *mut i32,
        shape: *mut i64,
    ) -> attnzoo_status;
    /// Computes attention: for each query, the keys' scores, their softmax over the keys that may be seen (the
    /// attention), and the values summed by it (the context).
    pub fn attnzoo_module_forward(
        module: *const attnzoo_module,
        executor: *mut attnzoo_executor,
        query: *const attnzoo_tensor,
        key: *const attnzoo_tensor,
        value: *const attnzoo_tensor,
        mask: *const attnzoo_mask,
        state: *mut attnzoo_state,
        context: *mut attnzoo_tensor,
        attention: *mut attnzoo_tensor,
    ) -> attnzoo_status;
    /// As attnzoo_module_forward(), with inputs and outputs by place, for those beyond query, key, value, context
    /// and attention. scaled_dot_product has one more output, ATTNZOO_OUTPUT_LOG_SUM_EXP: `[B, H, N]`, float32.
    /// relative_multi_head with flavor=transformer_xl has one more input, ATTNZOO_INPUT_POSITION.
    pub fn attnzoo_module_forward_slots(
        module: *const attnzoo_module,
        executor: *mut attnzoo_executor,
        inputs: *const *const attnzoo_tensor,
        input_count: i32,
        mask: *const attnzoo_mask,
        state: *mut attnzoo_state,
        outputs: *const *mut attnzoo_tensor,
        output_count: i32,
    ) -> attnzoo_status;
}

// attnzoo/state.h

extern "C" {
    /// Makes an empty state for calls of a prepared module.
    pub fn attnzoo_state_create(
        state: *mut *mut attnzoo_state,
        module: *const attnzoo_module,
        batch: i64,
        capacity: i64,
    ) -> attnzoo_status;
    /// Frees a state.
    pub fn attnzoo_state_destroy(state: *mut attnzoo_state);
    /// Empties a state, as though it were new.
    pub fn attnzoo_state_reset(state: *mut attnzoo_state) -> attnzoo_status;
    /// Forgets all keys of a cache from number length on, for instance after a rejected draft of tokens.
    pub fn attnzoo_state_truncate(state: *mut attnzoo_state, length: i64) -> attnzoo_status;
    /// Makes destination hold what source holds, without allocating.
    pub fn attnzoo_state_copy(destination: *mut attnzoo_state, source: *const attnzoo_state) -> attnzoo_status;
    /// How many keys the state holds: T of a cache, M of an alignment, 0 when empty; -1 for NULL.
    pub fn attnzoo_state_length(state: *const attnzoo_state) -> i64;
    /// The most keys the state can hold; -1 for NULL.
    pub fn attnzoo_state_capacity(state: *const attnzoo_state) -> i64;
    /// B of the calls that the state serves; -1 for NULL.
    pub fn attnzoo_state_batch(state: *const attnzoo_state) -> i64;
    /// The shape of a field as it is now, with the state's length for T or M.
    pub fn attnzoo_state_field_shape(
        state: *const attnzoo_state,
        field: i32,
        rank: *mut i32,
        shape: *mut i64,
    ) -> attnzoo_status;
    /// Copies a field out.
    pub fn attnzoo_state_get_field(
        state: *const attnzoo_state,
        field: i32,
        values: *mut attnzoo_tensor,
    ) -> attnzoo_status;
    /// Replaces what the state holds, all fields at once.
    pub fn attnzoo_state_set_fields(
        state: *mut attnzoo_state,
        fields: *const *const attnzoo_tensor,
        field_count: i32,
    ) -> attnzoo_status;
}

// attnzoo/introspection.h

// Kinds of things that can be described.

/// The mechanism itself: one item, with NAME, SUMMARY, FORMULA and SOURCE.
pub const ATTNZOO_ITEM_MECHANISM: i32 = 0;
/// Options: NAME, SUMMARY, TYPE, DEFAULT, BOUNDS.
pub const ATTNZOO_ITEM_OPTION: i32 = 1;
/// Parameters (weights): NAME, SUMMARY, SHAPE, REQUIRED.
pub const ATTNZOO_ITEM_PARAMETER: i32 = 2;
/// Inputs by ATTNZOO_INPUT_ place: NAME, SUMMARY, SHAPE, REQUIRED, TYPE.
pub const ATTNZOO_ITEM_INPUT: i32 = 3;
/// Outputs by ATTNZOO_OUTPUT_ place: NAME, SUMMARY, SHAPE, REQUIRED, TYPE.
pub const ATTNZOO_ITEM_OUTPUT: i32 = 4;
/// What the mechanism's states hold, by field number: NAME, SUMMARY, SHAPE, REQUIRED, TYPE.
pub const ATTNZOO_ITEM_STATE: i32 = 5;

// What can be asked of a thing.

/// What it is called.
pub const ATTNZOO_FIELD_NAME: i32 = 0;
/// One line of English.
pub const ATTNZOO_FIELD_SUMMARY: i32 = 1;
/// An option's type: "float", "int", "bool" or "choice". Of an input, output or state: "float" for float32, float16 or
/// bfloat16, "integer" for int32 or int64.
pub const ATTNZOO_FIELD_TYPE: i32 = 2;
/// An option's default, as text; a formula such as "1/sqrt(D)" where it follows from the inputs.
pub const ATTNZOO_FIELD_DEFAULT: i32 = 3;
/// What values an option takes, such as ">= 0", or its choices with "|" between them.
pub const ATTNZOO_FIELD_BOUNDS: i32 = 4;
/// A shape, such as "`[B, H, N, D]`".
pub const ATTNZOO_FIELD_SHAPE: i32 = 5;
/// "yes" or "no".
pub const ATTNZOO_FIELD_REQUIRED: i32 = 6;
/// The papers that a mechanism comes from.
pub const ATTNZOO_FIELD_SOURCE: i32 = 7;
/// What a mechanism computes, as a formula in plain text.
pub const ATTNZOO_FIELD_FORMULA: i32 = 8;

extern "C" {
    /// How many mechanisms the library has.
    pub fn attnzoo_mechanism_count() -> i32;
    /// The name of a mechanism, 0 the first; NULL if index is out of range.
    pub fn attnzoo_mechanism_name(index: i32) -> *const c_char;
    /// How many items of a kind a mechanism has: ATTNZOO_ITEM_OPTION gives its number of options, and so on.
    pub fn attnzoo_item_count(mechanism: *const c_char, item: i32) -> i32;
    /// One field of one item of a mechanism, as text.
    pub fn attnzoo_item_text(mechanism: *const c_char, item: i32, index: i32, field: i32) -> *const c_char;
}

// attnzoo/merge.h

extern "C" {
    /// Merges two partial contexts of the same queries over two disjoint sets of keys, so that keys may be split
    /// over calls or machines and put together exactly.
    pub fn attnzoo_merge_contexts(
        context_a: *const attnzoo_tensor,
        log_sum_exp_a: *const attnzoo_tensor,
        context_b: *const attnzoo_tensor,
        log_sum_exp_b: *const attnzoo_tensor,
        context: *mut attnzoo_tensor,
        log_sum_exp: *mut attnzoo_tensor,
    ) -> attnzoo_status;
}

// attnzoo/position.h

// How the columns of a sinusoidal table are arranged.

/// Column 2i is sin, column 2i + 1 is cos (Vaswani et al. 2017, section 3.5).
pub const ATTNZOO_SINUSOID_INTERLEAVED: i32 = 0;
/// All sines come first, then all cosines (the code of Dai et al. 2019).
pub const ATTNZOO_SINUSOID_HALVES: i32 = 1;

extern "C" {
    /// Fills a table with the sinusoids of positions (Vaswani et al. 2017, arXiv 1706.03762, section 3.5).
    pub fn attnzoo_fill_sinusoidal_positions(
        table: *mut attnzoo_tensor,
        first: i64,
        step: i64,
        arrangement: i32,
    ) -> attnzoo_status;
}

// attnzoo/glimpse.h

// Numbers in the place of a letter's index.

/// No letter of the alphabet: its one-hot row, or its embedding, is all zero.
pub const ATTNZOO_GLIMPSE_NO_LETTER: i32 = -1;
/// As the rule for letters that the alphabet does not have: they are an error.
pub const ATTNZOO_GLIMPSE_REFUSE_LETTER: i32 = -2;

// What becomes of tiles that do not fit within the input.

/// They are dropped: every tile lies within the input.
pub const ATTNZOO_GLIMPSE_EDGE_DROP: i32 = 0;
/// They are padded: tiles go on until one reaches the input's last element.
pub const ATTNZOO_GLIMPSE_EDGE_PAD: i32 = 1;

// What bounds tiles.

/// The most axes that are cut.
pub const ATTNZOO_GLIMPSE_AXES_MAX: i32 = 3;

extern "C" {
    /// Counts the letters of a text in UTF-8: its Unicode code points.
    pub fn attnzoo_glimpse_letter_count(text: *const c_char, size: i64, count: *mut i64) -> attnzoo_status;

    /// Turns a text into indices into an alphabet and one-hot rows.
    pub fn attnzoo_glimpse_letters(
        text: *const c_char,
        size: i64,
        alphabet: *const c_char,
        alphabet_size: i64,
        other: i64,
        indices: *mut attnzoo_tensor,
        one_hot: *mut attnzoo_tensor,
    ) -> attnzoo_status;

    /// Gathers the rows of an embedding table.
    pub fn attnzoo_glimpse_embedding(
        indices: *const attnzoo_tensor,
        table: *const attnzoo_tensor,
        glimpses: *mut attnzoo_tensor,
    ) -> attnzoo_status;

    /// Counts the tiles along one axis.
    pub fn attnzoo_glimpse_tile_count(size: i64, tile: i64, step: i64, edge: i32, count: *mut i64) -> attnzoo_status;

    /// Makes a view that shows all tiles of an input where they lie.
    pub fn attnzoo_glimpse_tile_view(
        view: *mut *mut attnzoo_tensor,
        input: *const attnzoo_tensor,
        axis_count: i32,
        tile: *const i64,
        step: *const i64,
    ) -> attnzoo_status;

    /// Makes a view of the same elements as [N, E] or [B, N, E], where strides can do that.
    pub fn attnzoo_glimpse_flat_view(
        view: *mut *mut attnzoo_tensor,
        input: *const attnzoo_tensor,
        batch_axes: i32,
        glimpse_axes: i32,
    ) -> attnzoo_status;

    /// Copies tiles into glimpses.
    pub fn attnzoo_glimpse_tiles(
        input: *const attnzoo_tensor,
        axis_count: i32,
        tile: *const i64,
        step: *const i64,
        edge: i32,
        padding: c_double,
        glimpses: *mut attnzoo_tensor,
    ) -> attnzoo_status;

    /// Puts glimpses back in the places of their tiles.
    pub fn attnzoo_glimpse_untile(
        glimpses: *const attnzoo_tensor,
        axis_count: i32,
        tile: *const i64,
        step: *const i64,
        edge: i32,
        output: *mut attnzoo_tensor,
    ) -> attnzoo_status;
}
