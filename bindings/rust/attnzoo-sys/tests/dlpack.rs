//! DLPack's structures as Rust lays them out: what the library fills in is read here, and the other way round.

#![warn(unsafe_op_in_unsafe_fn)]

use std::os::raw::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use attnzoo_sys::*;

const CPU: i32 = 1;
const FLOAT32: DLDataType = DLDataType { code: 2, bits: 32, lanes: 1 };

/// Counts its calls in the AtomicUsize that it is given.
unsafe extern "C" fn count(owner: *mut c_void) {
    unsafe { (*owner.cast::<AtomicUsize>()).fetch_add(1, Ordering::Relaxed) };
}

unsafe extern "C" fn count_deletion(managed: *mut DLManagedTensor) {
    unsafe { count((*managed).manager_ctx) };
}

unsafe extern "C" fn count_versioned_deletion(managed: *mut DLManagedTensorVersioned) {
    unsafe { count((*managed).manager_ctx) };
}

fn describe(data: &mut [f32], shape: &mut [i64; 2], strides: &mut [i64; 2]) -> DLTensor {
    DLTensor {
        data: data.as_mut_ptr().cast(),
        device: DLDevice { device_type: CPU, device_id: 0 },
        ndim: 2,
        dtype: FLOAT32,
        shape: shape.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        byte_offset: 4,
    }
}

fn assert_shows(tensor: *const attnzoo_tensor, first: *const f32) {
    unsafe {
        assert_eq!(attnzoo_tensor_dtype(tensor), ATTNZOO_DTYPE_FLOAT32);
        assert_eq!((attnzoo_tensor_size(tensor, 0), attnzoo_tensor_size(tensor, 1)), (2, 3));
        assert_eq!((attnzoo_tensor_stride(tensor, 0), attnzoo_tensor_stride(tensor, 1)), (1, 2));
        assert_eq!(attnzoo_tensor_data(tensor), first.cast());
    }
}

#[test]
fn views_of_dlpack_tensors() {
    let (mut data, mut shape, mut strides) = ([0.0_f32; 8], [2, 3], [1, 2]);
    let deleted = AtomicUsize::new(0);
    let manager_ctx = &deleted as *const AtomicUsize as *mut c_void;
    let dl_tensor = describe(&mut data, &mut shape, &mut strides);
    let mut managed = DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(count_deletion) };
    let mut versioned = DLManagedTensorVersioned {
        version: DLPackVersion { major: 1, minor: 0 },
        manager_ctx,
        deleter: Some(count_versioned_deletion),
        flags: 1,
        dl_tensor,
    };
    let mut tensor = null_mut();
    unsafe {
        assert_eq!(attnzoo_tensor_create_from_dlpack(&mut tensor, &mut managed), ATTNZOO_STATUS_OK);
        assert_shows(tensor, &data[1]);
        attnzoo_tensor_destroy(tensor);
        assert_eq!(deleted.load(Ordering::Relaxed), 1);
        assert_eq!(attnzoo_tensor_create_from_dlpack_versioned(&mut tensor, &mut versioned), ATTNZOO_STATUS_OK);
        assert_shows(tensor, &data[1]);
        // The flag says read-only, which only the versioned form can pass on.
        let mut none = null_mut();
        let status = attnzoo_tensor_to_dlpack(&mut none, tensor, null_mut(), None);
        assert_eq!((status, none), (ATTNZOO_STATUS_UNSUPPORTED, null_mut()));
        attnzoo_tensor_destroy(tensor);
        assert_eq!(deleted.load(Ordering::Relaxed), 2);
        // On error the caller still owns it.
        versioned.version.major = 2;
        let status = attnzoo_tensor_create_from_dlpack_versioned(&mut tensor, &mut versioned);
        assert_eq!((status, deleted.load(Ordering::Relaxed)), (ATTNZOO_STATUS_UNSUPPORTED, 2));
    }
}

fn assert_described(tensor: &DLTensor, data: *const f32) {
    assert_eq!((tensor.device, tensor.ndim, tensor.dtype), (DLDevice { device_type: CPU, device_id: 0 }, 2, FLOAT32));
    assert_eq!(tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize) as *const f32, data);
    unsafe {
        assert_eq!(std::slice::from_raw_parts(tensor.shape, 2), [2, 3]);
        assert_eq!(std::slice::from_raw_parts(tensor.strides, 2), [3, 1]);
    }
}

#[test]
fn dlpack_tensors_of_views() {
    let (mut data, shape, released) = ([0.0_f32; 6], [2, 3], AtomicUsize::new(0));
    let owner = &released as *const AtomicUsize as *mut c_void;
    let (mut tensor, mut managed, mut versioned) = (null_mut(), null_mut(), null_mut());
    unsafe {
        let memory = data.as_mut_ptr().cast();
        let status = attnzoo_tensor_create(&mut tensor, memory, ATTNZOO_DTYPE_FLOAT32, 2, shape.as_ptr(), null());
        assert_eq!(status, ATTNZOO_STATUS_OK);
        assert_eq!(attnzoo_tensor_to_dlpack(&mut managed, tensor, owner, Some(count)), ATTNZOO_STATUS_OK);
        let status = attnzoo_tensor_to_dlpack_versioned(&mut versioned, tensor, owner, Some(count));
        assert_eq!(status, ATTNZOO_STATUS_OK);
        attnzoo_tensor_destroy(tensor);
        assert_described(&(*managed).dl_tensor, data.as_ptr());
        assert_described(&(*versioned).dl_tensor, data.as_ptr());
        assert_eq!(((*versioned).version.major, (*versioned).flags), (1, 0));
        (*managed).deleter.unwrap()(managed);
        assert_eq!(released.load(Ordering::Relaxed), 1);
        (*versioned).deleter.unwrap()(versioned);
        assert_eq!(released.load(Ordering::Relaxed), 2);
    }
}

/// On a little-endian machine a field that is too narrow goes unnoticed until its number is large.
#[test]
fn fields_are_as_wide_as_dlpack_says() {
    let widths = |tensor: &DLTensor| {
        use std::mem::size_of_val as width;
        let (device, dtype) = (&tensor.device, &tensor.dtype);
        [width(device), width(&tensor.ndim), width(dtype), width(&tensor.byte_offset), width(&dtype.lanes)]
    };
    let (mut data, mut shape, mut strides) = ([0.0_f32; 8], [2, 3], [1, 2]);
    let tensor = describe(&mut data, &mut shape, &mut strides);
    assert_eq!(widths(&tensor), [8, 4, 4, 8, 2]);
    let versioned = DLManagedTensorVersioned {
        version: DLPackVersion { major: 1, minor: 0 },
        manager_ctx: null_mut(),
        deleter: None,
        flags: 0,
        dl_tensor: tensor,
    };
    assert_eq!((std::mem::size_of_val(&versioned.version), std::mem::size_of_val(&versioned.flags)), (8, 8));
}
