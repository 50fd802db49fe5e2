//! Every mechanism that the library has, known here or not, by what it says of itself.

mod common;

use attnzoo::{Alignment, Executor, Mask, Mechanism, Module, Tensor, TensorMut};
use common::Random;

const QUERIES: usize = 3;
const KEYS: usize = 7;

/// A shape such as "[2k+1, H*D]" with 2 for every letter that is none of those below.
fn sizes_of(shape: &str) -> Vec<usize> {
    let factor = |text: &str| match text.trim() {
        "2k" => 2,
        "W" => 3,
        "H" | "G" | "channels" => 1,
        "N" => QUERIES,
        "M" => KEYS,
        "P" => KEYS + QUERIES - 1,
        number => number.parse().unwrap_or(2),
    };
    let size = |text: &str| text.split('+').map(|term| term.split('*').map(factor).product::<usize>()).sum();
    shape.trim_matches(|end| end == '[' || end == ']').split(',').map(size).collect()
}

/// A mechanism made by what it says of itself: parameters and inputs of the shapes that it names.
fn run_by_introspection(mechanism: Mechanism, options: &[(&str, &str)], is_wanted: impl Fn(&str) -> bool) {
    let (mut random, executor) = (Random(15), Executor::with_threads(2).unwrap());
    let mut builder = Module::builder(mechanism.name()).unwrap();
    for (name, value) in options {
        builder.set_option(name, *value).unwrap();
    }
    for parameter in mechanism.parameters().iter().filter(|item| item.is_required || is_wanted(item.name)) {
        let shape = sizes_of(parameter.shape);
        let numbers = random.numbers(shape.iter().product());
        builder.set_parameter(parameter.name, Tensor::new(&numbers, &shape).unwrap()).unwrap();
    }
    let module = builder.prepare().unwrap();
    let items: Vec<_> = mechanism.inputs().into_iter().filter(|i| i.is_required || is_wanted(i.name)).collect();
    let memory: Vec<_> = items
        .iter()
        .map(|item| {
            let shape: Vec<usize> = sizes_of(item.shape.replace('B', "1").as_str());
            (item.name, random.numbers(shape.iter().product()), shape)
        })
        .collect();
    let tensor = |name: &str| {
        let (_, numbers, shape) = memory.iter().find(|entry| entry.0 == name).unwrap();
        Tensor::new(numbers, shape).unwrap()
    };
    let mut mask = Mask::new().unwrap();
    mask.set_causal(true).unwrap().set_alignment(Alignment::BottomRight).unwrap();
    let begin = || {
        let mut forward = module.forward(tensor("query"), tensor("key"), tensor("value")).mask(&mask);
        for (name, _, _) in memory.iter().filter(|entry| !["query", "key", "value"].contains(&entry.0)) {
            forward = forward.input(name, tensor(name));
        }
        forward.executor(&executor)
    };
    for output in mechanism.outputs() {
        let shape = begin().output_shape(output.name).unwrap();
        let mut numbers = vec![f32::NAN; shape.iter().product()];
        let mut view = TensorMut::new(&mut numbers, &shape).unwrap();
        if output.name == "context" {
            begin().run(&mut view).unwrap();
        } else {
            begin().output(output.name, &mut view).into_vec().unwrap();
        }
        assert!(!numbers.is_empty() && numbers.iter().all(|number| number.is_finite()), "{}", output.name);
    }
    if !mechanism.state_fields().is_empty() {
        let mut state = module.state(1, 2 * KEYS).unwrap();
        begin().state(&mut state).into_vec().unwrap();
        assert_eq!(state.length(), KEYS);
        for field in mechanism.state_fields() {
            let shape = state.field_shape(field.name).unwrap();
            assert_eq!(state.field(field.name).unwrap().len(), shape.iter().product::<usize>());
        }
    }
}

#[test]
fn every_mechanism_runs_by_introspection() {
    let all = attnzoo::mechanisms();
    assert!(all.len() >= 5);
    for mechanism in all {
        assert_eq!(Mechanism::find(mechanism.name()), Some(mechanism));
        for text in [mechanism.name(), mechanism.summary(), mechanism.formula(), mechanism.source()] {
            assert!(!text.is_empty(), "{:?}", mechanism);
        }
        for option in mechanism.options() {
            assert!(!option.summary.is_empty() && !option.data_type.is_empty() && !option.bounds.is_empty());
        }
        match mechanism.name() {
            "relative_multi_head" => {
                run_by_introspection(mechanism, &[], |name| name == "pos_proj.weight" || name == "position");
                run_by_introspection(mechanism, &[("flavor", "shaw")], |name| name == "relative_key");
            }
            _ => run_by_introspection(mechanism, &[], |_| false),
        }
    }
}
