//! What tensors are made of: where elements lie, checked against the slice's length; and the library's own views. Who
//! may use the memory, and for how long, is seen to in tensor.rs.

use std::fmt;
use std::os::raw::c_void;
use std::ptr::{null_mut, NonNull};

use attnzoo_sys as sys;

use crate::element::DataType;
use crate::error::{check, Error, Result, Status};

const RANK_MAX: usize = sys::ATTNZOO_RANK_MAX as usize;

/// Pointer, element type, sizes and strides. Whoever makes one has checked that all its elements lie in one slice.
#[derive(Clone, Copy)]
pub(crate) struct View {
    data: *mut c_void,
    pub(crate) data_type: DataType,
    rank: usize,
    shape: [usize; RANK_MAX],
    strides: [isize; RANK_MAX],
}

impl View {
    /// A row-major view of all of a slice of `length` elements at `data`.
    pub(crate) fn compact(data: *mut c_void, data_type: DataType, length: usize, shape: &[usize]) -> Result<View> {
        check_rank(shape.len())?;
        if element_count(shape)? != length {
            return Err(Error::new(
                Status::ShapeMismatch,
                format!("the shape {:?} does not have the slice's {} elements", shape, length),
            ));
        }
        let mut view = View { data, data_type, rank: shape.len(), shape: [1; RANK_MAX], strides: [0; RANK_MAX] };
        view.shape[..shape.len()].copy_from_slice(shape);
        let mut stride = 1_usize;
        for axis in (0..shape.len()).rev() {
            // Where there are elements the product is below the slice's length; where there are none it does not matter.
            view.strides[axis] = isize::try_from(stride).unwrap_or(0);
            stride = stride.saturating_mul(shape[axis].max(1));
        }
        Ok(view)
    }

    /// All of a slice, as one axis. A slice has fewer than 2^63 elements.
    pub(crate) fn line(data: *mut c_void, data_type: DataType, length: usize) -> View {
        let mut view = View { data, data_type, rank: 1, shape: [1; RANK_MAX], strides: [0; RANK_MAX] };
        (view.shape[0], view.strides[0]) = (length, 1);
        view
    }

    /// A view at `first`, the element `offset` of a slice of `length` elements.
    pub(crate) fn strided(
        data_type: DataType,
        length: usize,
        offset: usize,
        shape: &[usize],
        strides: &[isize],
        first: impl FnOnce(usize) -> *mut c_void,
    ) -> Result<View> {
        check_rank(shape.len())?;
        if strides.len() != shape.len() {
            return Err(Error::invalid(format!("{} strides for {} axes", strides.len(), shape.len())));
        }
        let is_inside = if element_count(shape)? == 0 {
            offset <= length
        } else {
            matches!(reach(offset, shape, strides), Some((lowest, highest)) if lowest >= 0 && highest < length as i128)
        };
        if !is_inside {
            return Err(Error::invalid(format!(
                "the shape {:?} with strides {:?} from element {} on leaves the slice's {} elements",
                shape, strides, offset, length
            )));
        }
        let mut view =
            View { data: first(offset), data_type, rank: shape.len(), shape: [1; RANK_MAX], strides: [0; RANK_MAX] };
        view.shape[..shape.len()].copy_from_slice(shape);
        view.strides[..shape.len()].copy_from_slice(strides);
        Ok(view)
    }

    /// Whether both show the same elements in the same way.
    pub(crate) fn is_same(&self, other: &View) -> bool {
        self.data == other.data
            && self.data_type == other.data_type
            && self.shape() == other.shape()
            && self.strides() == other.strides()
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    pub(crate) fn strides(&self) -> &[isize] {
        &self.strides[..self.rank]
    }

    /// Sizes and strides as the library takes them. Both fit: sizes are checked by `element_count()`.
    fn layout(&self) -> ([i64; RANK_MAX], [i64; RANK_MAX]) {
        (self.shape.map(|size| size as i64), self.strides.map(|stride| stride as i64))
    }

    /// The library's view of the same, to be read.
    ///
    /// # Safety
    /// The view's elements stay where they are, and may be read, as long as the handle is used.
    pub(crate) unsafe fn handle(&self) -> Result<Handle> {
        let (shape, strides) = self.layout();
        let mut tensor = null_mut();
        // SAFETY: as the caller says; shape and strides have as many entries as there are axes.
        check(unsafe {
            sys::attnzoo_tensor_create_readonly(
                &mut tensor,
                self.data,
                self.data_type.number(),
                self.rank as i32,
                shape.as_ptr(),
                strides.as_ptr(),
            )
        })?;
        Handle::new(tensor)
    }

    /// The library's view of the same, to be read and written.
    ///
    /// # Safety
    /// The view's elements stay where they are, and nothing else uses them, as long as the handle is used.
    pub(crate) unsafe fn handle_mut(&self) -> Result<Handle> {
        let (shape, strides) = self.layout();
        let mut tensor = null_mut();
        // SAFETY: as the caller says; shape and strides have as many entries as there are axes.
        check(unsafe {
            sys::attnzoo_tensor_create(
                &mut tensor,
                self.data,
                self.data_type.number(),
                self.rank as i32,
                shape.as_ptr(),
                strides.as_ptr(),
            )
        })?;
        Handle::new(tensor)
    }

    /// The same memory in the layout of a view that the library made of this one. It begins at the same element.
    pub(crate) fn laid_out_as(&self, made: &Handle) -> View {
        let mut view = View { shape: [1; RANK_MAX], strides: [0; RANK_MAX], ..*self };
        // SAFETY: the handle is a view, whose axes alone are asked for.
        unsafe {
            debug_assert!(std::ptr::eq(sys::attnzoo_tensor_data(made.as_ptr()), self.data));
            view.rank = (sys::attnzoo_tensor_rank(made.as_ptr()) as usize).min(RANK_MAX);
            for axis in 0..view.rank {
                view.shape[axis] = sys::attnzoo_tensor_size(made.as_ptr(), axis as i32) as usize;
                view.strides[axis] = sys::attnzoo_tensor_stride(made.as_ptr(), axis as i32) as isize;
            }
        }
        view
    }

    pub(crate) fn describe(&self, name: &str, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut description = formatter.debug_struct(name);
        description.field("data_type", &self.data_type).field("shape", &self.shape());
        description.field("strides", &self.strides()).finish()
    }
}

fn check_rank(rank: usize) -> Result<()> {
    if (1..=RANK_MAX).contains(&rank) {
        return Ok(());
    }
    Err(Error::invalid(format!("a view has {} axes, must have 1 to {}", rank, RANK_MAX)))
}

/// How many elements a shape has, with every size checked to be one that the library's 64 bits can hold.
fn element_count(shape: &[usize]) -> Result<usize> {
    let too_large = || Error::invalid(format!("the shape {:?} passes what can be addressed", shape));
    if shape.iter().any(|&size| i64::try_from(size).is_err()) {
        return Err(too_large());
    }
    if shape.contains(&0) {
        return Ok(0);
    }
    shape.iter().try_fold(1_usize, |count, &size| count.checked_mul(size)).ok_or_else(too_large)
}

/// The lowest and the highest element that a view which has elements comes to; none where it passes all bounds.
fn reach(offset: usize, shape: &[usize], strides: &[isize]) -> Option<(i128, i128)> {
    let (mut lowest, mut highest) = (offset as i128, offset as i128);
    for (&size, &stride) in shape.iter().zip(strides) {
        let way = (size as i128 - 1).checked_mul(stride as i128)?;
        lowest = lowest.checked_add(way.min(0))?;
        highest = highest.checked_add(way.max(0))?;
    }
    Some((lowest, highest))
}

/// The library's own view, for the time of a call. Views here are plain data without a destructor, so that they lend
/// their slice no longer than they are used; these handles come and go with each call instead.
pub(crate) struct Handle(NonNull<sys::attnzoo_tensor>);

impl Handle {
    pub(crate) fn new(tensor: *mut sys::attnzoo_tensor) -> Result<Handle> {
        NonNull::new(tensor).map(Handle).ok_or_else(crate::missing_handle)
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::attnzoo_tensor {
        self.0.as_ptr()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is this one's own, and nothing uses it after.
        unsafe { sys::attnzoo_tensor_destroy(self.0.as_ptr()) }
    }
}
