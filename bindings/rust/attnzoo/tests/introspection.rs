//! Every mechanism that the library has, known here or not, by what it says of itself.

mod common;

use std::collections::HashMap;

use attnzoo::{DataType, Executor, Item, Mechanism, Module, Result, Status, Tensor, TensorMut};
use common::Random;

const QUERIES: usize = 3;
const KEYS: usize = 7;

/// What a letter in a shape stands for: as many as are written above, one where no option says that there are more (of
/// heads, two in all where there are two kinds), and the same for all sizes that a model chooses.
fn size_of(letter: &str, heads: usize) -> usize {
    match letter {
        "H" => heads,
        "B" | "G" | "Hr" | "Hw" | "W" | "channels" => 1,
        "N" => QUERIES,
        "M" | "T" => KEYS,
        "P" => KEYS + QUERIES - 1,
        _ => 2,
    }
}

/// Reads an axis such as "H*D", "2k+1" or "(R+W)*C" from the front of `text`, and leaves what follows it.
fn read_sum(text: &mut &str, heads: usize) -> usize {
    let mut sum = 0;
    loop {
        let mut product = 1;
        loop {
            let name = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'').unwrap_or(text.len());
            let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let (factor, used) = match (text.starts_with('('), digits) {
                (true, _) => {
                    *text = &text[1..];
                    (read_sum(text, heads), 1)
                }
                (false, 0) => (size_of(&text[..name], heads), name),
                (false, digits) => (text[..digits].parse().unwrap(), digits),
            };
            product *= factor;
            *text = &text[used..];
            if let Some(rest) = text.strip_prefix('*') {
                *text = rest;
            } else if !text.starts_with(|c: char| c.is_alphabetic() || c == '(') {
                break;
            }
        }
        sum += product;
        match text.strip_prefix('+') {
            Some(rest) => *text = rest,
            None => return sum,
        }
    }
}

fn sizes_of(shape: &str, heads: usize) -> Vec<usize> {
    shape.trim_matches(|end| end == '[' || end == ']').split(", ").map(|mut axis| read_sum(&mut axis, heads)).collect()
}

/// Numbers for an item, of its type.
enum Numbers {
    Floats(Vec<f32>),
    Integers(Vec<i64>),
}

struct Given {
    numbers: Numbers,
    shape: Vec<usize>,
}

impl Given {
    fn new(item: &Item, random: &mut Random, heads: usize) -> Given {
        let shape = sizes_of(item.shape, heads);
        let count = shape.iter().product();
        let numbers = match item.data_type {
            "integer" => Numbers::Integers(vec![0; count]),
            _ => Numbers::Floats(random.numbers(count)),
        };
        Given { numbers, shape }
    }

    fn tensor(&self) -> Tensor<'_> {
        match &self.numbers {
            Numbers::Floats(numbers) => Tensor::new(numbers, &self.shape).unwrap(),
            Numbers::Integers(numbers) => Tensor::new(numbers, &self.shape).unwrap(),
        }
    }
}

/// What is given to a mechanism, by name.
type Food = HashMap<&'static str, Given>;

fn make(mechanism: Mechanism, food: &Food) -> Result<Module> {
    let mut builder = Module::builder(mechanism.name())?;
    for parameter in mechanism.parameters() {
        if let Some(given) = food.get(parameter.name) {
            builder.set_parameter(parameter.name, given.tensor())?;
        }
    }
    builder.prepare()
}

/// A call with all inputs that there are.
fn begin<'c>(module: &'c Module, food: &'c Food) -> attnzoo::Forward<'c> {
    let mut call = module.call(food["query"].tensor());
    for input in module.mechanism().inputs() {
        if let Some(given) = food.get(input.name) {
            call = call.input(input.name, given.tensor());
        }
    }
    call
}

/// Whether a name stands in a text as a word of its own.
fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').any(|word| word.trim_end_matches('.') == name)
}

/// Gives what is required, and beyond it what the library's own words ask for; its last words if that does not do.
fn feed(mechanism: Mechanism, with_state: bool) -> std::result::Result<Food, String> {
    feed_heads(mechanism, with_state, 1).or_else(|words| feed_heads(mechanism, with_state, 2).map_err(|_| words))
}

fn feed_heads(mechanism: Mechanism, with_state: bool, heads: usize) -> std::result::Result<Food, String> {
    let mut random = Random(15);
    let items: Vec<_> = mechanism.parameters().into_iter().chain(mechanism.inputs()).collect();
    let mut food: Food =
        items.iter().filter(|i| i.is_required).map(|item| (item.name, Given::new(item, &mut random, heads))).collect();
    loop {
        let attempt = make(mechanism, &food).and_then(|module| match with_state {
            true => begin(&module, &food).state(&mut module.state(1, 2 * KEYS)?).into_vec(),
            false => begin(&module, &food).into_vec(),
        });
        let error = match attempt {
            Ok(_) => return Ok(food),
            Err(error) => error,
        };
        match items.iter().find(|item| !food.contains_key(item.name) && mentions(error.message(), item.name)) {
            Some(item) => food.insert(item.name, Given::new(item, &mut random, heads)),
            None => return Err(error.to_string()),
        };
    }
}

/// Each output by its name, alone and in memory of its type.
fn check_outputs(mechanism: Mechanism, food: &Food) {
    let (module, executor) = (make(mechanism, food).unwrap(), Executor::with_threads(2).unwrap());
    for output in mechanism.outputs() {
        let shape = begin(&module, food).output_shape(output.name).unwrap();
        let count: usize = shape.iter().product();
        let (mut floats, mut integers) = (vec![f32::NAN; count], vec![i64::MIN; count]);
        let is_integer = output.data_type == "integer";
        let (mut good, mut bad) =
            (TensorMut::new(&mut floats, &shape).unwrap(), TensorMut::new(&mut integers, &shape).unwrap());
        if is_integer {
            std::mem::swap(&mut good, &mut bad);
        }
        assert_eq!(good.data_type(), if is_integer { DataType::Int64 } else { DataType::Float32 });
        let error = match output.name {
            "context" => {
                begin(&module, food).executor(&executor).run(&mut good).unwrap();
                begin(&module, food).run(&mut bad).unwrap_err()
            }
            name => {
                begin(&module, food).executor(&executor).output(name, &mut good).into_vec().unwrap();
                begin(&module, food).output(name, &mut bad).into_vec().unwrap_err()
            }
        };
        assert_eq!(error.status(), Status::DtypeMismatch, "{}", error);
        assert!(mentions(error.message(), output.name), "{}", error);
        match is_integer {
            true => assert!(count > 0 && integers.iter().all(|&number| number != i64::MIN), "{}", output.name),
            false => assert!(count > 0 && floats.iter().all(|number| number.is_finite()), "{}", output.name),
        }
    }
}

/// Inputs of the other type are refused, by name.
fn check_inputs(mechanism: Mechanism, food: &Food) {
    let module = make(mechanism, food).unwrap();
    for input in mechanism.inputs() {
        let (floats, integers) = ([0.0_f32], [0_i32]);
        let wrong = match input.data_type {
            "integer" => Tensor::from(&floats),
            kind => {
                assert_eq!(kind, "float");
                Tensor::from(&integers)
            }
        };
        let error = begin(&module, food).input(input.name, wrong).into_vec().unwrap_err();
        assert_eq!(error.status(), Status::DtypeMismatch, "{}", error);
        assert!(mentions(error.message(), input.name), "{}", error);
    }
    let unknown = begin(&module, food).input("glimpse", &[0.0_f32]).into_vec().unwrap_err();
    assert_eq!(unknown.status(), Status::UnknownName);
    assert!(mechanism.inputs().iter().all(|input| mentions(unknown.message(), input.name)), "{}", unknown);
}

fn check_state(mechanism: Mechanism, food: &Food) {
    let module = make(mechanism, food).unwrap();
    let mut state = module.state(1, 2 * KEYS).unwrap();
    begin(&module, food).state(&mut state).into_vec().unwrap();
    for field in mechanism.state_fields() {
        assert_eq!(field.data_type, "float");
        let shape = state.field_shape(field.name).unwrap();
        assert_eq!(shape.len(), field.shape.split(',').count(), "{}", field.name);
        assert_eq!(state.field(field.name).unwrap().len(), shape.iter().product::<usize>());
    }
}

#[test]
fn every_mechanism_runs_by_introspection() {
    let all = attnzoo::mechanisms();
    let mut fed = 0;
    for &mechanism in &all {
        assert_eq!(Mechanism::find(mechanism.name()), Some(mechanism));
        for text in [mechanism.name(), mechanism.summary(), mechanism.formula(), mechanism.source()] {
            assert!(!text.is_empty(), "{:?}", mechanism);
        }
        for option in mechanism.options() {
            assert!(!option.summary.is_empty() && !option.data_type.is_empty() && !option.bounds.is_empty());
        }
        let food = match feed(mechanism, false) {
            Ok(food) => food,
            Err(words) => {
                eprintln!("SKIPPED: {} cannot be fed: {}", mechanism.name(), words);
                continue;
            }
        };
        fed += 1;
        check_outputs(mechanism, &food);
        check_inputs(mechanism, &food);
        // What can be fed can be fed with a state.
        if !mechanism.state_fields().is_empty() {
            check_state(mechanism, &feed(mechanism, true).unwrap());
        }
    }
    assert!(fed >= 5, "{} of {}", fed, all.len());
}

/// Both flavors of relative_multi_head, of which the test above runs the first.
#[test]
fn another_flavor_runs_by_introspection() {
    let mechanism = Mechanism::find("relative_multi_head").unwrap();
    let mut random = Random(16);
    let mut food = Food::new();
    let items = mechanism.parameters().into_iter().chain(mechanism.inputs());
    for item in items.filter(|item| item.is_required || item.name == "relative_key") {
        food.insert(item.name, Given::new(&item, &mut random, 1));
    }
    let mut builder = Module::builder(mechanism.name()).unwrap().option("flavor", "shaw").unwrap();
    for parameter in mechanism.parameters().iter().filter(|item| food.contains_key(item.name)) {
        builder.set_parameter(parameter.name, food[parameter.name].tensor()).unwrap();
    }
    let module = builder.prepare().unwrap();
    assert!(begin(&module, &food).into_vec().unwrap().iter().all(|number| number.is_finite()));
}
