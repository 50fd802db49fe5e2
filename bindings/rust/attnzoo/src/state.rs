//! What a mechanism carries from one call to the next.

use std::fmt;
use std::ptr::{null, null_mut, NonNull};

use attnzoo_sys as sys;

use crate::error::{check, Error, Result, Status};
use crate::module::Module;
use crate::tensor::{Tensor, TensorMut};
use crate::utterance::Utterance;
use crate::view::Handle;

/// A key/value cache (`multi_head`, `relative_multi_head`) or the alignment of a recurrent mechanism
/// (`location_aware`), for calls of one module. It keeps that module alive.
///
/// A cache grows: each call appends its projected keys and values and attends over all of them.
///
/// An alignment belongs to one utterance. Call by call, the projections of its keys and values are made anew each time,
/// since the state cannot know whether the memory that it saw holds other numbers by now. [`utterance`](State::utterance)
/// borrows keys and values for many steps, which then project them once: it is what to decode with.
///
/// ```
/// use attnzoo::{Mask, Module, Tensor};
///
/// let identity = [1.0_f32, 0.0, 0.0, 1.0];
/// let mut builder = Module::builder("multi_head")?;
/// for name in ["query_proj.weight", "key_proj.weight", "value_proj.weight"] {
///     builder.set_parameter(name, Tensor::new(&identity, &[2, 2])?)?;
/// }
/// let module = builder.prepare()?;
///
/// let mut cache = module.state(1, 16)?;
/// for step in 1..=3 {
///     let token = [step as f32, 1.0];
///     let token = Tensor::new(&token, &[1, 2])?;
///     module.forward(token, token, token).state(&mut cache).into_vec()?;
///     assert_eq!(cache.length(), step);
/// }
/// assert_eq!(cache.field_shape("key")?, [1, 1, 3, 2]);
/// cache.truncate(2)?;
/// assert_eq!(cache.field("key")?, [1.0, 1.0, 2.0, 1.0]);
/// # Ok::<(), attnzoo::Error>(())
/// ```
pub struct State {
    handle: NonNull<sys::attnzoo_state>,
    /// The module must outlive the state.
    module: Module,
    /// Whether it grows by the keys of each call. If not, the library keeps what it made of the keys, and knows them
    /// again by the place of their memory.
    is_cache: bool,
}

// SAFETY: the library ties a state to no thread.
unsafe impl Send for State {}
// SAFETY: through a shared reference a state is only read, which the library lets many threads do at once.
unsafe impl Sync for State {}

impl State {
    pub(crate) fn new(module: &Module, batch: usize, capacity: usize) -> Result<State> {
        let (batch, capacity) = (crate::to_i64("batch", batch)?, crate::to_i64("capacity", capacity)?);
        let mut state = null_mut();
        // SAFETY: `state` is a place for a handle; the module is prepared, and held by the state.
        check(unsafe { sys::attnzoo_state_create(&mut state, module.as_ptr(), batch, capacity) })?;
        let handle = NonNull::new(state).ok_or_else(crate::missing_handle)?;
        // Cutting a cache behind its end changes nothing; what is no cache refuses to be cut.
        // SAFETY: the handle is new, and nothing else uses it.
        let is_cache = unsafe { sys::attnzoo_state_truncate(state, i64::MAX) } == sys::ATTNZOO_STATUS_OK;
        Ok(State { handle, module: module.clone(), is_cache })
    }

    /// The module that the state serves.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Empties the state, as though it were new: before each new sequence or utterance.
    ///
    /// # Errors
    /// None as the library is now.
    pub fn reset(&mut self) -> Result<()> {
        // SAFETY: the handle is this state's own, which is borrowed mutably.
        check(unsafe { sys::attnzoo_state_reset(self.handle.as_ptr()) })
    }

    /// Forgets all keys of a cache from number `length` on, for instance after a rejected draft of tokens.
    ///
    /// # Errors
    /// [`Status::Unsupported`]: the state is no cache.
    pub fn truncate(&mut self, length: usize) -> Result<()> {
        let length = crate::to_i64("length", length)?;
        // SAFETY: the handle is this state's own, which is borrowed mutably.
        check(unsafe { sys::attnzoo_state_truncate(self.handle.as_ptr(), length) })
    }

    /// Borrows the keys and values of an utterance for many steps, which then project them once. The state goes on from
    /// what it holds: [`reset`](State::reset) it before a new utterance.
    ///
    /// # Errors
    /// [`Status::Unsupported`]: the state is a cache, whose every call brings other keys.
    pub fn utterance<'u>(
        &'u mut self,
        key: impl Into<Tensor<'u>>,
        value: impl Into<Tensor<'u>>,
    ) -> Result<Utterance<'u>> {
        if self.is_cache {
            let text = format!("the state of {} is a cache, not an utterance's", self.module.mechanism().name());
            return Err(Error::new(Status::Unsupported, text));
        }
        Utterance::new(self, key.into(), value.into())
    }

    /// Makes this state hold what another does, of the same mechanism and sizes.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`]: the other holds more keys than there is room for here; [`Status::ShapeMismatch`]:
    /// the two are not of one kind.
    pub fn copy_from(&mut self, source: &State) -> Result<()> {
        // SAFETY: both handles live; this state is borrowed mutably, the other is only read.
        check(unsafe { sys::attnzoo_state_copy(self.handle.as_ptr(), source.handle.as_ptr()) })
    }

    /// A copy, to go on from the same place in two ways.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`].
    pub fn try_clone(&self) -> Result<State> {
        let mut copy = State::new(&self.module, self.batch(), self.capacity())?;
        copy.copy_from(self)?;
        Ok(copy)
    }

    /// How many keys the state holds.
    pub fn length(&self) -> usize {
        // SAFETY: the handle lives as long as `self`.
        unsafe { sys::attnzoo_state_length(self.handle.as_ptr()) }.max(0) as usize
    }

    /// The most keys that the state can hold.
    pub fn capacity(&self) -> usize {
        // SAFETY: as above.
        unsafe { sys::attnzoo_state_capacity(self.handle.as_ptr()) }.max(0) as usize
    }

    /// B of the calls that the state serves.
    pub fn batch(&self) -> usize {
        // SAFETY: as above.
        unsafe { sys::attnzoo_state_batch(self.handle.as_ptr()) }.max(0) as usize
    }

    /// The shape of a field as it is now. [`Mechanism::state_fields`](crate::Mechanism::state_fields) tells the names.
    ///
    /// # Errors
    /// [`Status::UnknownName`].
    pub fn field_shape(&self, name: &str) -> Result<Vec<usize>> {
        let field = self.place(name)? as i32;
        // SAFETY: the handle lives as long as `self`; rank and shape have room for what is written.
        crate::fetch_shape(|rank, shape| unsafe {
            sys::attnzoo_state_field_shape(self.handle.as_ptr(), field, rank, shape)
        })
    }

    /// A field's numbers, row-major, of the shape that [`field_shape`](State::field_shape) tells.
    ///
    /// # Errors
    /// [`Status::UnknownName`].
    pub fn field(&self, name: &str) -> Result<Vec<f32>> {
        let shape = self.field_shape(name)?;
        let mut values = vec![0.0; shape.iter().product()];
        self.read_field(name, &mut TensorMut::new(&mut values, &shape)?)?;
        Ok(values)
    }

    /// Copies a field into memory that is there already.
    ///
    /// # Errors
    /// [`Status::UnknownName`]; [`Status::ShapeMismatch`]; [`Status::Overlap`]: strides that lead to one element twice.
    pub fn read_field(&self, name: &str, values: &mut TensorMut<'_>) -> Result<()> {
        let field = self.place(name)? as i32;
        let view = values.handle_mut()?;
        // SAFETY: the handle lives as long as `self`; the view is of mutably borrowed memory.
        check(unsafe { sys::attnzoo_state_get_field(self.handle.as_ptr(), field, view.as_ptr()) })
    }

    /// Replaces what the state holds, all fields at once. What [`field`](State::field) gave makes the state continue
    /// from there, to the bit.
    ///
    /// # Errors
    /// [`Status::UnknownName`]; [`Status::InvalidArgument`]: a field is missing, or longer than the capacity;
    /// [`Status::ShapeMismatch`]; [`Status::DtypeMismatch`]. Then the state is as it was.
    pub fn set_fields(&mut self, fields: &[(&str, Tensor<'_>)]) -> Result<()> {
        let mut handles: Vec<Option<Handle>> = Vec::new();
        for (name, values) in fields {
            let place = self.place(name)?;
            if handles.len() <= place {
                handles.resize_with(place + 1, || None);
            }
            handles[place] = Some(values.handle()?);
        }
        let pointers: Vec<*const sys::attnzoo_tensor> =
            handles.iter().map(|handle| handle.as_ref().map_or(null(), |handle| handle.as_ptr() as *const _)).collect();
        // SAFETY: the handle is this state's own, which is borrowed mutably; the array has as many places as is said,
        // each with a view of borrowed memory or NULL.
        check(unsafe { sys::attnzoo_state_set_fields(self.handle.as_ptr(), pointers.as_ptr(), pointers.len() as i32) })
    }

    /// Has the library forget which keys and values it saw last, and so project those of the next call anew. Setting the
    /// fields to what they are does that, and changes nothing else.
    pub(crate) fn forget_keys(&mut self) -> Result<()> {
        if self.is_cache || self.length() == 0 {
            return Ok(());
        }
        let fields = self.module.mechanism().state_fields();
        let mut held = Vec::with_capacity(fields.len());
        for field in &fields {
            held.push((field.name, self.field_shape(field.name)?, self.field(field.name)?));
        }
        let views = held.iter().map(|(name, shape, values)| Ok((*name, Tensor::new(values, shape)?)));
        self.set_fields(&views.collect::<Result<Vec<_>>>()?)
    }

    fn place(&self, name: &str) -> Result<usize> {
        let fields = self.module.mechanism().state_fields();
        fields.iter().find(|field| field.name == name).map(|field| field.place).ok_or_else(|| {
            let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
            Error::new(Status::UnknownName, format!("the state has no field {:?}; it has {}", name, names.join(", ")))
        })
    }

    pub(crate) fn as_ptr(&self) -> *const sys::attnzoo_state {
        self.handle.as_ptr()
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut sys::attnzoo_state {
        self.handle.as_ptr()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: calls borrow the state, so none is running, and nothing uses the handle after. The module goes later.
        unsafe { sys::attnzoo_state_destroy(self.handle.as_ptr()) }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut description = formatter.debug_struct("State");
        description.field("module", &self.module).field("batch", &self.batch()).field("length", &self.length());
        description.field("capacity", &self.capacity()).finish()
    }
}
