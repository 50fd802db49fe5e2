//! Tables of positions.

use attnzoo_sys as sys;

use crate::error::{check, Result};
use crate::tensor::TensorMut;

/// How the columns of a sinusoidal table are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sinusoid {
    /// Column 2i is sin, column 2i + 1 is cos (Vaswani et al. 2017, section 3.5).
    Interleaved,
    /// All sines come first, then all cosines (the code of Dai et al. 2019).
    Halves,
}

/// Fills a table `[P, E]` or `[B, P, E]` with the sinusoids of positions: row p stands for `first` + p `step`.
///
/// `relative_multi_head` with flavor=transformer_xl wants `first` = M - 1 and `step` = -1, with P = M + N - 1 rows.
///
/// ```
/// use attnzoo::{fill_sinusoidal_positions, Sinusoid, TensorMut};
///
/// let mut table = [0.0_f32; 8];
/// fill_sinusoidal_positions(&mut TensorMut::new(&mut table, &[2, 4])?, 1, -1, Sinusoid::Halves)?;
/// assert_eq!(table[4..], [0.0, 0.0, 1.0, 1.0]); // row 1 stands for position 0
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// # Errors
/// [`Status::ShapeMismatch`](crate::Status::ShapeMismatch): neither 2 nor 3 axes;
/// [`Status::InvalidArgument`](crate::Status::InvalidArgument): positions that pass 63 bits;
/// [`Status::Overlap`](crate::Status::Overlap): strides that lead to one element twice.
pub fn fill_sinusoidal_positions(
    table: &mut TensorMut<'_>,
    first: i64,
    step: i64,
    arrangement: Sinusoid,
) -> Result<()> {
    let arrangement = match arrangement {
        Sinusoid::Interleaved => sys::ATTNZOO_SINUSOID_INTERLEAVED,
        Sinusoid::Halves => sys::ATTNZOO_SINUSOID_HALVES,
    };
    let view = table.handle_mut()?;
    // SAFETY: the view is of mutably borrowed memory.
    check(unsafe { sys::attnzoo_fill_sinusoidal_positions(view.as_ptr(), first, step, arrangement) })
}
