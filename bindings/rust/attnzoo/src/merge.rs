//! Putting together attention that was computed over parts of the keys.

use std::ptr::null_mut;

use attnzoo_sys as sys;

use crate::error::{check, Result};
use crate::tensor::{Tensor, TensorMut};
use crate::view::Handle;

/// Merges the contexts of the same queries over two disjoint sets of keys, each with the log-sum-exp that
/// [`Forward::log_sum_exp`](crate::Forward::log_sum_exp) gives. What comes out is as if all keys had been there at once.
///
/// Each part is a context `[..., Dv]` and its log-sum-exp `[...]`, `f32`; a part with log-sum-exp -infinity saw no key
/// and counts for nothing. (Milakov and Gimelshein 2018, arXiv 1805.02867; Rabe and Staats 2021, arXiv 2112.05682.)
///
/// ```
/// use attnzoo::{merge_contexts, Tensor, TensorMut};
///
/// let (one, other, weight) = ([2.0_f32], [4.0_f32], [0.0_f32]); // both parts weigh exp(0)
/// let mut context = [0.0_f32];
/// let weight = Tensor::new(&weight, &[1])?;
/// merge_contexts(
///     (Tensor::new(&one, &[1, 1])?, weight),
///     (Tensor::new(&other, &[1, 1])?, weight),
///     &mut TensorMut::new(&mut context, &[1, 1])?,
///     None,
/// )?;
/// assert_eq!(context, [3.0]);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// # Errors
/// [`Status::ShapeMismatch`](crate::Status::ShapeMismatch), [`Status::DtypeMismatch`](crate::Status::DtypeMismatch);
/// [`Status::Overlap`](crate::Status::Overlap): strides that lead to one element twice. Then nothing was written.
pub fn merge_contexts(
    a: (Tensor<'_>, Tensor<'_>),
    b: (Tensor<'_>, Tensor<'_>),
    context: &mut TensorMut<'_>,
    log_sum_exp: Option<&mut TensorMut<'_>>,
) -> Result<()> {
    let (context, log_sum_exp) = (context.handle_mut()?, log_sum_exp.map(TensorMut::handle_mut).transpose()?);
    merge((&a.0.handle()?, &a.1.handle()?), b, &context, log_sum_exp.as_ref())
}

/// As [`merge_contexts`], in place: `context` and `log_sum_exp` are one of the parts, and become the whole.
///
/// # Errors
/// As [`merge_contexts`].
pub fn merge_context_into(
    context: &mut TensorMut<'_>,
    log_sum_exp: &mut TensorMut<'_>,
    part: (Tensor<'_>, Tensor<'_>),
) -> Result<()> {
    let (context, log_sum_exp) = (context.handle_mut()?, log_sum_exp.handle_mut()?);
    merge((&context, &log_sum_exp), part, &context, Some(&log_sum_exp))
}

fn merge(
    a: (&Handle, &Handle),
    b: (Tensor<'_>, Tensor<'_>),
    context: &Handle,
    log_sum_exp: Option<&Handle>,
) -> Result<()> {
    let (context_b, log_sum_exp_b) = (b.0.handle()?, b.1.handle()?);
    // SAFETY: all are views of borrowed memory; the outputs' is mutably borrowed, and the inputs' own unless input and
    // output are one view, which the library takes.
    check(unsafe {
        sys::attnzoo_merge_contexts(
            a.0.as_ptr(),
            a.1.as_ptr(),
            context_b.as_ptr(),
            log_sum_exp_b.as_ptr(),
            context.as_ptr(),
            log_sum_exp.map_or(null_mut(), Handle::as_ptr),
        )
    })
}
