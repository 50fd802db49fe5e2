//! Attention from Rust, with nothing but the installed library and std.
//!
//! Computes scaled dot-product attention with a causal mask and key lengths, compares it with a plain computation in
//! double, and reads the message of a call that must fail. The numbers below are those of the public header.

use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_double, c_void};
use std::ptr::{null, null_mut};

const STATUS_OK: i32 = 0;
const STATUS_SHAPE_MISMATCH: i32 = 2;
const DTYPE_FLOAT32: i32 = 1;
const DTYPE_INT64: i32 = 6;

const BATCH: usize = 2;
const HEADS: usize = 2;
const QUERIES: usize = 4;
const KEYS: usize = 5;
const HEAD_SIZE: usize = 3;
const VALUE_SIZE: usize = 2;
const KEY_LENGTHS: [i64; BATCH] = [5, 3];
const SCALE: f64 = 0.75;

/// Declares opaque handles: types that only the library can look into.
macro_rules! handles {
    ($($name:ident),*) => { $(#[repr(C)] pub struct $name { _private: [u8; 0] })* };
}
handles!(Module, Mask, Tensor, State, Executor);

extern "C" {
    fn attnzoo_last_error() -> *const c_char;
    fn attnzoo_version_string() -> *const c_char;
    fn attnzoo_module_create(module: *mut *mut Module, mechanism: *const c_char) -> i32;
    fn attnzoo_module_set_option_float(module: *mut Module, name: *const c_char, value: c_double) -> i32;
    fn attnzoo_module_prepare(module: *mut Module) -> i32;
    fn attnzoo_module_forward(
        module: *const Module,
        executor: *mut Executor,
        query: *const Tensor,
        key: *const Tensor,
        value: *const Tensor,
        mask: *const Mask,
        state: *mut State,
        context: *mut Tensor,
        attention: *mut Tensor,
    ) -> i32;
    fn attnzoo_module_destroy(module: *mut Module);
    fn attnzoo_executor_create(executor: *mut *mut Executor, thread_count: i32) -> i32;
    fn attnzoo_executor_destroy(executor: *mut Executor);
    fn attnzoo_mask_create(mask: *mut *mut Mask) -> i32;
    fn attnzoo_mask_set_causal(mask: *mut Mask, enabled: i32) -> i32;
    fn attnzoo_mask_set_key_lengths(mask: *mut Mask, lengths: *const Tensor) -> i32;
    fn attnzoo_mask_destroy(mask: *mut Mask);
    fn attnzoo_tensor_create(
        tensor: *mut *mut Tensor,
        data: *mut c_void,
        dtype: i32,
        rank: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> i32;
    fn attnzoo_tensor_create_readonly(
        tensor: *mut *mut Tensor,
        data: *const c_void,
        dtype: i32,
        rank: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> i32;
    fn attnzoo_tensor_destroy(tensor: *mut Tensor);
}

fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn last_error() -> String {
    text(unsafe { attnzoo_last_error() })
}

fn expect(got: i32, wanted: i32) {
    assert_eq!(got, wanted, "{}", last_error());
}

fn read_view<T>(memory: &[T], dtype: i32, shape: &[usize]) -> *mut Tensor {
    assert_eq!(memory.len(), shape.iter().product::<usize>());
    let sizes: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
    let mut view = null_mut();
    let status = unsafe {
        attnzoo_tensor_create_readonly(
            &mut view,
            memory.as_ptr().cast(),
            dtype,
            sizes.len() as i32,
            sizes.as_ptr(),
            null(),
        )
    };
    expect(status, STATUS_OK);
    view
}

/// Some floats that look irregular.
fn numbers(count: usize, seed: f64) -> Vec<f32> {
    (0..count).map(|i| (seed + 1.7 * i as f64).sin() as f32).collect()
}

/// Causal attention, the last query standing at the last key, over each batch's first keys, in double.
fn plain_attention(query: &[f32], key: &[f32], value: &[f32]) -> Vec<f64> {
    let mut context = Vec::new();
    for batch_head in 0..BATCH * HEADS {
        let keys = &key[batch_head * KEYS * HEAD_SIZE..];
        let values = &value[batch_head * KEYS * VALUE_SIZE..];
        for i in 0..QUERIES {
            let q = &query[(batch_head * QUERIES + i) * HEAD_SIZE..][..HEAD_SIZE];
            let seen = (KEYS - QUERIES + i + 1).min(KEY_LENGTHS[batch_head / HEADS] as usize);
            let weight = |j: usize| {
                let k = &keys[j * HEAD_SIZE..][..HEAD_SIZE];
                (SCALE * q.iter().zip(k).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>()).exp()
            };
            let sum: f64 = (0..seen).map(weight).sum();
            for d in 0..VALUE_SIZE {
                let total: f64 = (0..seen).map(|j| weight(j) * f64::from(values[j * VALUE_SIZE + d])).sum();
                context.push(total / sum);
            }
        }
    }
    context
}

fn main() {
    let query = numbers(BATCH * HEADS * QUERIES * HEAD_SIZE, 1.0);
    let key = numbers(BATCH * HEADS * KEYS * HEAD_SIZE, 2.0);
    let value = numbers(BATCH * HEADS * KEYS * VALUE_SIZE, 3.0);
    let mut context = vec![0.0_f32; BATCH * HEADS * QUERIES * VALUE_SIZE];

    let query_view = read_view(&query, DTYPE_FLOAT32, &[BATCH, HEADS, QUERIES, HEAD_SIZE]);
    let key_view = read_view(&key, DTYPE_FLOAT32, &[BATCH, HEADS, KEYS, HEAD_SIZE]);
    let value_view = read_view(&value, DTYPE_FLOAT32, &[BATCH, HEADS, KEYS, VALUE_SIZE]);
    let lengths_view = read_view(&KEY_LENGTHS, DTYPE_INT64, &[BATCH]);
    let context_shape = [BATCH as i64, HEADS as i64, QUERIES as i64, VALUE_SIZE as i64];
    let mechanism = CString::new("scaled_dot_product").unwrap();
    let option = CString::new("scale").unwrap();

    unsafe {
        let (mut module, mut mask, mut executor, mut context_view) = (null_mut(), null_mut(), null_mut(), null_mut());
        expect(attnzoo_module_create(&mut module, mechanism.as_ptr()), STATUS_OK);
        expect(attnzoo_module_set_option_float(module, option.as_ptr(), SCALE), STATUS_OK);
        expect(attnzoo_module_prepare(module), STATUS_OK);
        expect(attnzoo_executor_create(&mut executor, 2), STATUS_OK);
        expect(attnzoo_mask_create(&mut mask), STATUS_OK);
        expect(attnzoo_mask_set_causal(mask, 1), STATUS_OK);
        expect(attnzoo_mask_set_key_lengths(mask, lengths_view), STATUS_OK);
        let memory = context.as_mut_ptr().cast();
        let status =
            attnzoo_tensor_create(&mut context_view, memory, DTYPE_FLOAT32, 4, context_shape.as_ptr(), null());
        expect(status, STATUS_OK);

        let forward = |keys: *const Tensor| {
            attnzoo_module_forward(
                module,
                executor,
                query_view,
                keys,
                value_view,
                mask,
                null_mut(),
                context_view,
                null_mut(),
            )
        };
        // The value's rows are of another size than the query's.
        expect(forward(value_view), STATUS_SHAPE_MISMATCH);
        let message = last_error();
        assert!(message.contains("key"), "the message does not name the key: {}", message);
        expect(forward(key_view), STATUS_OK);

        for view in [query_view, key_view, value_view, lengths_view, context_view] {
            attnzoo_tensor_destroy(view);
        }
        attnzoo_mask_destroy(mask);
        attnzoo_executor_destroy(executor);
        attnzoo_module_destroy(module);

        let expected = plain_attention(&query, &key, &value);
        assert_eq!(expected.len(), context.len());
        let errors: Vec<f64> = context.iter().zip(&expected).map(|(&a, &b)| (f64::from(a) - b).abs()).collect();
        assert!(errors.iter().all(|&error| error < 2e-6), "off by {:?}", errors);
        let error = errors.into_iter().fold(0.0, f64::max);
        println!("Rust, libattnzoo {}: error {:.1e}; refused: {}", text(attnzoo_version_string()), error, message);
    }
}
