//! Attention mechanisms for inference on the CPU, through libattnzoo.
//!
//! A [`Module`] is a mechanism with its options and parameters; a [`Tensor`] or [`TensorMut`] shows it a slice; a
//! [`Mask`] says which keys a query may see. All mechanisms are called alike: query, key and value go in, the context
//! comes out.
//!
//! ```
//! use attnzoo::{Mask, Module, Tensor};
//!
//! # fn main() -> Result<(), attnzoo::Error> {
//! let tokens = [1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0]; // three tokens of two features
//! let values = [10.0_f32, 0.0, 0.0, 10.0, 5.0, 5.0];
//! let (tokens, values) = (Tensor::new(&tokens, &[3, 2])?, Tensor::new(&values, &[3, 2])?);
//!
//! let module = Module::builder("scaled_dot_product")?.prepare()?;
//! let mut mask = Mask::new()?;
//! mask.set_causal(true)?;
//! let context = module.forward(tokens, tokens, values).mask(&mask).into_vec()?;
//! assert_eq!(context[..2], [10.0, 0.0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Shapes
//! B batch, H query heads, G key/value heads, N queries, M keys, D head size of query and key, Dv of value, E model
//! size. Row-major unless strides say otherwise. Leading axes of size 1 may be left out.
//!
//! # Threads
//! Everything here may be sent to another thread and shared between threads. What changes a thing takes it by `&mut`, so
//! that the compiler sees to it that nobody else uses it meanwhile; a [`Module`] never changes, and an [`Executor`] may
//! be shared, calls on it then take turns.
//!
//! # Errors
//! Nothing here panics on what a caller may get wrong: an [`Error`] has a [`Status`] and a line of English. After an
//! error nothing was changed and no output was written.

#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs, missing_debug_implementations, clippy::undocumented_unsafe_blocks)]

mod element;
mod error;
mod executor;
mod forward;
mod glimpse;
mod introspection;
mod mask;
mod merge;
mod module;
mod position;
mod state;
mod tensor;
mod utterance;
mod view;

pub use element::{Bf16, DataType, Element, Float, Output, F16};
pub use error::{Error, Result, Status};
pub use executor::Executor;
pub use forward::Forward;
pub use glimpse::{
    glimpse_embedding, glimpse_flat_view, glimpse_letters, glimpse_tile_count, glimpse_tile_view, glimpse_tiles,
    glimpse_untile, Edge, OtherLetter, NO_LETTER,
};
pub use introspection::{mechanisms, Item, Mechanism, OptionItem};
pub use mask::{Alignment, Mask, MaskPart};
pub use merge::{merge_context_into, merge_contexts};
pub use module::{Module, ModuleBuilder, OptionValue};
pub use position::{fill_sinusoidal_positions, Sinusoid};
pub use state::State;
pub use tensor::{Tensor, TensorMut};
pub use utterance::Utterance;

use attnzoo_sys as sys;

/// The version of the library that runs, such as "1.0.0".
pub fn version() -> &'static str {
    // SAFETY: the function takes nothing and returns a static string.
    unsafe { error::static_text(sys::attnzoo_version_string()) }.unwrap_or("")
}

/// The version of the library that runs, major * 10000 + minor * 100 + patch.
pub fn version_number() -> i32 {
    // SAFETY: the function takes nothing.
    unsafe { sys::attnzoo_version_number() }
}

/// How the library was built and what it runs on, in one line for people and bug reports.
pub fn build_information() -> &'static str {
    // SAFETY: the function takes nothing and returns a static string.
    unsafe { error::static_text(sys::attnzoo_build_information()) }.unwrap_or("")
}

/// What is said should the library ever report success and hand out nothing.
fn missing_handle() -> Error {
    Error::new(Status::BadState, "the library made nothing, and reported no error".into())
}

/// A number as the library takes it.
fn to_i64(name: &str, number: usize) -> Result<i64> {
    i64::try_from(number).map_err(|_| Error::invalid(format!("{} is {}, which passes 63 bits", name, number)))
}

/// Fetches a shape by a function that writes a rank and as many sizes as a view can have.
fn fetch_shape(fetch: impl FnOnce(*mut i32, *mut i64) -> sys::attnzoo_status) -> Result<Vec<usize>> {
    let mut rank = 0;
    let mut shape = [0_i64; sys::ATTNZOO_RANK_MAX as usize];
    error::check(fetch(&mut rank, shape.as_mut_ptr()))?;
    let rank = usize::try_from(rank).unwrap_or(0).min(shape.len());
    Ok(shape[..rank].iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect())
}

/// Everything may be sent and shared: the library ties nothing to a thread, and what changes a thing takes `&mut`.
#[allow(dead_code)]
fn assert_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<Module>();
    check::<ModuleBuilder>();
    check::<Mask<'_>>();
    check::<Tensor<'_>>();
    check::<TensorMut<'_>>();
    check::<State>();
    check::<Utterance<'_>>();
    check::<Executor>();
    check::<Forward<'_>>();
    check::<Mechanism>();
    check::<Error>();
}
