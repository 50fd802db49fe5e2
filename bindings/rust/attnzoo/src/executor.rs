//! Threads and scratch memory.

use std::fmt;
use std::ptr::{null_mut, NonNull};

use attnzoo_sys as sys;

use crate::error::{check, Error, Result};

/// The threads and the scratch memory of forward calls.
///
/// Its memory grows to what the calls need. Several threads may use one executor; their calls then take turns. Results
/// do not depend on the number of threads: they are the same to the bit.
///
/// ```
/// let executor = attnzoo::Executor::with_threads(2)?;
/// assert!(executor.thread_count() >= 1); // fewer where the BLAS can bear fewer
/// # Ok::<(), attnzoo::Error>(())
/// ```
pub struct Executor {
    handle: NonNull<sys::attnzoo_executor>,
}

// SAFETY: the library ties an executor to no thread.
unsafe impl Send for Executor {}
// SAFETY: the library lets calls of several threads on one executor take turns.
unsafe impl Sync for Executor {}

impl Executor {
    /// With as many threads as the process may use: CPU affinity and a container's quota are heeded.
    ///
    /// # Errors
    /// As [`Executor::with_threads`].
    pub fn new() -> Result<Executor> {
        Executor::create(0)
    }

    /// With so many threads, the calling one included: 1 to 256.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument): a number out of range;
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory); [`Status::System`](crate::Status::System): a thread could
    /// not be started.
    pub fn with_threads(thread_count: usize) -> Result<Executor> {
        match i32::try_from(thread_count) {
            Ok(count) if count > 0 => Executor::create(count),
            _ => Err(Error::invalid(format!("thread_count is {}, must be 1 to 256", thread_count))),
        }
    }

    fn create(thread_count: i32) -> Result<Executor> {
        let mut executor = null_mut();
        // SAFETY: `executor` is a place for a handle.
        check(unsafe { sys::attnzoo_executor_create(&mut executor, thread_count) })?;
        NonNull::new(executor).map(|handle| Executor { handle }).ok_or_else(crate::missing_handle)
    }

    /// How many threads work on a call, the calling one included.
    pub fn thread_count(&self) -> usize {
        // SAFETY: the handle lives as long as `self`.
        unsafe { sys::attnzoo_executor_thread_count(self.handle.as_ptr()) }.max(0) as usize
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::attnzoo_executor {
        self.handle.as_ptr()
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // SAFETY: calls borrow the executor, so none is running, and nothing uses the handle after.
        unsafe { sys::attnzoo_executor_destroy(self.handle.as_ptr()) }
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Executor").field("thread_count", &self.thread_count()).finish()
    }
}
