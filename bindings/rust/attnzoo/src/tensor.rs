//! Views of slices, tied to them by lifetimes. That no view reaches outside its slice is seen to in view.rs.

use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::ptr::null_mut;

use attnzoo_sys as sys;

use crate::element::{DataType, Element, Output};
use crate::error::{check, Result};
use crate::view::{Handle, View};
#[cfg(doc)]
use crate::Status;

/// A view of a slice that is only read.
///
/// It is as cheap to copy as it looks, and borrows the slice. A slice, array or vector is itself taken wherever a
/// tensor is wanted, as one with a single axis.
///
/// ```
/// use attnzoo::Tensor;
///
/// let numbers = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let rows = Tensor::new(&numbers, &[2, 3])?;
/// let columns = Tensor::with_strides(&numbers, 0, &[3, 2], &[1, 3])?;
/// let backwards = Tensor::with_strides(&numbers, 5, &[6], &[-1])?;
/// assert!(Tensor::with_strides(&numbers, 4, &[6], &[-1]).is_err()); // would begin in front of the slice
/// # let _ = (rows, columns, backwards);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// A view cannot outlive its slice, and the slice cannot be changed while the view is used:
///
/// ```compile_fail,E0597
/// # use attnzoo::Tensor;
/// let tensor = {
///     let numbers = vec![1.0_f32; 6];
///     Tensor::new(&numbers, &[2, 3]).unwrap()
/// };
/// println!("{:?}", tensor);
/// ```
///
/// ```compile_fail,E0506
/// # use attnzoo::Tensor;
/// let mut numbers = [1.0_f32; 6];
/// let tensor = Tensor::new(&numbers, &[2, 3]).unwrap();
/// numbers[0] = 2.0;
/// println!("{:?}", tensor);
/// ```
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    view: View,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: a view is read alone, as a shared slice of its elements is, and all element types are Sync.
unsafe impl Send for Tensor<'_> {}
// SAFETY: as above.
unsafe impl Sync for Tensor<'_> {}

impl<'a> Tensor<'a> {
    /// A row-major view of all of a slice, innermost axis last.
    ///
    /// # Errors
    /// [`Status::ShapeMismatch`] if the sizes do not multiply to the slice's length, [`Status::InvalidArgument`] if
    /// there are no axes or more than 8.
    pub fn new<T: Element>(slice: &'a [T], shape: &[usize]) -> Result<Tensor<'a>> {
        let data = slice.as_ptr() as *mut c_void;
        Ok(Tensor { view: View::compact(data, T::DATA_TYPE, slice.len(), shape)?, memory: PhantomData })
    }

    /// A view that begins at element `offset` of a slice and takes a step of its own along each axis, in elements: 0
    /// repeats, a negative one runs backwards.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`] if it would reach outside the slice, if shape and strides have different lengths, or
    /// if there are no axes or more than 8.
    pub fn with_strides<T: Element>(
        slice: &'a [T],
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<Tensor<'a>> {
        // The pointer is made from the whole slice: with negative strides it has to reach in front of the offset.
        let view = View::strided(T::DATA_TYPE, slice.len(), offset, shape, strides, |offset| {
            slice.as_ptr().wrapping_add(offset) as *mut c_void
        })?;
        Ok(Tensor { view, memory: PhantomData })
    }

    /// The element type.
    pub fn data_type(&self) -> DataType {
        self.view.data_type
    }

    /// The sizes, outermost first.
    pub fn shape(&self) -> &[usize] {
        self.view.shape()
    }

    /// The steps between neighbours along each axis, in elements.
    pub fn strides(&self) -> &[isize] {
        self.view.strides()
    }

    /// Whether both show the same elements in the same way.
    pub(crate) fn is_same_view(&self, other: &Tensor<'_>) -> bool {
        self.view.is_same(&other.view)
    }

    pub(crate) fn handle(&self) -> Result<Handle> {
        // SAFETY: the elements lie in a slice that is borrowed, as the makers have checked.
        unsafe { self.view.handle() }
    }

    /// A view that a function of the library makes of this one, which shows none but elements of this one.
    pub(crate) fn laid_out_by(
        self,
        make: impl FnOnce(*mut *mut sys::attnzoo_tensor, *const sys::attnzoo_tensor) -> sys::attnzoo_status,
    ) -> Result<Tensor<'a>> {
        let (source, mut made) = (self.handle()?, null_mut());
        check(make(&mut made, source.as_ptr()))?;
        Ok(Tensor { view: self.view.laid_out_as(&Handle::new(made)?), memory: PhantomData })
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.describe("Tensor", formatter)
    }
}

impl<'a> From<&Tensor<'a>> for Tensor<'a> {
    fn from(tensor: &Tensor<'a>) -> Tensor<'a> {
        *tensor
    }
}

impl<'a, T: Element> From<&'a [T]> for Tensor<'a> {
    fn from(slice: &'a [T]) -> Tensor<'a> {
        let view = View::line(slice.as_ptr() as *mut c_void, T::DATA_TYPE, slice.len());
        Tensor { view, memory: PhantomData }
    }
}

impl<'a, T: Element, const LENGTH: usize> From<&'a [T; LENGTH]> for Tensor<'a> {
    fn from(array: &'a [T; LENGTH]) -> Tensor<'a> {
        Tensor::from(array.as_slice())
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Tensor<'a> {
    fn from(vector: &'a Vec<T>) -> Tensor<'a> {
        Tensor::from(vector.as_slice())
    }
}

/// A view of a slice that is written: an output.
///
/// It borrows the slice for itself alone. Once it is used no more, the slice may be read; nothing needs to be dropped.
///
/// ```
/// use attnzoo::{fill_sinusoidal_positions, Sinusoid, TensorMut};
///
/// let mut numbers = [0.0_f32; 6];
/// let mut table = TensorMut::new(&mut numbers, &[3, 2])?;
/// fill_sinusoidal_positions(&mut table, 0, 1, Sinusoid::Interleaved)?;
/// assert_eq!(numbers[..2], [0.0, 1.0]);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// Two outputs cannot have the same memory, nor can an input and an output:
///
/// ```compile_fail,E0499
/// # use attnzoo::TensorMut;
/// let mut numbers = [0.0_f32; 6];
/// let one = TensorMut::new(&mut numbers, &[6]).unwrap();
/// let other = TensorMut::new(&mut numbers, &[6]).unwrap();
/// println!("{:?} {:?}", one, other);
/// ```
///
/// ```compile_fail,E0502
/// # use attnzoo::{Tensor, TensorMut};
/// let mut numbers = [0.0_f32; 6];
/// let output = TensorMut::new(&mut numbers, &[6]).unwrap();
/// let input = Tensor::new(&numbers, &[6]).unwrap();
/// println!("{:?} {:?}", input, output);
/// ```
///
/// Strides that lead to one element twice are refused with [`Status::Overlap`] by whatever would write there.
pub struct TensorMut<'a> {
    view: View,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: a view stands for the slice that it borrows mutably, and all element types are Send.
unsafe impl Send for TensorMut<'_> {}
// SAFETY: through a shared reference the memory is only read, and all element types are Sync.
unsafe impl Sync for TensorMut<'_> {}

impl<'a> TensorMut<'a> {
    /// A row-major view of all of a slice, as [`Tensor::new`].
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn new<T: Output>(slice: &'a mut [T], shape: &[usize]) -> Result<TensorMut<'a>> {
        let data = slice.as_mut_ptr() as *mut c_void;
        Ok(TensorMut { view: View::compact(data, T::DATA_TYPE, slice.len(), shape)?, memory: PhantomData })
    }

    /// A view with strides of its own, as [`Tensor::with_strides`].
    ///
    /// # Errors
    /// As [`Tensor::with_strides`].
    pub fn with_strides<T: Output>(
        slice: &'a mut [T],
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<TensorMut<'a>> {
        let length = slice.len();
        let view = View::strided(T::DATA_TYPE, length, offset, shape, strides, |offset| {
            slice.as_mut_ptr().wrapping_add(offset) as *mut c_void
        })?;
        Ok(TensorMut { view, memory: PhantomData })
    }

    /// The element type.
    pub fn data_type(&self) -> DataType {
        self.view.data_type
    }

    /// The sizes, outermost first.
    pub fn shape(&self) -> &[usize] {
        self.view.shape()
    }

    /// The steps between neighbours along each axis, in elements.
    pub fn strides(&self) -> &[isize] {
        self.view.strides()
    }

    /// The same view, to be read.
    pub fn as_tensor(&self) -> Tensor<'_> {
        Tensor { view: self.view, memory: PhantomData }
    }

    /// The same view for a while: this one cannot be used until then.
    pub(crate) fn reborrow(&mut self) -> TensorMut<'_> {
        TensorMut { view: self.view, memory: PhantomData }
    }

    pub(crate) fn handle_mut(&mut self) -> Result<Handle> {
        // SAFETY: the elements lie in a slice that is borrowed mutably, as the makers have checked.
        unsafe { self.view.handle_mut() }
    }
}

impl fmt::Debug for TensorMut<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.describe("TensorMut", formatter)
    }
}

impl<'a> From<&'a TensorMut<'_>> for Tensor<'a> {
    fn from(tensor: &'a TensorMut<'_>) -> Tensor<'a> {
        tensor.as_tensor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    /// What a view of 24 elements may reach, told by walking over all its elements.
    fn stays_inside(offset: usize, shape: &[usize], strides: &[isize]) -> bool {
        let mut places = vec![offset as isize];
        for (&size, &stride) in shape.iter().zip(strides) {
            places = (0..size as isize).flat_map(|i| places.iter().map(move |place| place + i * stride)).collect();
        }
        places.iter().all(|&place| (0..24).contains(&place))
    }

    #[test]
    fn strided_views_are_accepted_just_where_all_elements_are_inside() {
        let memory = [0.0_f32; 24];
        let mut accepted = 0;
        for offset in 0..24 {
            for (rows, columns) in [(1, 1), (1, 24), (2, 12), (3, 4), (5, 5)] {
                for row_stride in -13..=13 {
                    for column_stride in -13..=13 {
                        let (shape, strides) = ([rows, columns], [row_stride, column_stride]);
                        let view = Tensor::with_strides(&memory, offset, &shape, &strides);
                        assert_eq!(view.is_ok(), stays_inside(offset, &shape, &strides));
                        accepted += usize::from(view.is_ok());
                    }
                }
            }
        }
        assert!(accepted > 1000);
    }

    #[test]
    fn huge_sizes_and_strides_do_not_wrap() {
        let memory = [0.0_f32; 4];
        let cases: [(&[usize], &[isize]); 5] = [
            (&[3, 2], &[isize::MAX, 1]),
            (&[3, 2], &[isize::MIN, 1]),
            (&[usize::MAX, 1], &[0, 0]),
            (&[1 << 33, 1 << 33], &[0, 0]),
            (&[1 << 62, 2, 2], &[4, 0, 0]),
        ];
        for (shape, strides) in cases {
            let error = Tensor::with_strides(&memory, 0, shape, strides).unwrap_err();
            assert_eq!(error.status(), Status::InvalidArgument);
        }
        let eight = [isize::MAX; 8];
        assert!(Tensor::with_strides(&memory, 0, &[usize::MAX >> 1; 8], &eight).is_err());
        assert!(Tensor::new(&memory, &[usize::MAX, usize::MAX]).is_err());
    }

    #[test]
    fn shapes_must_fit_the_slice() {
        let memory = [0.0_f32; 4];
        assert_eq!(Tensor::new(&memory, &[2, 2]).unwrap().strides(), [2, 1]);
        assert_eq!(Tensor::new(&memory, &[3]).unwrap_err().status(), Status::ShapeMismatch);
        assert_eq!(Tensor::new(&memory, &[]).unwrap_err().status(), Status::InvalidArgument);
        assert_eq!(Tensor::new(&memory, &[1; 9]).unwrap_err().status(), Status::InvalidArgument);
        assert_eq!(Tensor::with_strides(&memory, 0, &[2], &[1, 1]).unwrap_err().status(), Status::InvalidArgument);
    }

    #[test]
    fn empty_views_are_views() {
        let memory: [f32; 0] = [];
        assert!(Tensor::new(&memory, &[0, 5]).unwrap().handle().is_ok());
        assert!(Tensor::new(&memory, &[usize::MAX >> 1, 0, usize::MAX >> 1]).is_ok());
        let memory = [0.0_f32; 4];
        assert!(Tensor::with_strides(&memory, 4, &[0], &[1]).unwrap().handle().is_ok());
        assert!(Tensor::with_strides(&memory, 5, &[0], &[1]).is_err());
    }
}
