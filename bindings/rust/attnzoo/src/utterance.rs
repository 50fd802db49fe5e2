//! The keys and values of one utterance, borrowed for many steps.

use std::fmt;

use crate::error::Result;
use crate::forward::Forward;
use crate::module::Module;
use crate::state::State;
use crate::tensor::Tensor;

/// A state together with the keys and values of its utterance, from [`State::utterance`]. While it borrows them nothing
/// can change them or come to lie in their place, so their projections are made by the first step and used by the others.
///
/// ```
/// use attnzoo::{Module, Tensor};
/// # let mut builder = Module::builder("location_aware")?;
/// # let numbers = [0.5_f32, -0.25, 0.75, 0.125, -0.5, 1.0];
/// # for (name, shape) in [("query_proj.weight", &[2, 2][..]), ("key_proj.weight", &[2, 2]), ("score_proj.weight", &[1, 2]),
/// #     ("location_conv.weight", &[2, 1, 3]), ("location_proj.weight", &[2, 2])] {
/// #     builder.set_parameter(name, Tensor::new(&numbers[..shape.iter().product()], shape)?)?;
/// # }
/// # let module = builder.prepare()?;
///
/// // `module` is of location_aware.
/// let (keys, mut query) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], vec![1.0_f32, 0.5]);
/// let keys = Tensor::new(&keys, &[3, 2])?;
/// let mut state = module.state(1, 3)?;
/// let mut utterance = state.utterance(keys, keys)?;
/// for _ in 0..4 {
///     query = utterance.step(Tensor::new(&query, &[1, 2])?).into_vec()?;
/// }
/// assert_eq!(utterance.state().length(), 3);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// ```compile_fail,E0506
/// # use attnzoo::{State, Tensor};
/// # fn decode(state: &mut State, keys: &mut [f32], query: Tensor<'_>) {
/// let mut utterance = state.utterance(&*keys, &*keys).unwrap();
/// keys[0] = 1.0;
/// utterance.step(query).into_vec().unwrap();
/// # }
/// ```
pub struct Utterance<'u> {
    // What the state remembers of keys and values is always nothing, or these.
    state: &'u mut State,
    module: Module,
    key: Tensor<'u>,
    value: Tensor<'u>,
}

impl<'u> Utterance<'u> {
    pub(crate) fn new(state: &'u mut State, key: Tensor<'u>, value: Tensor<'u>) -> Result<Utterance<'u>> {
        state.forget_keys()?;
        let module = state.module().clone();
        Ok(Utterance { state, module, key, value })
    }

    /// Begins the next call, as [`Module::forward`] with these keys and values and this state does. Another state, key or
    /// value in its place is an error of the call.
    pub fn step<'c>(&'c mut self, query: impl Into<Tensor<'c>>) -> Forward<'c> {
        Forward::of_utterance(&self.module, query.into(), self.key, self.value, self.state)
    }

    /// The state, to be read.
    pub fn state(&self) -> &State {
        self.state
    }

    /// Makes this one's state hold what another's does, as [`State::copy_from`]: to go on with a hypothesis of a beam. Where
    /// both have the same keys and values in the same place, their projections are copied and not made anew.
    ///
    /// # Errors
    /// As [`State::copy_from`].
    pub fn copy_from(&mut self, source: &Utterance<'_>) -> Result<()> {
        self.state.copy_from(source.state)?;
        if self.key.is_same_view(&source.key) && self.value.is_same_view(&source.value) {
            return Ok(());
        }
        self.state.forget_keys()
    }
}

impl fmt::Debug for Utterance<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut description = formatter.debug_struct("Utterance");
        description.field("state", &self.state).field("key", &self.key).field("value", &self.value).finish()
    }
}
