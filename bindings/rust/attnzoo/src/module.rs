//! Attention mechanisms with their options and parameters: first built, then, once prepared, run.

use std::fmt;
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;

use attnzoo_sys as sys;

use crate::error::{c_text, check, Result};
use crate::forward::Forward;
use crate::introspection::Mechanism;
use crate::state::State;
use crate::tensor::Tensor;

/// The library's module, destroyed with the last that holds it.
struct Handle(NonNull<sys::attnzoo_module>);

// SAFETY: the library ties a module to no thread.
unsafe impl Send for Handle {}
// SAFETY: through a shared reference a module is only read, which the library lets many threads do at once.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: calls and states hold the module, so none is running or left, and nothing uses the handle after.
        unsafe { sys::attnzoo_module_destroy(self.0.as_ptr()) }
    }
}

/// A value that an option may be given: `bool`, an integer, a float, or text.
///
/// Text fits every type: "8", "0.125", "true", "shaw".
pub trait OptionValue: sealed::Sealed {}

mod sealed {
    use super::sys;
    use crate::error::Result;
    use std::os::raw::c_char;

    /// Keeps the list of types closed.
    pub trait Sealed {
        /// # Safety
        /// `module` is a module that nothing else uses meanwhile, and `name` a text that ends with a zero.
        unsafe fn set(self, module: *mut sys::attnzoo_module, name: *const c_char) -> Result<()>;
    }
}

macro_rules! option_values {
    ($($value:ty: |$module:ident, $name:ident, $given:ident| $call:expr;)*) => {
        $(
            impl sealed::Sealed for $value {
                unsafe fn set(
                    self,
                    $module: *mut sys::attnzoo_module,
                    $name: *const std::os::raw::c_char,
                ) -> Result<()> {
                    let $given = self;
                    // SAFETY: as the caller says; texts end with a zero.
                    check(unsafe { $call })
                }
            }
            impl OptionValue for $value {}
        )*
    };
}

option_values! {
    bool: |module, name, value| sys::attnzoo_module_set_option_bool(module, name, i32::from(value));
    i32: |module, name, value| sys::attnzoo_module_set_option_int(module, name, i64::from(value));
    u32: |module, name, value| sys::attnzoo_module_set_option_int(module, name, i64::from(value));
    i64: |module, name, value| sys::attnzoo_module_set_option_int(module, name, value);
    usize: |module, name, value| sys::attnzoo_module_set_option_int(module, name, crate::to_i64("an option", value)?);
    f32: |module, name, value| sys::attnzoo_module_set_option_float(module, name, f64::from(value));
    f64: |module, name, value| sys::attnzoo_module_set_option_float(module, name, value);
    &str: |module, name, value| sys::attnzoo_module_set_option_text(module, name, c_text(value)?.as_ptr());
    &String: |module, name, value| sys::attnzoo_module_set_option_text(module, name, c_text(value)?.as_ptr());
}

/// A module in the making: takes options and parameters, and is prepared at the end.
///
/// [`option`](ModuleBuilder::option) and [`parameter`](ModuleBuilder::parameter) are for chains; the same as
/// [`set_option`](ModuleBuilder::set_option) and [`set_parameter`](ModuleBuilder::set_parameter), which leave the
/// builder as it was if they fail.
///
/// What is not prepared cannot be run:
///
/// ```compile_fail,E0599
/// # use attnzoo::Module;
/// let numbers = [1.0_f32; 4];
/// let builder = Module::builder("scaled_dot_product").unwrap();
/// builder.forward(&numbers, &numbers, &numbers);
/// ```
///
/// nor set after:
///
/// ```compile_fail,E0382
/// # use attnzoo::Module;
/// let mut builder = Module::builder("scaled_dot_product").unwrap();
/// let module = builder.prepare().unwrap();
/// builder.set_option("scale", 1.0).unwrap();
/// ```
pub struct ModuleBuilder {
    handle: Handle,
}

impl ModuleBuilder {
    /// Sets an option. [`Mechanism::options`] tells which there are.
    ///
    /// # Errors
    /// [`Status::UnknownName`](crate::Status::UnknownName): the mechanism has no such option (the message lists those
    /// it has); [`Status::InvalidArgument`](crate::Status::InvalidArgument): a value of another type or out of bounds.
    pub fn option(mut self, name: &str, value: impl OptionValue) -> Result<ModuleBuilder> {
        self.set_option(name, value)?;
        Ok(self)
    }

    /// As [`option`](ModuleBuilder::option), in place.
    ///
    /// # Errors
    /// As [`option`](ModuleBuilder::option).
    pub fn set_option(&mut self, name: &str, value: impl OptionValue) -> Result<()> {
        let name = c_text(name)?;
        // SAFETY: the builder alone has the module and is borrowed mutably; the name ends with a zero.
        unsafe { value.set(self.handle.0.as_ptr(), name.as_ptr()) }
    }

    /// Copies a parameter in. [`Mechanism::parameters`] tells which there are, and their shapes.
    ///
    /// # Errors
    /// [`Status::UnknownName`](crate::Status::UnknownName): the mechanism has no such parameter (the message lists
    /// those it has); [`Status::DtypeMismatch`](crate::Status::DtypeMismatch);
    /// [`Status::ShapeMismatch`](crate::Status::ShapeMismatch): the wrong number of axes;
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    pub fn parameter<'t>(mut self, name: &str, parameter: impl Into<Tensor<'t>>) -> Result<ModuleBuilder> {
        self.set_parameter(name, parameter)?;
        Ok(self)
    }

    /// As [`parameter`](ModuleBuilder::parameter), in place.
    ///
    /// # Errors
    /// As [`parameter`](ModuleBuilder::parameter).
    pub fn set_parameter<'t>(&mut self, name: &str, parameter: impl Into<Tensor<'t>>) -> Result<()> {
        let name = c_text(name)?;
        let view = parameter.into().handle()?;
        // SAFETY: the builder alone has the module and is borrowed mutably; the name ends with a zero; the parameter is
        // copied during the call.
        check(unsafe { sys::attnzoo_module_set_parameter(self.handle.0.as_ptr(), name.as_ptr(), view.as_ptr()) })
    }

    /// Checks options and parameters together. The module that comes out never changes.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument): a required parameter is missing, options contradict
    /// each other; [`Status::ShapeMismatch`](crate::Status::ShapeMismatch): the message names the parameter, the shape
    /// it has and the one it should have; [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    pub fn prepare(self) -> Result<Module> {
        // SAFETY: the builder alone has the module, and ends here.
        check(unsafe { sys::attnzoo_module_prepare(self.handle.0.as_ptr()) })?;
        Ok(Module { handle: Arc::new(self.handle) })
    }

    /// The mechanism.
    pub fn mechanism(&self) -> Mechanism {
        mechanism_of(&self.handle)
    }
}

impl fmt::Debug for ModuleBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ModuleBuilder").field("mechanism", &self.mechanism().name()).finish()
    }
}

/// A mechanism with its options and parameters, ready to run.
///
/// It never changes, and any number of threads may run it at once. A clone is the same module, not a copy.
///
/// ```
/// use attnzoo::{Module, Tensor};
///
/// let module = Module::builder("scaled_dot_product")?.option("scale", 0.5)?.prepare()?;
/// let numbers = [1.0_f32, 0.0, 0.0, 1.0];
/// let tokens = Tensor::new(&numbers, &[2, 2])?;
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| module.forward(&tokens, &tokens, &tokens).into_vec().unwrap());
///     }
/// });
/// # Ok::<(), attnzoo::Error>(())
/// ```
#[derive(Clone)]
pub struct Module {
    handle: Arc<Handle>,
}

impl Module {
    /// Begins a module of a mechanism, with the default options and no parameters.
    /// [`mechanisms`](crate::mechanisms) tells which there are.
    ///
    /// # Errors
    /// [`Status::UnknownName`](crate::Status::UnknownName): no such mechanism (the message lists them);
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    pub fn builder(mechanism: &str) -> Result<ModuleBuilder> {
        let mechanism = c_text(mechanism)?;
        let mut module = null_mut();
        // SAFETY: `module` is a place for a handle, and the name ends with a zero.
        check(unsafe { sys::attnzoo_module_create(&mut module, mechanism.as_ptr()) })?;
        let handle = NonNull::new(module).map(Handle).ok_or_else(crate::missing_handle)?;
        Ok(ModuleBuilder { handle })
    }

    /// Begins a call. [`Forward`] takes what else goes in and out, and makes the call.
    pub fn forward<'c>(
        &'c self,
        query: impl Into<Tensor<'c>>,
        key: impl Into<Tensor<'c>>,
        value: impl Into<Tensor<'c>>,
    ) -> Forward<'c> {
        Forward::new(self, query.into(), key.into(), value.into())
    }

    /// Begins a call with the query alone, for mechanisms that can do without key or value:
    /// [`input`](Forward::input) takes whatever else goes in.
    ///
    /// ```
    /// # let numbers = [1.0_f32, 0.0, 0.0, 1.0];
    /// use attnzoo::{Module, Tensor};
    ///
    /// let tokens = Tensor::new(&numbers, &[2, 2])?;
    /// let module = Module::builder("scaled_dot_product")?.prepare()?;
    /// let context = module.call(tokens).input("value", tokens).input("key", tokens).into_vec()?;
    /// assert_eq!(context, module.forward(tokens, tokens, tokens).into_vec()?);
    /// # Ok::<(), attnzoo::Error>(())
    /// ```
    pub fn call<'c>(&'c self, query: impl Into<Tensor<'c>>) -> Forward<'c> {
        Forward::of_inputs(self, vec![Some(query.into())])
    }

    /// An empty state for calls of this module; see [`State`].
    ///
    /// # Errors
    /// [`Status::Unsupported`](crate::Status::Unsupported): the mechanism carries no state;
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument): sizes that pass 63 bits;
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    pub fn state(&self, batch: usize, capacity: usize) -> Result<State> {
        State::new(self, batch, capacity)
    }

    /// The mechanism.
    pub fn mechanism(&self) -> Mechanism {
        mechanism_of(&self.handle)
    }

    pub(crate) fn as_ptr(&self) -> *const sys::attnzoo_module {
        self.handle.0.as_ptr()
    }
}

fn mechanism_of(handle: &Handle) -> Mechanism {
    // SAFETY: the handle lives; the name of its mechanism is a static string, and never NULL for a handle.
    unsafe { Mechanism::from_static(sys::attnzoo_module_mechanism(handle.0.as_ptr())) }
}

impl fmt::Debug for Module {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Module").field("mechanism", &self.mechanism().name()).finish()
    }
}
