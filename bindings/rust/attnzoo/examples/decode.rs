//! A prompt in one call, then one token a call, through a key/value cache; and the same in one causal call. The layer
//! has invented weights. In several threads: each sequence has a state of its own, and all share the module.

use std::thread;

use attnzoo::{Error, Executor, Mask, Module, Tensor};

const FEATURES: usize = 16;
const PROMPT: usize = 5;
const TOKENS: usize = 12;
const SEQUENCES: usize = 3;

/// Numbers that look irregular.
fn numbers(count: usize, seed: f32) -> Vec<f32> {
    (0..count).map(|i| (seed + 1.7 * i as f32).sin()).collect()
}

fn layer() -> Result<Module, Error> {
    let mut builder = Module::builder("multi_head")?.option("num_heads", 4)?;
    let required = builder.mechanism().parameters().into_iter().filter(|parameter| parameter.is_required);
    for (number, parameter) in required.enumerate() {
        let weights = numbers(FEATURES * FEATURES, number as f32);
        builder.set_parameter(parameter.name, Tensor::new(&weights, &[FEATURES, FEATURES])?)?;
    }
    builder.prepare()
}

/// The contexts of all tokens, the prompt's in one call and every other token's in a call of its own.
fn decode(module: &Module, tokens: &[f32]) -> Result<Vec<f32>, Error> {
    let executor = Executor::with_threads(1)?;
    let mut mask = Mask::new()?;
    mask.set_causal(true)?;
    let mut cache = module.state(1, TOKENS)?;
    let (prompt, rest) = tokens.split_at(PROMPT * FEATURES);
    let mut contexts = Vec::new();
    for part in std::iter::once(prompt).chain(rest.chunks(FEATURES)) {
        let input = Tensor::new(part, &[part.len() / FEATURES, FEATURES])?;
        let call = module.forward(input, input, input).mask(&mask).state(&mut cache).executor(&executor);
        contexts.extend(call.into_vec()?);
    }
    Ok(contexts)
}

fn main() -> Result<(), Error> {
    let module = layer()?;
    let mut mask = Mask::new()?;
    mask.set_causal(true)?;
    let sequences: Vec<Vec<f32>> = (0..SEQUENCES).map(|i| numbers(TOKENS * FEATURES, i as f32 / 3.0)).collect();
    let decoded = thread::scope(|scope| {
        let module = &module;
        let threads: Vec<_> = sequences.iter().map(|tokens| scope.spawn(move || decode(module, tokens))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread panicked")).collect::<Result<Vec<_>, _>>()
    })?;
    for (number, (tokens, contexts)) in sequences.iter().zip(&decoded).enumerate() {
        let tokens = Tensor::new(tokens, &[TOKENS, FEATURES])?;
        let whole = module.forward(tokens, tokens, tokens).mask(&mask).into_vec()?;
        let difference = whole.iter().zip(contexts).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(difference < 1e-4, "sequence {} differs by {}", number, difference);
        println!("sequence {}: {} tokens, one by one as in one call", number, TOKENS);
    }
    Ok(())
}
