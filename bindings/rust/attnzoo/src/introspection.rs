//! What mechanisms there are, and what each has. Nothing here knows any mechanism by name.

use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;

use attnzoo_sys as sys;

use crate::error::static_text;

/// A mechanism of the library, by which everything that it has can be asked for.
///
/// ```
/// for mechanism in attnzoo::mechanisms() {
///     println!("{}: {}", mechanism.name(), mechanism.summary());
/// }
/// let multi_head = attnzoo::Mechanism::find("multi_head").unwrap();
/// let options = multi_head.options();
/// assert_eq!(options.iter().find(|option| option.name == "num_heads").unwrap().default, "1");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mechanism {
    name: &'static CStr,
}

/// An option of a mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionItem {
    /// What it is called.
    pub name: &'static str,
    /// One line of English.
    pub summary: &'static str,
    /// "float", "int", "bool" or "choice".
    pub data_type: &'static str,
    /// The default as text; a formula such as "1/sqrt(D)" where it follows from the inputs.
    pub default: &'static str,
    /// What values it takes, such as ">= 0", or its choices with "|" between them.
    pub bounds: &'static str,
}

/// A parameter, an input, an output or a state field of a mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// Its number among those of its kind.
    pub place: usize,
    /// What it is called.
    pub name: &'static str,
    /// One line of English.
    pub summary: &'static str,
    /// Its shape, such as "\[B, H, N, D\]".
    pub shape: &'static str,
    /// Whether it has to be given.
    pub is_required: bool,
    /// Of an input, an output or a state field "float" ([`Float`](crate::Float) types) or "integer" (`i32` or `i64`); ""
    /// of a parameter, which is "float" always.
    pub data_type: &'static str,
}

/// All mechanisms that the library has.
pub fn mechanisms() -> Vec<Mechanism> {
    // SAFETY: the function takes nothing.
    let count = unsafe { sys::attnzoo_mechanism_count() };
    let names = (0..count).map(|index| {
        // SAFETY: the function takes any number and returns a static string or NULL.
        unsafe { sys::attnzoo_mechanism_name(index) }
    });
    // SAFETY: those that are not NULL are static strings.
    names.filter(|name| !name.is_null()).map(|name| unsafe { Mechanism::from_static(name) }).collect()
}

impl Mechanism {
    /// # Safety
    /// `name` is a static string, the name of a mechanism.
    pub(crate) unsafe fn from_static(name: *const c_char) -> Mechanism {
        // SAFETY: as the caller says.
        let name = unsafe { CStr::from_ptr(name) };
        Mechanism { name }
    }

    /// The mechanism of a name, if there is one.
    pub fn find(name: &str) -> Option<Mechanism> {
        mechanisms().into_iter().find(|mechanism| mechanism.name() == name)
    }

    /// Its name, such as "multi_head".
    pub fn name(self) -> &'static str {
        // SAFETY: the name is a static string.
        unsafe { static_text(self.name.as_ptr()) }.unwrap_or("")
    }

    /// One line of English.
    pub fn summary(self) -> &'static str {
        self.own_text(sys::ATTNZOO_FIELD_SUMMARY)
    }

    /// What it computes, as a formula in plain text.
    pub fn formula(self) -> &'static str {
        self.own_text(sys::ATTNZOO_FIELD_FORMULA)
    }

    /// The papers that it comes from.
    pub fn source(self) -> &'static str {
        self.own_text(sys::ATTNZOO_FIELD_SOURCE)
    }

    /// Its options.
    pub fn options(self) -> Vec<OptionItem> {
        let kind = sys::ATTNZOO_ITEM_OPTION;
        let item = |place| {
            let text = |field| self.text(kind, place, field).unwrap_or("");
            Some(OptionItem {
                name: self.text(kind, place, sys::ATTNZOO_FIELD_NAME)?,
                summary: text(sys::ATTNZOO_FIELD_SUMMARY),
                data_type: text(sys::ATTNZOO_FIELD_TYPE),
                default: text(sys::ATTNZOO_FIELD_DEFAULT),
                bounds: text(sys::ATTNZOO_FIELD_BOUNDS),
            })
        };
        (0..self.count(kind)).filter_map(item).collect()
    }

    /// Its parameters.
    pub fn parameters(self) -> Vec<Item> {
        self.items(sys::ATTNZOO_ITEM_PARAMETER)
    }

    /// Its inputs.
    pub fn inputs(self) -> Vec<Item> {
        self.items(sys::ATTNZOO_ITEM_INPUT)
    }

    /// Its outputs.
    pub fn outputs(self) -> Vec<Item> {
        self.items(sys::ATTNZOO_ITEM_OUTPUT)
    }

    /// What its states hold; nothing where it carries no state.
    pub fn state_fields(self) -> Vec<Item> {
        self.items(sys::ATTNZOO_ITEM_STATE)
    }

    fn own_text(self, field: i32) -> &'static str {
        self.text(sys::ATTNZOO_ITEM_MECHANISM, 0, field).unwrap_or("")
    }

    fn count(self, kind: i32) -> i32 {
        // SAFETY: the name ends with a zero.
        unsafe { sys::attnzoo_item_count(self.name.as_ptr(), kind) }
    }

    fn text(self, kind: i32, place: i32, field: i32) -> Option<&'static str> {
        // SAFETY: the name ends with a zero; what comes back is a static string or NULL.
        unsafe { static_text(sys::attnzoo_item_text(self.name.as_ptr(), kind, place, field)) }
    }

    /// The items of a kind. Places that the mechanism leaves free are left out.
    fn items(self, kind: i32) -> Vec<Item> {
        let item = |place: i32| {
            Some(Item {
                place: usize::try_from(place).ok()?,
                name: self.text(kind, place, sys::ATTNZOO_FIELD_NAME)?,
                summary: self.text(kind, place, sys::ATTNZOO_FIELD_SUMMARY).unwrap_or(""),
                shape: self.text(kind, place, sys::ATTNZOO_FIELD_SHAPE).unwrap_or(""),
                is_required: self.text(kind, place, sys::ATTNZOO_FIELD_REQUIRED) == Some("yes"),
                data_type: self.text(kind, place, sys::ATTNZOO_FIELD_TYPE).unwrap_or(""),
            })
        };
        (0..self.count(kind)).filter_map(item).collect()
    }
}

impl fmt::Debug for Mechanism {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Mechanism").field(&self.name()).finish()
    }
}
