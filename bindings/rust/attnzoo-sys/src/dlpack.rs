//! DLPack's structures, as its version 1 fixes them for every library (<https://github.com/dmlc/dlpack>), and the
//! functions of `attnzoo/dlpack.h` that take and make them.

use crate::{attnzoo_status, attnzoo_tensor};
use std::os::raw::c_void;

/// Where memory is. `device_type` 1 is the CPU, the only one that libattnzoo takes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// A number of DLPack's enumeration of devices.
    pub device_type: i32,
    /// Which device of this type.
    pub device_id: i32,
}

/// An element type.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// 0 signed integers, 1 unsigned ones, 2 floats, 4 bfloat, 6 bool.
    pub code: u8,
    /// Bits of a lane.
    pub bits: u8,
    /// 1, but for vector types.
    pub lanes: u16,
}

/// A view of memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The memory; the first element lies `byte_offset` bytes behind it.
    pub data: *mut c_void,
    /// Where the memory is.
    pub device: DLDevice,
    /// The number of axes.
    pub ndim: i32,
    /// The element type.
    pub dtype: DLDataType,
    /// `[ndim]` sizes.
    pub shape: *mut i64,
    /// `[ndim]` steps in elements, or NULL for compact row-major.
    pub strides: *mut i64,
    /// See `data`.
    pub byte_offset: u64,
}

/// A view that keeps its memory alive until the deleter is called.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensor {
    /// The view.
    pub dl_tensor: DLTensor,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// To be called once, by whoever the view was handed to; or none.
    pub deleter: Option<unsafe extern "C" fn(managed: *mut DLManagedTensor)>,
}

/// The version of DLPack that a `DLManagedTensorVersioned` follows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Another major version has another layout.
    pub major: u32,
    /// A later minor version adds at the end.
    pub minor: u32,
}

/// A view that keeps its memory alive, with version and flags.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensorVersioned {
    /// Comes first in every version.
    pub version: DLPackVersion,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// To be called once, by whoever the view was handed to; or none.
    pub deleter: Option<unsafe extern "C" fn(managed: *mut DLManagedTensorVersioned)>,
    /// Bit 0: the memory must not be written. Bit 1: it is a copy.
    pub flags: u64,
    /// The view.
    pub dl_tensor: DLTensor,
}

extern "C" {
    /// Makes a view of a DLPack tensor; on success the view owns `managed`.
    pub fn attnzoo_tensor_create_from_dlpack(
        tensor: *mut *mut attnzoo_tensor,
        managed: *mut DLManagedTensor,
    ) -> attnzoo_status;
    /// As `attnzoo_tensor_create_from_dlpack()`, for the versioned form.
    pub fn attnzoo_tensor_create_from_dlpack_versioned(
        tensor: *mut *mut attnzoo_tensor,
        managed: *mut DLManagedTensorVersioned,
    ) -> attnzoo_status;
    /// Makes a DLPack tensor of a view. The memory must hold until `release(owner)` is called.
    pub fn attnzoo_tensor_to_dlpack(
        managed: *mut *mut DLManagedTensor,
        tensor: *const attnzoo_tensor,
        owner: *mut c_void,
        release: Option<unsafe extern "C" fn(owner: *mut c_void)>,
    ) -> attnzoo_status;
    /// As `attnzoo_tensor_to_dlpack()`, for the versioned form.
    pub fn attnzoo_tensor_to_dlpack_versioned(
        managed: *mut *mut DLManagedTensorVersioned,
        tensor: *const attnzoo_tensor,
        owner: *mut c_void,
        release: Option<unsafe extern "C" fn(owner: *mut c_void)>,
    ) -> attnzoo_status;
}
