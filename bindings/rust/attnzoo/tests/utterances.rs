//! Alignments, whose projected keys the library knows again by the place of their memory: no other keys may be taken for
//! them. "Expected" is what a state made from the fields alone gives, which has seen no keys.

mod common;

use attnzoo::{Module, State, Status, Tensor, Utterance};
use common::Random;

const KEYS: usize = 5;
const FEATURES: usize = 2;

fn module() -> Module {
    let mut random = Random(11);
    let mut builder = Module::builder("location_aware").unwrap();
    let parameters: [(&str, &[usize]); 6] = [
        ("query_proj.weight", &[4, FEATURES]),
        ("key_proj.weight", &[4, FEATURES]),
        ("value_proj.weight", &[FEATURES, FEATURES]),
        ("score_proj.weight", &[1, 4]),
        ("location_conv.weight", &[2, 1, 3]),
        ("location_proj.weight", &[4, 2]),
    ];
    for (name, shape) in parameters {
        let weights = random.numbers(shape.iter().product());
        builder.set_parameter(name, Tensor::new(&weights, shape).unwrap()).unwrap();
    }
    builder.prepare().unwrap()
}

fn keys(seed: u64) -> Vec<f32> {
    Random(seed).numbers(KEYS * FEATURES)
}

fn view(keys: &[f32]) -> Tensor<'_> {
    Tensor::new(keys, &[KEYS, FEATURES]).unwrap()
}

const QUERY: [f32; FEATURES] = [1.0, 0.5];

fn query() -> Tensor<'static> {
    Tensor::new(&QUERY, &[1, FEATURES]).unwrap()
}

fn call(state: &mut State, keys: &[f32]) -> Vec<f32> {
    let module = state.module().clone();
    module.forward(query(), view(keys), view(keys)).state(state).into_vec().unwrap()
}

fn step(utterance: &mut Utterance<'_>) -> Vec<f32> {
    utterance.step(query()).into_vec().unwrap()
}

fn expected(state: &State, keys: &[f32]) -> Vec<f32> {
    let mut fresh = state.module().state(1, KEYS).unwrap();
    let shape = state.field_shape("alignment").unwrap();
    let (alignment, cumulative) = (state.field("alignment").unwrap(), state.field("cumulative").unwrap());
    let fields = [
        ("alignment", Tensor::new(&alignment, &shape).unwrap()),
        ("cumulative", Tensor::new(&cumulative, &shape).unwrap()),
    ];
    fresh.set_fields(&fields).unwrap();
    call(&mut fresh, keys)
}

#[test]
fn other_keys_in_the_same_memory_are_seen() {
    let module = module();
    let (mut state, mut copy) = (module.state(1, KEYS).unwrap(), module.state(1, KEYS).unwrap());
    let mut memory = keys(1);
    call(&mut state, &memory);
    copy.copy_from(&state).unwrap();
    let mut clone = state.try_clone().unwrap();
    memory.copy_from_slice(&keys(2));
    let wanted = expected(&state, &memory);
    assert_ne!(wanted, expected(&state, &keys(1)));
    assert_eq!(call(&mut state, &memory), wanted);
    assert_eq!(call(&mut copy, &memory), wanted);
    assert_eq!(call(&mut clone, &memory), wanted);
}

#[test]
fn an_utterance_gives_what_its_calls_would() {
    let module = module();
    let (mut one, mut other) = (module.state(1, KEYS).unwrap(), module.state(1, KEYS).unwrap());
    let memory = keys(3);
    let mut utterance = one.utterance(view(&memory), view(&memory)).unwrap();
    for _ in 0..4 {
        assert_eq!(step(&mut utterance), call(&mut other, &memory));
    }
    assert_eq!(utterance.state().field("cumulative").unwrap(), other.field("cumulative").unwrap());
}

/// Keys that change behind the back of Rust show that the second step does not look at them: it uses what the first one
/// projected.
#[test]
fn an_utterance_projects_its_keys_once() {
    let module = module();
    let (mut one, mut other) = (module.state(1, KEYS).unwrap(), module.state(1, KEYS).unwrap());
    let memory = Box::into_raw(keys(4).into_boxed_slice());
    {
        // SAFETY: the box lives until the end of the test.
        let keys = view(unsafe { &*memory });
        let mut utterance = one.utterance(keys, keys).unwrap();
        step(&mut utterance);
        // SAFETY: the view above is a plain pointer, which only the library follows, and not now.
        unsafe { (*memory).fill(f32::NAN) };
        let unchanged = self::keys(4);
        call(&mut other, &unchanged);
        assert_eq!(step(&mut utterance), call(&mut other, &unchanged));
    }
    // SAFETY: made by into_raw above, and used no more.
    drop(unsafe { Box::from_raw(memory) });
}

#[test]
fn a_new_utterance_sees_its_own_keys() {
    let module = module();
    let mut state = module.state(1, KEYS).unwrap();
    let mut memory = keys(5);
    step(&mut state.utterance(view(&memory), view(&memory)).unwrap());
    memory.copy_from_slice(&keys(6));
    let wanted = expected(&state, &memory);
    let mut utterance = state.utterance(view(&memory), view(&memory)).unwrap();
    assert_eq!(step(&mut utterance), wanted);
    // Nothing hangs on the end of an utterance, which need never come.
    std::mem::forget(utterance);
    memory.copy_from_slice(&keys(7));
    let wanted = expected(&state, &memory);
    assert_eq!(call(&mut state, &memory), wanted);
}

#[test]
fn hypotheses_are_copied() {
    let module = module();
    let mut states: Vec<State> = (0..3).map(|_| module.state(1, KEYS).unwrap()).collect();
    let (first, rest) = states.split_first_mut().unwrap();
    let (second, rest) = rest.split_first_mut().unwrap();
    let (memory, mut reused) = (keys(8), keys(9));
    let mut best = first.utterance(view(&memory), view(&memory)).unwrap();
    step(&mut best);
    let mut copy = second.utterance(view(&memory), view(&memory)).unwrap();
    copy.copy_from(&best).unwrap();
    assert_eq!(step(&mut copy), step(&mut best));

    // Over three: what saw the first keys in that memory, what took that over, and what has other keys there.
    let mut gone = rest[0].utterance(view(&reused), view(&reused)).unwrap();
    step(&mut gone);
    copy.copy_from(&gone).unwrap();
    drop(gone);
    reused.copy_from_slice(&keys(10));
    let mut last = rest[0].utterance(view(&reused), view(&reused)).unwrap();
    last.copy_from(&copy).unwrap();
    let wanted = expected(copy.state(), &reused);
    assert_eq!(step(&mut last), wanted);
}

#[test]
fn misuse_is_refused() {
    let module = module();
    let (mut state, mut other) = (module.state(1, KEYS).unwrap(), module.state(1, KEYS).unwrap());
    let memory = keys(12);
    let mut utterance = state.utterance(view(&memory), view(&memory)).unwrap();
    for name in ["key", "value"] {
        let error = utterance.step(query()).input(name, view(&memory)).into_vec().unwrap_err();
        assert_eq!(error.status(), Status::InvalidArgument);
        assert!(error.message().contains(name), "{}", error);
    }
    let error = utterance.step(query()).state(&mut other).into_vec().unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    utterance.step(query()).input("query", query()).into_vec().unwrap();

    let mut builder = Module::builder("multi_head").unwrap();
    let unit = [1.0_f32, 0.0, 0.0, 1.0];
    for name in ["query_proj.weight", "key_proj.weight", "value_proj.weight"] {
        builder.set_parameter(name, Tensor::new(&unit, &[2, 2]).unwrap()).unwrap();
    }
    let mut cache = builder.prepare().unwrap().state(1, KEYS).unwrap();
    assert_eq!(cache.utterance(view(&memory), view(&memory)).unwrap_err().status(), Status::Unsupported);
}
