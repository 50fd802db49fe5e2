//! States: calls that continue each other, copies, fields, and what must be refused.

mod common;

use attnzoo::{Bf16, Mask, Module, Status, Tensor, TensorMut};
use common::Random;

const FEATURES: usize = 8;
const TOKENS: usize = 9;

fn layer(seed: u64) -> Module {
    let mut random = Random(seed);
    let mut builder = Module::builder("multi_head").unwrap().option("num_heads", 2).unwrap();
    for name in ["query_proj.weight", "key_proj.weight", "value_proj.weight"] {
        let weights = random.numbers(FEATURES * FEATURES);
        builder.set_parameter(name, Tensor::new(&weights, &[FEATURES, FEATURES]).unwrap()).unwrap();
    }
    builder.prepare().unwrap()
}

fn step(module: &Module, state: &mut attnzoo::State, tokens: &[f32]) -> attnzoo::Result<Vec<f32>> {
    let tokens = Tensor::new(tokens, &[tokens.len() / FEATURES, FEATURES])?;
    let mut mask = Mask::new()?;
    mask.set_causal(true)?;
    module.forward(tokens, tokens, tokens).mask(&mask).state(state).into_vec()
}

#[test]
fn a_cache_continues_as_one_causal_call() {
    let module = layer(1);
    let tokens = Random(2).numbers(TOKENS * FEATURES);
    let mut whole = module.state(1, TOKENS).unwrap();
    let expected = step(&module, &mut whole, &tokens).unwrap();
    let mut cache = module.state(1, TOKENS).unwrap();
    let (prompt, rest) = tokens.split_at(4 * FEATURES);
    let mut contexts = step(&module, &mut cache, prompt).unwrap();
    for token in rest.chunks(FEATURES) {
        contexts.extend(step(&module, &mut cache, token).unwrap());
    }
    // Sums of 8 products of numbers up to 1, their softmax over 9 keys and sums of it: each way of cutting products is
    // within 8 + 9 + 8 roundings of numbers up to 8, scores up to 64 in the exponent.
    let bound = (64.0 + 25.0) * 8.0 * f32::EPSILON;
    for (a, b) in contexts.iter().zip(&expected) {
        assert!((a - b).abs() <= bound, "{} and {}", a, b);
    }
}

#[test]
fn cut_copied_and_loaded_caches_go_on_to_the_bit() {
    let module = layer(3);
    let tokens = Random(4).numbers(TOKENS * FEATURES);
    let (prompt, token) = (&tokens[..5 * FEATURES], &tokens[5 * FEATURES..6 * FEATURES]);
    let mut cache = module.state(1, TOKENS).unwrap();
    step(&module, &mut cache, prompt).unwrap();
    let mut copy = cache.try_clone().unwrap();
    let mut loaded = module.state(1, TOKENS).unwrap();
    let shape = cache.field_shape("key").unwrap();
    let (key, value) = (cache.field("key").unwrap(), cache.field("value").unwrap());
    let fields = [("value", Tensor::new(&value, &shape).unwrap()), ("key", Tensor::new(&key, &shape).unwrap())];
    loaded.set_fields(&fields).unwrap();

    let expected = step(&module, &mut cache, token).unwrap();
    assert_eq!(step(&module, &mut copy, token).unwrap(), expected);
    assert_eq!(step(&module, &mut loaded, token).unwrap(), expected);
    cache.truncate(5).unwrap();
    assert_eq!(step(&module, &mut cache, token).unwrap(), expected);
    cache.copy_from(&loaded).unwrap();
    assert_eq!(cache.field("key").unwrap(), loaded.field("key").unwrap());
    cache.reset().unwrap();
    assert_eq!((cache.length(), cache.capacity(), cache.batch()), (0, TOKENS, 1));

    let mut halves = vec![Bf16(0); key.len()];
    copy.truncate(5).unwrap();
    copy.read_field("key", &mut TensorMut::new(&mut halves, &shape).unwrap()).unwrap();
    assert!(halves.iter().zip(&key).all(|(&half, &number)| half == Bf16::from_f32(number)));
}

#[test]
fn a_state_outlives_the_modules_name() {
    let module = layer(5);
    let mut state = module.state(1, TOKENS).unwrap();
    let tokens = Random(6).numbers(FEATURES);
    let expected = step(&module, &mut state, &tokens).unwrap();
    state.reset().unwrap();
    drop(module);
    let module = state.module().clone();
    assert_eq!(step(&module, &mut state, &tokens).unwrap(), expected);
}

#[test]
fn misuse_is_refused_and_changes_nothing() {
    let (module, other) = (layer(7), layer(8));
    let tokens = Random(9).numbers(3 * FEATURES);
    let mut state = module.state(1, 2).unwrap();
    let error = step(&module, &mut state, &tokens).unwrap_err();
    assert_eq!((error.status(), state.length()), (Status::InvalidArgument, 0));
    assert_eq!(step(&other, &mut state, &tokens[..FEATURES]).unwrap_err().status(), Status::BadState);

    let error = state.field("keys").unwrap_err();
    assert_eq!(error.status(), Status::UnknownName);
    assert!(error.message().contains("key, value"), "{}", error);
    let one = Tensor::new(&tokens[..FEATURES], &[1, 2, 1, 4]).unwrap();
    assert_eq!(state.set_fields(&[("key", one)]).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(state.set_fields(&[]).unwrap_err().status(), Status::InvalidArgument);

    step(&module, &mut state, &tokens[..2 * FEATURES]).unwrap();
    let shape = state.field_shape("key").unwrap();
    let mut memory = vec![0.0_f32; 2 * FEATURES];
    let mut folded = TensorMut::with_strides(&mut memory, 0, &shape, &[0, 0, 1, 1]).unwrap();
    assert_eq!(state.read_field("key", &mut folded).unwrap_err().status(), Status::Overlap);
    assert!(memory.iter().all(|&number| number == 0.0));
    assert_eq!(
        Module::builder("scaled_dot_product").unwrap().prepare().unwrap().state(1, 1).unwrap_err().status(),
        Status::Unsupported
    );
    assert_eq!(module.state(usize::MAX, 1).unwrap_err().status(), Status::InvalidArgument);
    let mut small = module.state(1, 1).unwrap();
    assert_eq!(small.copy_from(&state).unwrap_err().status(), Status::InvalidArgument);
}
