//! Which keys a query may see, and biases on the scores.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::{null, null_mut, NonNull};

use attnzoo_sys as sys;

use crate::error::{check, Result};
use crate::tensor::Tensor;

/// Where the positions of the queries start: query `i` stands at offset + `i`, key `j` at `j`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Alignment {
    /// offset = M - N: the last query stands at the last key.
    #[default]
    BottomRight,
    /// offset = 0: the first query stands at the first key.
    TopLeft,
    /// offset = key length - query length of each batch (M and N where no lengths are set).
    Lengths,
}

/// The parts of a mask that are tensors, to be named when one is taken out again with [`Mask::remove`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MaskPart {
    /// [`Mask::set_query_offsets`].
    QueryOffsets,
    /// [`Mask::set_key_lengths`].
    KeyLengths,
    /// [`Mask::set_query_lengths`].
    QueryLengths,
    /// [`Mask::set_boolean`].
    Boolean,
    /// [`Mask::set_bias`].
    Bias,
    /// [`Mask::set_linear_bias`].
    LinearBias,
    /// [`Mask::set_segments`].
    Segments,
}

type Setter =
    unsafe extern "C" fn(mask: *mut sys::attnzoo_mask, tensor: *const sys::attnzoo_tensor) -> sys::attnzoo_status;

impl MaskPart {
    fn setter(self) -> Setter {
        match self {
            MaskPart::QueryOffsets => sys::attnzoo_mask_set_query_offsets,
            MaskPart::KeyLengths => sys::attnzoo_mask_set_key_lengths,
            MaskPart::QueryLengths => sys::attnzoo_mask_set_query_lengths,
            MaskPart::Boolean => sys::attnzoo_mask_set_boolean,
            MaskPart::Bias => sys::attnzoo_mask_set_bias,
            MaskPart::LinearBias => sys::attnzoo_mask_set_linear_bias,
            MaskPart::Segments => sys::attnzoo_mask_set_segments,
        }
    }
}

/// An intersection of constraints on which keys a query may see, and a sum of biases on the scores.
///
/// A new mask hides nothing; each setter sets one part, replacing what was set for it before. A query that may see no
/// key gets zeros, never NaN. Tensors are read in place when a call is made, and their shapes are checked by the call:
/// the mask borrows their memory.
///
/// ```
/// use attnzoo::{Mask, Tensor};
///
/// let key_lengths = [5_i64, 3];
/// let padding = [true, true, false, true];
/// let mut mask = Mask::new()?;
/// mask.set_causal(true)?.set_key_lengths(&key_lengths)?;
/// mask.set_boolean(Tensor::new(&padding, &[1, 1, 1, 4])?)?;
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// What a mask has borrowed must live as long as the mask:
///
/// ```compile_fail,E0597
/// # use attnzoo::Mask;
/// let mut mask = Mask::new().unwrap();
/// {
///     let key_lengths = [5_i64, 3];
///     mask.set_key_lengths(&key_lengths).unwrap();
/// }
/// mask.set_causal(true).unwrap();
/// ```
///
/// and cannot be changed meanwhile:
///
/// ```compile_fail,E0506
/// # use attnzoo::Mask;
/// let mut key_lengths = [5_i64, 3];
/// let mut mask = Mask::new().unwrap();
/// mask.set_key_lengths(&key_lengths).unwrap();
/// key_lengths[0] = 4;
/// mask.set_causal(true).unwrap();
/// ```
pub struct Mask<'a> {
    handle: NonNull<sys::attnzoo_mask>,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: the library ties a mask to no thread, and the memory that it borrows may be read by any.
unsafe impl Send for Mask<'_> {}
// SAFETY: through a shared reference a mask is only read, which the library lets many threads do at once.
unsafe impl Sync for Mask<'_> {}

impl<'a> Mask<'a> {
    /// A mask that hides nothing.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    pub fn new() -> Result<Mask<'a>> {
        let mut mask = null_mut();
        // SAFETY: `mask` is a place for a handle.
        check(unsafe { sys::attnzoo_mask_create(&mut mask) })?;
        NonNull::new(mask).map(|handle| Mask { handle, memory: PhantomData }).ok_or_else(crate::missing_handle)
    }

    /// Causal: query i sees key j only if j is not behind the query's position.
    ///
    /// # Errors
    /// None as the library is now.
    pub fn set_causal(&mut self, is_causal: bool) -> Result<&mut Self> {
        // SAFETY: the handle is this mask's own, which is borrowed mutably.
        check(unsafe { sys::attnzoo_mask_set_causal(self.handle.as_ptr(), i32::from(is_causal)) })?;
        Ok(self)
    }

    /// Sliding window: a query sees so many positions before and after its own, and its own; none for no limit on that
    /// side. (Beltagy et al. 2020, arXiv 2004.05150.)
    ///
    /// # Errors
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument): a number above 63 bits.
    pub fn set_window(&mut self, left: Option<usize>, right: Option<usize>) -> Result<&mut Self> {
        let (left, right) = (limit(left)?, limit(right)?);
        // SAFETY: the handle is this mask's own, which is borrowed mutably.
        check(unsafe { sys::attnzoo_mask_set_window(self.handle.as_ptr(), left, right) })?;
        Ok(self)
    }

    /// Says where the queries' positions start, and drops offsets set before.
    ///
    /// # Errors
    /// None as the library is now.
    pub fn set_alignment(&mut self, alignment: Alignment) -> Result<&mut Self> {
        let number = match alignment {
            Alignment::BottomRight => sys::ATTNZOO_ALIGNMENT_BOTTOM_RIGHT,
            Alignment::TopLeft => sys::ATTNZOO_ALIGNMENT_TOP_LEFT,
            Alignment::Lengths => sys::ATTNZOO_ALIGNMENT_LENGTHS,
        };
        // SAFETY: the handle is this mask's own, which is borrowed mutably.
        check(unsafe { sys::attnzoo_mask_set_alignment(self.handle.as_ptr(), number) })?;
        Ok(self)
    }

    /// Sets the offset itself, one for every batch. Replaces the alignment.
    ///
    /// # Errors
    /// None as the library is now.
    pub fn set_query_offset(&mut self, offset: i64) -> Result<&mut Self> {
        // SAFETY: the handle is this mask's own, which is borrowed mutably.
        check(unsafe { sys::attnzoo_mask_set_query_offset(self.handle.as_ptr(), offset) })?;
        Ok(self)
    }

    /// The offset of each batch, `[B]`, `i32` or `i64`. Replaces the alignment.
    ///
    /// # Errors
    /// [`Status::DtypeMismatch`](crate::Status::DtypeMismatch);
    /// [`Status::ShapeMismatch`](crate::Status::ShapeMismatch): not one axis.
    pub fn set_query_offsets(&mut self, offsets: impl Into<Tensor<'a>>) -> Result<&mut Self> {
        self.set(MaskPart::QueryOffsets, offsets.into())
    }

    /// Key lengths, `[B]`, `i32` or `i64`: of batch b only the first of so many keys are seen, and nothing beyond is read.
    ///
    /// # Errors
    /// As [`Mask::set_query_offsets`]; the forward call refuses a length that is negative or above M.
    pub fn set_key_lengths(&mut self, lengths: impl Into<Tensor<'a>>) -> Result<&mut Self> {
        self.set(MaskPart::KeyLengths, lengths.into())
    }

    /// Query lengths, `[B]`, `i32` or `i64`: queries beyond see nothing.
    ///
    /// # Errors
    /// As [`Mask::set_query_offsets`]; the forward call refuses a length that is negative or above N.
    pub fn set_query_lengths(&mut self, lengths: impl Into<Tensor<'a>>) -> Result<&mut Self> {
        self.set(MaskPart::QueryLengths, lengths.into())
    }

    /// Dense boolean mask: true means attend. Broadcasts to `[B, H, N, M]` from the right; `bool`, `u8`, `i32` or `i64`,
    /// where any number but 0 is true. `[B, M]` is read as `[N, M]`: for padding say `[B, 1, 1, M]`.
    ///
    /// # Errors
    /// [`Status::DtypeMismatch`](crate::Status::DtypeMismatch);
    /// [`Status::ShapeMismatch`](crate::Status::ShapeMismatch): more than four axes.
    pub fn set_boolean(&mut self, allowed: impl Into<Tensor<'a>>) -> Result<&mut Self> {
        self.set(MaskPart::Boolean, allowed.into())
    }

    /// Dense bias, added to the scores after scale and softcap; -infinity hides the key. Broadcasts as
    /// [`Mask::set_boolean`] does; `f32`, [`F16`](crate::F16) or [`Bf16`](crate::Bf16).
    ///
    /// # Errors
    /// As [`Mask::set_boolean`].
    pub fn set_bias(&mut self, bias: impl Into<Tensor<'a>>) -> Result<&mut Self> {
        self.set(MaskPart::Bias, bias.into())
    }

    /// Linear bias by distance (ALiBi; Press et al. 2022, arXiv 2108.12409): adds -slope times the distance between
    /// query and key. `[H]`, `f32`, [`F16`](crate::F16) or [`Bf16`](crate::Bf16).
    ///
    /// # Errors
    /// As [`Mask::set_query_offsets`].
    pub fn set_linear_bias(&mut self, slopes: impl Into<Tensor<'a>>) -> Result<&mut Self> {
        self.set(MaskPart::LinearBias, slopes.into())
    }

    /// Segments of sequences packed into one, `[B, M]` or `[M]`, `i32` or `i64`: a query has the id at its position,
    /// and sees only keys with the same.
    ///
    /// # Errors
    /// [`Status::DtypeMismatch`](crate::Status::DtypeMismatch);
    /// [`Status::ShapeMismatch`](crate::Status::ShapeMismatch): more than two axes.
    pub fn set_segments(&mut self, ids: impl Into<Tensor<'a>>) -> Result<&mut Self> {
        self.set(MaskPart::Segments, ids.into())
    }

    /// Takes a part out again. Without query offsets the alignment is [`Alignment::BottomRight`].
    ///
    /// # Errors
    /// None as the library is now.
    pub fn remove(&mut self, part: MaskPart) -> Result<&mut Self> {
        // SAFETY: the handle is this mask's own, which is borrowed mutably; NULL takes the part out.
        check(unsafe { part.setter()(self.handle.as_ptr(), null()) })?;
        Ok(self)
    }

    fn set(&mut self, part: MaskPart, tensor: Tensor<'a>) -> Result<&mut Self> {
        let view = tensor.handle()?;
        // SAFETY: the handle is this mask's own, which is borrowed mutably. The library copies the view; the memory
        // behind it is borrowed for 'a, which the mask does not outlive.
        check(unsafe { part.setter()(self.handle.as_ptr(), view.as_ptr()) })?;
        Ok(self)
    }

    pub(crate) fn as_ptr(&self) -> *const sys::attnzoo_mask {
        self.handle.as_ptr()
    }
}

/// The library's number for how far a window reaches.
fn limit(reach: Option<usize>) -> Result<i64> {
    reach.map_or(Ok(-1), |reach| crate::to_i64("a side of the window", reach))
}

impl Drop for Mask<'_> {
    fn drop(&mut self) {
        // SAFETY: calls borrow the mask, so none is running, and nothing uses the handle after.
        unsafe { sys::attnzoo_mask_destroy(self.handle.as_ptr()) }
    }
}

impl fmt::Debug for Mask<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mask").finish_non_exhaustive()
    }
}
