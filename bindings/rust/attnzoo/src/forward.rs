//! One call of a module: what goes in, what comes out.

use std::fmt;
use std::ptr::{null, null_mut};

use attnzoo_sys as sys;

use crate::error::{check, Error, Result, Status};
use crate::executor::Executor;
use crate::introspection::Item;
use crate::mask::Mask;
use crate::module::Module;
use crate::state::State;
use crate::tensor::{Tensor, TensorMut};
use crate::view::Handle;

const KEY: usize = sys::ATTNZOO_INPUT_KEY as usize;
const VALUE: usize = sys::ATTNZOO_INPUT_VALUE as usize;
const CONTEXT: usize = sys::ATTNZOO_OUTPUT_CONTEXT as usize;

/// A call in the making, from [`Module::forward`]: takes what else goes in and out, and is made by
/// [`run`](Forward::run) or [`into_vec`](Forward::into_vec).
///
/// ```
/// use attnzoo::{Executor, Mask, Module, Tensor, TensorMut};
///
/// let (query, key) = ([1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0], [1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0]);
/// let value = [10.0_f32, 0.0, 0.0, 10.0, 5.0, 5.0];
/// let (mut context, mut attention) = ([0.0_f32; 6], [0.0_f32; 9]);
///
/// let module = Module::builder("scaled_dot_product")?.prepare()?;
/// let executor = Executor::new()?;
/// let mut mask = Mask::new()?;
/// mask.set_causal(true)?;
/// module
///     .forward(Tensor::new(&query, &[3, 2])?, Tensor::new(&key, &[3, 2])?, Tensor::new(&value, &[3, 2])?)
///     .mask(&mask)
///     .executor(&executor)
///     .attention(&mut TensorMut::new(&mut attention, &[3, 3])?)
///     .run(&mut TensorMut::new(&mut context, &[3, 2])?)?;
/// assert_eq!(context[..2], [10.0, 0.0]); // the first query sees the first key alone
/// assert_eq!(attention[..3], [1.0, 0.0, 0.0]);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// Two threads cannot continue one state at the same time:
///
/// ```compile_fail,E0499
/// # use attnzoo::{Module, State};
/// # fn step(module: &Module, state: &mut State, token: &[f32]) {
/// std::thread::scope(|scope| {
///     scope.spawn(|| module.forward(token, token, token).state(state).into_vec());
///     scope.spawn(|| module.forward(token, token, token).state(state).into_vec());
/// });
/// # }
/// ```
///
/// nor can a mask change while a call may read it:
///
/// ```compile_fail,E0502
/// # use attnzoo::{Mask, Module};
/// # fn call(module: &Module, mask: &mut Mask, token: &[f32]) {
/// let call = module.forward(token, token, token).mask(mask);
/// mask.set_causal(true).unwrap();
/// call.into_vec().unwrap();
/// # }
/// ```
#[must_use = "nothing is computed before run() or into_vec()"]
pub struct Forward<'c> {
    module: &'c Module,
    executor: Option<&'c Executor>,
    mask: Option<&'c Mask<'c>>,
    state: Option<&'c mut State>,
    inputs: Vec<Option<Tensor<'c>>>,
    outputs: Vec<Option<TensorMut<'c>>>,
    /// Whether keys, values and state are those of an utterance.
    is_step: bool,
    /// The first thing that was wrong; told when the call is made.
    error: Option<Error>,
}

impl<'c> Forward<'c> {
    pub(crate) fn new(module: &'c Module, query: Tensor<'c>, key: Tensor<'c>, value: Tensor<'c>) -> Forward<'c> {
        // In the order of ATTNZOO_INPUT_QUERY, _KEY and _VALUE.
        Forward::of_inputs(module, vec![Some(query), Some(key), Some(value)])
    }

    /// A call with inputs by place.
    pub(crate) fn of_inputs(module: &'c Module, inputs: Vec<Option<Tensor<'c>>>) -> Forward<'c> {
        Forward {
            module,
            executor: None,
            mask: None,
            state: None,
            inputs,
            outputs: Vec::new(),
            is_step: false,
            error: None,
        }
    }

    /// A call with the keys and values that were borrowed for longer than the state remembers them.
    pub(crate) fn of_utterance(
        module: &'c Module,
        query: Tensor<'c>,
        key: Tensor<'c>,
        value: Tensor<'c>,
        state: &'c mut State,
    ) -> Forward<'c> {
        let mut call = Forward::new(module, query, key, value).state(state);
        call.is_step = true;
        call
    }

    /// Threads and scratch memory. Without, the call runs in the calling thread with memory allocated for it alone.
    pub fn executor(mut self, executor: &'c Executor) -> Self {
        self.executor = Some(executor);
        self
    }

    /// What may be seen, and biases. Without, nothing is hidden.
    pub fn mask(mut self, mask: &'c Mask<'_>) -> Self {
        self.mask = Some(mask);
        self
    }

    /// What the call continues, and leaves for the next.
    pub fn state(mut self, state: &'c mut State) -> Self {
        if self.is_step {
            return self.refuse(Error::invalid("an utterance's step has a state, and takes no other".into()));
        }
        self.state = Some(state);
        self
    }

    /// The table of positions, `[P, E]` or `[B, P, E]`, that `relative_multi_head` takes with flavor=transformer_xl.
    pub fn position(self, position: impl Into<Tensor<'c>>) -> Self {
        self.set_input(sys::ATTNZOO_INPUT_POSITION as usize, position.into())
    }

    /// An input by the name that [`Mechanism::inputs`](crate::Mechanism::inputs) has for it, of `i32` or `i64` where it
    /// says "integer". One that was given before is replaced.
    pub fn input(self, name: &str, tensor: impl Into<Tensor<'c>>) -> Self {
        match self.place("input", &self.module.mechanism().inputs(), name) {
            Ok(KEY | VALUE) if self.is_step => {
                self.refuse(Error::invalid(format!("an utterance's step has a {}, and takes no other", name)))
            }
            Ok(place) => self.set_input(place, tensor.into()),
            Err(error) => self.refuse(error),
        }
    }

    /// Asks for the attention too: `[B, H, N, M]`, or `[B, N, M]` with the option average_heads and for mechanisms
    /// without heads.
    pub fn attention(self, attention: &'c mut TensorMut<'_>) -> Self {
        self.set_output(sys::ATTNZOO_OUTPUT_ATTENTION as usize, attention.reborrow())
    }

    /// Asks for the log-sum-exp of the scores too, which `scaled_dot_product` has: `[B, H, N]`, `f32`.
    pub fn log_sum_exp(self, log_sum_exp: &'c mut TensorMut<'_>) -> Self {
        self.set_output(sys::ATTNZOO_OUTPUT_LOG_SUM_EXP as usize, log_sum_exp.reborrow())
    }

    /// Asks for an output by the name that [`Mechanism::outputs`](crate::Mechanism::outputs) has for it, but the context,
    /// which is [`run`](Forward::run)'s. To ask for one twice is an error of the call.
    pub fn output(self, name: &str, tensor: &'c mut TensorMut<'_>) -> Self {
        match self.place("output", &self.module.mechanism().outputs(), name) {
            Ok(place) => self.set_output(place, tensor.reborrow()),
            Err(error) => self.refuse(error),
        }
    }

    /// Makes the call and writes the context.
    ///
    /// Outputs are `f32`, [`F16`](crate::F16) or [`Bf16`](crate::Bf16), those of integers `i32` or `i64`, of the shape
    /// that [`output_shape`](Forward::output_shape) tells, with any strides that nest.
    ///
    /// # Errors
    /// [`Status::ShapeMismatch`], [`Status::DtypeMismatch`]; [`Status::InvalidArgument`]: a mask's length or offset is
    /// out of bounds (the message names the batch), a state has no room for the keys; [`Status::Overlap`]: an output's
    /// strides lead to one element twice; [`Status::Unsupported`]: something the mechanism does not take;
    /// [`Status::UnknownName`]: an input or output that it does not have; [`Status::BadState`]: a state of another
    /// module; [`Status::OutOfMemory`], [`Status::System`]. Then no output was written, and the state is as it was.
    pub fn run(self, context: &mut TensorMut<'_>) -> Result<()> {
        let Forward { module, executor, mask, mut state, inputs, mut outputs, is_step, error } = self;
        error.map_or(Ok(()), Err)?;
        // The keys of an earlier call may be gone, and others lie in their place.
        if let (Some(state), false) = (&mut state, is_step) {
            state.forget_keys()?;
        }
        let inputs = Handles::of_inputs(&inputs)?;
        if outputs.is_empty() {
            outputs.push(None);
        }
        let mut handles = Vec::with_capacity(outputs.len());
        handles.push(Some(context.handle_mut()?));
        for output in &mut outputs[CONTEXT + 1..] {
            handles.push(output.as_mut().map(TensorMut::handle_mut).transpose()?);
        }
        let outputs: Vec<*mut sys::attnzoo_tensor> =
            handles.iter().map(|handle| handle.as_ref().map_or(null_mut(), Handle::as_ptr)).collect();
        // SAFETY: the module is prepared; executor, mask and state are borrowed, the state mutably; the arrays have as
        // many places as is said, each with a view of borrowed memory (of outputs, mutably borrowed) or NULL.
        check(unsafe {
            sys::attnzoo_module_forward_slots(
                module.as_ptr(),
                executor.map_or(null_mut(), Executor::as_ptr),
                inputs.pointers.as_ptr().cast(),
                inputs.pointers.len() as i32,
                mask.map_or(null(), Mask::as_ptr),
                state.map_or(null_mut(), State::as_mut_ptr),
                outputs.as_ptr(),
                outputs.len() as i32,
            )
        })
    }

    /// Makes the call and returns the context, row-major, of the shape that [`output_shape`](Forward::output_shape)
    /// tells for "context".
    ///
    /// # Errors
    /// As [`run`](Forward::run).
    pub fn into_vec(self) -> Result<Vec<f32>> {
        let shape = self.output_shape("context")?;
        let count = shape.iter().try_fold(1_usize, |count, &size| count.checked_mul(size));
        let count = count.ok_or_else(|| Error::invalid(format!("a context of {:?} cannot be addressed", shape)))?;
        let mut context = Vec::new();
        context
            .try_reserve_exact(count)
            .map_err(|_| Error::new(Status::OutOfMemory, format!("no memory for a context of {:?}", shape)))?;
        context.resize(count, 0.0);
        self.run(&mut TensorMut::new(&mut context, &shape)?)?;
        Ok(context)
    }

    /// The shape that an output of this call has, by the output's name: "context", "attention". Axes that the query
    /// leaves out are left out.
    ///
    /// # Errors
    /// [`Status::UnknownName`]; [`Status::ShapeMismatch`]: the inputs do not fit each other;
    /// [`Status::InvalidArgument`]: an input is missing.
    pub fn output_shape(&self, output: &str) -> Result<Vec<usize>> {
        self.error.clone().map_or(Ok(()), Err)?;
        let place = self.place("output", &self.module.mechanism().outputs(), output)?;
        let inputs = Handles::of_inputs(&self.inputs)?;
        crate::fetch_shape(|rank, shape| {
            // SAFETY: the module is prepared; the array has as many places as is said, each with a view of borrowed
            // memory or NULL; rank and shape have room for what is written.
            unsafe {
                sys::attnzoo_module_output_shape(
                    self.module.as_ptr(),
                    inputs.pointers.as_ptr().cast(),
                    inputs.pointers.len() as i32,
                    self.state.as_ref().map_or(null(), |state| state.as_ptr()),
                    place as i32,
                    rank,
                    shape,
                )
            }
        })
    }

    fn refuse(mut self, error: Error) -> Self {
        self.error.get_or_insert(error);
        self
    }

    fn set_input(mut self, place: usize, tensor: Tensor<'c>) -> Self {
        if self.inputs.len() <= place {
            self.inputs.resize(place + 1, None);
        }
        self.inputs[place] = Some(tensor);
        self
    }

    fn set_output(mut self, place: usize, tensor: TensorMut<'c>) -> Self {
        if place == CONTEXT {
            return self.refuse(Error::invalid("the context is written where run() says, and nowhere else".into()));
        }
        if matches!(self.outputs.get(place), Some(Some(_))) {
            let outputs = self.module.mechanism().outputs();
            let name = outputs.iter().find(|output| output.place == place).map_or("an output", |output| output.name);
            return self.refuse(Error::invalid(format!("{} is asked for twice", name)));
        }
        if self.outputs.len() <= place {
            self.outputs.resize_with(place + 1, || None);
        }
        self.outputs[place] = Some(tensor);
        self
    }

    fn place(&self, kind: &str, items: &[Item], name: &str) -> Result<usize> {
        items.iter().find(|item| item.name == name).map(|item| item.place).ok_or_else(|| {
            let names: Vec<&str> = items.iter().map(|item| item.name).collect();
            let mechanism = self.module.mechanism().name();
            Error::new(
                Status::UnknownName,
                format!("{} has no {} {:?}; it has {}", mechanism, kind, name, names.join(", ")),
            )
        })
    }
}

/// The library's views of the inputs, by place, and the pointers to them.
struct Handles {
    pointers: Vec<*const sys::attnzoo_tensor>,
    _handles: Vec<Option<Handle>>,
}

impl Handles {
    fn of_inputs(inputs: &[Option<Tensor<'_>>]) -> Result<Handles> {
        let handles = inputs.iter().map(|input| input.as_ref().map(Tensor::handle).transpose());
        let handles = handles.collect::<Result<Vec<_>>>()?;
        let pointers =
            handles.iter().map(|handle| handle.as_ref().map_or(null(), |handle| handle.as_ptr() as *const _));
        Ok(Handles { pointers: pointers.collect(), _handles: handles })
    }
}

impl fmt::Debug for Forward<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut description = formatter.debug_struct("Forward");
        description.field("module", &self.module).field("inputs", &self.inputs).field("outputs", &self.outputs);
        description.finish_non_exhaustive()
    }
}
