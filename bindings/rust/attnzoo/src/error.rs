//! What went wrong: a status and the library's message.

use std::ffi::{CStr, CString};
use std::fmt;

use attnzoo_sys as sys;

/// The kind of an error. Later versions of the library may have more kinds; those come as [`Status::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// An argument breaks a rule: a number out of bounds, a required parameter that is missing.
    InvalidArgument,
    /// The shapes of two things do not fit each other, or one does not fit what the mechanism needs.
    ShapeMismatch,
    /// The element type is not one that this place takes.
    DtypeMismatch,
    /// The request is well formed, but the library or the mechanism does not have it.
    Unsupported,
    /// Memory could not be had.
    OutOfMemory,
    /// A thing is not in the right condition, such as a state that was made for another module.
    BadState,
    /// No mechanism, option, parameter, input or output has this name.
    UnknownName,
    /// An output overlaps another one or itself.
    Overlap,
    /// The operating system refused something other than memory, such as a thread.
    System,
    /// A number that this version of the crate does not know.
    Other(i32),
}

/// The kinds and their numbers, told once for both directions.
const NUMBERS: [(Status, i32); 9] = [
    (Status::InvalidArgument, sys::ATTNZOO_STATUS_INVALID_ARGUMENT),
    (Status::ShapeMismatch, sys::ATTNZOO_STATUS_SHAPE_MISMATCH),
    (Status::DtypeMismatch, sys::ATTNZOO_STATUS_DTYPE_MISMATCH),
    (Status::Unsupported, sys::ATTNZOO_STATUS_UNSUPPORTED),
    (Status::OutOfMemory, sys::ATTNZOO_STATUS_OUT_OF_MEMORY),
    (Status::BadState, sys::ATTNZOO_STATUS_BAD_STATE),
    (Status::UnknownName, sys::ATTNZOO_STATUS_UNKNOWN_NAME),
    (Status::Overlap, sys::ATTNZOO_STATUS_OVERLAP),
    (Status::System, sys::ATTNZOO_STATUS_SYSTEM),
];

impl Status {
    fn from_number(number: i32) -> Status {
        NUMBERS.iter().find(|entry| entry.1 == number).map_or(Status::Other(number), |entry| entry.0)
    }

    /// The number that the C interface has for this kind.
    pub fn number(self) -> i32 {
        match self {
            Status::Other(number) => number,
            known => NUMBERS.iter().find(|entry| entry.0 == known).map_or(0, |entry| entry.1),
        }
    }

    /// The library's name for this kind, such as "shape mismatch".
    pub fn name(self) -> &'static str {
        // A number that a program made up; no error has it.
        if self == Status::Other(sys::ATTNZOO_STATUS_OK) {
            return "unknown status";
        }
        // SAFETY: the function takes any number and returns a static string.
        unsafe { static_text(sys::attnzoo_status_name(self.number())) }.unwrap_or("")
    }
}

/// What a call that failed has to say. Nothing was changed and no output was written by it.
///
/// ```
/// let error = attnzoo::Module::builder("scaled_dot_produkt").unwrap_err();
/// assert_eq!(error.status(), attnzoo::Status::UnknownName);
/// assert!(error.message().contains("scaled_dot_product")); // it lists the mechanisms that there are
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: Status,
    message: String,
}

impl Error {
    pub(crate) fn new(status: Status, message: String) -> Error {
        Error { status, message }
    }

    pub(crate) fn invalid(message: String) -> Error {
        Error::new(Status::InvalidArgument, message)
    }

    /// The kind of the error.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The thing, its numbers and the rule, in one line of English.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Turns a status into a result. To be called at once with what a function of the library returned: the message
/// belongs to this thread's last call.
pub(crate) fn check(status: sys::attnzoo_status) -> Result<()> {
    if status == sys::ATTNZOO_STATUS_OK {
        return Ok(());
    }
    // SAFETY: the library's text is never NULL and holds until this thread's next call; it is copied before.
    let message = unsafe { CStr::from_ptr(sys::attnzoo_last_error()) }.to_string_lossy().into_owned();
    Err(Error::new(Status::from_number(status), message))
}

/// A name for the library. One with a zero byte inside is none that the library could have.
pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::invalid(format!("{:?} has a zero byte in it", text)))
}

/// A static text of the library; none for NULL.
///
/// # Safety
/// `pointer` is NULL, or points to a string that ends with a zero and is never freed or changed.
pub(crate) unsafe fn static_text(pointer: *const std::os::raw::c_char) -> Option<&'static str> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: as the caller says.
    let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
    // The library's texts are UTF-8. Should one not be, the part that is still tells something.
    let valid = std::str::from_utf8(bytes).or_else(|error| std::str::from_utf8(&bytes[..error.valid_up_to()]));
    Some(valid.unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -1, i32::MAX, i32::MIN] {
            assert_eq!(Status::from_number(number).number(), number);
        }
    }

    #[test]
    fn unknown_numbers_are_other() {
        assert_eq!(Status::from_number(4711), Status::Other(4711));
        assert_eq!(Status::Other(4711).name(), "unknown status");
        assert_eq!(Status::Other(0).name(), "unknown status");
        assert_eq!(Status::ShapeMismatch.name(), "shape mismatch");
    }
}
