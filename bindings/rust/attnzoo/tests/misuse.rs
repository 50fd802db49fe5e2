//! What a caller may get wrong is an error with its reason, and never a panic; and threads, one module for many.

mod common;

use std::thread;

use attnzoo::{
    fill_sinusoidal_positions, merge_contexts, DataType, Executor, Mask, MaskPart, Module, Sinusoid, Status, Tensor,
    TensorMut, F16,
};
use common::Random;

fn plain() -> Module {
    Module::builder("scaled_dot_product").unwrap().prepare().unwrap()
}

#[test]
fn options_are_checked() {
    let begin = || Module::builder("multi_head").unwrap();
    for (name, status, text) in [
        ("num_head", Status::UnknownName, "num_heads"),
        ("num\0heads", Status::InvalidArgument, "zero byte"),
        ("scale", Status::InvalidArgument, "scale"),
    ] {
        let error = begin().option(name, 8).unwrap_err();
        assert_eq!(error.status(), status, "{}", error);
        assert!(error.message().contains(text), "{}", error);
        assert_eq!(error.to_string(), error.message());
    }
    for text in ["", "eight", "8 ", "8\0"] {
        assert_eq!(begin().option("num_heads", text).unwrap_err().status(), Status::InvalidArgument);
    }
    assert_eq!(begin().option("num_heads", usize::MAX).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(begin().option("average_heads", 1.0).unwrap_err().status(), Status::InvalidArgument);
    // An error leaves the builder as it was.
    let mut builder = begin().option("num_heads", 2_u32).unwrap().option("average_heads", true).unwrap();
    builder.set_option("num_heads", -1).unwrap_err();
    builder.set_option("softcap", 30.0_f32).unwrap();
    builder.set_option("scale", &String::from("0.125")).unwrap();
    builder.set_option("num_heads", 2_i64).unwrap();
    builder.set_option("num_kv_heads", 2_usize).unwrap();
}

#[test]
fn parameters_are_checked() {
    let numbers = [0.0_f32; 4];
    let mut builder = Module::builder("multi_head").unwrap();
    let square = Tensor::new(&numbers, &[2, 2]).unwrap();
    assert_eq!(builder.set_parameter("query.weight", square).unwrap_err().status(), Status::UnknownName);
    assert_eq!(builder.set_parameter("query_proj.weight", &numbers).unwrap_err().status(), Status::ShapeMismatch);
    let integers = [1_i32; 4];
    let integers = Tensor::new(&integers, &[2, 2]).unwrap();
    assert_eq!(builder.set_parameter("query_proj.weight", integers).unwrap_err().status(), Status::DtypeMismatch);
    let error = builder.prepare().unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.message().contains("query_proj.weight"), "{}", error);
}

#[test]
fn no_output_is_passed_over() {
    let (module, numbers) = (plain(), Random(1).numbers(6));
    let tokens = Tensor::new(&numbers, &[3, 2]).unwrap();
    let (mut context, mut first, mut second) = ([7.0_f32; 6], [7.0_f32; 9], [7.0_f32; 9]);
    let mut one = TensorMut::new(&mut first[..6], &[3, 2]).unwrap();
    let mut view = TensorMut::new(&mut context, &[3, 2]).unwrap();
    let error = module.forward(tokens, tokens, tokens).output("context", &mut one).run(&mut view).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.message().contains("run"), "{}", error);
    let (mut one, mut other) =
        (TensorMut::new(&mut first, &[3, 3]).unwrap(), TensorMut::new(&mut second, &[3, 3]).unwrap());
    let call = module.forward(tokens, tokens, tokens).attention(&mut one).attention(&mut other);
    let error = call.run(&mut view).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.message().contains("attention"), "{}", error);
    let call = module.forward(tokens, tokens, tokens).attention(&mut one).output("attention", &mut other);
    assert_eq!(call.run(&mut view).unwrap_err().status(), Status::InvalidArgument);
    assert!(context.iter().chain(&first).chain(&second).all(|&number| number == 7.0));
}

#[test]
fn calls_are_checked_and_write_nothing() {
    let (module, numbers) = (plain(), Random(1).numbers(12));
    let (three, two) = (Tensor::new(&numbers, &[4, 3]).unwrap(), Tensor::new(&numbers, &[6, 2]).unwrap());
    let mut context = [7.0_f32; 12];
    let mut run = |key: Tensor<'_>, shape: &[usize], strides: &[isize], status| {
        let mut view = TensorMut::with_strides(&mut context, 0, shape, strides).unwrap();
        let error = module.forward(three, key, three).run(&mut view).unwrap_err();
        assert_eq!(error.status(), status, "{}", error);
        assert!(context.iter().all(|&number| number == 7.0));
    };
    run(two, &[4, 3], &[3, 1], Status::ShapeMismatch);
    run(three, &[4, 2], &[2, 1], Status::ShapeMismatch);
    run(three, &[4, 3], &[0, 1], Status::Overlap);
    run(three, &[4, 3], &[1, 1], Status::Overlap);
    let booleans = [true; 12];
    run(Tensor::new(&booleans, &[4, 3]).unwrap(), &[4, 3], &[3, 1], Status::DtypeMismatch);

    let error = module.forward(three, three, three).input("position", three).into_vec().unwrap_err();
    assert_eq!(error.status(), Status::UnknownName);
    assert!(error.message().contains("query, key, value"), "{}", error);
    assert_eq!(
        module.forward(three, three, three).position(three).into_vec().unwrap_err().status(),
        Status::Unsupported
    );
    assert_eq!(module.forward(three, three, three).output_shape("nothing").unwrap_err().status(), Status::UnknownName);
    let mut other = [0.0_f32; 4];
    let mut other = TensorMut::new(&mut other, &[4]).unwrap();
    let error = module.forward(three, three, three).output("weights", &mut other).into_vec().unwrap_err();
    assert_eq!(error.status(), Status::UnknownName);
}

#[test]
fn masks_are_checked() {
    let (numbers, lengths) = ([0.0_f32; 16], [1_i64, 5]);
    let mut mask = Mask::new().unwrap();
    assert_eq!(mask.set_key_lengths(&numbers).unwrap_err().status(), Status::DtypeMismatch);
    let wide = Tensor::new(&numbers, &[1, 1, 1, 4, 4]).unwrap();
    assert_eq!(mask.set_bias(wide).unwrap_err().status(), Status::ShapeMismatch);
    assert_eq!(mask.set_window(Some(usize::MAX), None).unwrap_err().status(), Status::InvalidArgument);
    mask.set_key_lengths(&lengths).unwrap();
    let tokens = Tensor::new(&numbers, &[2, 1, 4, 2]).unwrap();
    let module = plain();
    let error = module.forward(tokens, tokens, tokens).mask(&mask).into_vec().unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.message().contains('5'), "{}", error);
    for part in [
        MaskPart::QueryOffsets,
        MaskPart::KeyLengths,
        MaskPart::QueryLengths,
        MaskPart::Boolean,
        MaskPart::Bias,
        MaskPart::LinearBias,
        MaskPart::Segments,
    ] {
        mask.remove(part).unwrap();
    }
    module.forward(tokens, tokens, tokens).mask(&mask).into_vec().unwrap();
}

#[test]
fn other_outputs_are_checked() {
    let mut numbers = [7.0_f32; 12];
    let mut folded = TensorMut::with_strides(&mut numbers, 0, &[4, 3], &[1, 1]).unwrap();
    let error = fill_sinusoidal_positions(&mut folded, 0, 1, Sinusoid::Interleaved).unwrap_err();
    assert_eq!(error.status(), Status::Overlap);
    let part = [0.0_f32; 12];
    let (context, sums) = (Tensor::new(&part, &[4, 3]).unwrap(), Tensor::new(&part[..4], &[4]).unwrap());
    let error = merge_contexts((context, sums), (context, sums), &mut folded, None).unwrap_err();
    assert_eq!(error.status(), Status::Overlap);
    let mut flat = TensorMut::new(&mut numbers, &[12]).unwrap();
    assert_eq!(
        fill_sinusoidal_positions(&mut flat, 0, 1, Sinusoid::Halves).unwrap_err().status(),
        Status::ShapeMismatch
    );
    assert!(numbers.iter().all(|&number| number == 7.0));
    assert_eq!(Executor::with_threads(0).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(Executor::with_threads(usize::MAX).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(Executor::with_threads(257).unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn nothing_in_gives_nothing_out() {
    let (module, none) = (plain(), Vec::<f32>::new());
    let query = Tensor::new(&none, &[0, 3]).unwrap();
    assert!(module.forward(query, query, query).into_vec().unwrap().is_empty());
    // No keys: zeros.
    let one = [1.0_f32; 3];
    let context = module.forward(Tensor::new(&one, &[1, 3]).unwrap(), query, query).into_vec().unwrap();
    assert_eq!(context, [0.0; 3]);
}

#[test]
fn views_tell_what_they_are() {
    let mut halves = [F16(0); 6];
    let view = TensorMut::with_strides(&mut halves, 5, &[2, 3], &[-3, -1]).unwrap();
    assert_eq!((view.data_type(), view.shape(), view.strides()), (DataType::Float16, &[2, 3][..], &[-3, -1][..]));
    assert_eq!(Tensor::from(&view).strides(), [-3, -1]);
    assert_eq!(view.data_type().to_string(), "float16");
    assert!(format!("{:?}", view).contains("[2, 3]"));
    assert_eq!(attnzoo::version_number() / 10000, 1);
    assert!(attnzoo::version().starts_with("1.") && !attnzoo::build_information().is_empty());
}

/// Many threads, one module, one mask, one executor or none: the same to the bit as alone.
#[test]
fn one_module_serves_many_threads() {
    let (module, executor) = (plain(), Executor::with_threads(2).unwrap());
    let mut mask = Mask::new().unwrap();
    mask.set_causal(true).unwrap();
    let inputs: Vec<Vec<f32>> = (0..8).map(|seed| Random(seed).numbers(2 * 33 * 8)).collect();
    let run = |numbers: &Vec<f32>, executor: Option<&Executor>| {
        let tokens = Tensor::new(numbers, &[2, 33, 8]).unwrap();
        let forward = module.forward(tokens, tokens, tokens).mask(&mask);
        executor
            .map_or(module.forward(tokens, tokens, tokens).mask(&mask), |executor| forward.executor(executor))
            .into_vec()
            .unwrap()
    };
    let expected: Vec<Vec<f32>> = inputs.iter().map(|numbers| run(numbers, None)).collect();
    thread::scope(|scope| {
        for (number, (numbers, expected)) in inputs.iter().zip(&expected).enumerate() {
            let (run, executor) = (&run, &executor);
            scope.spawn(move || {
                for _ in 0..50 {
                    assert_eq!(&run(numbers, (number % 2 == 0).then_some(executor)), expected);
                }
            });
        }
    });
}

/// A message belongs to the thread whose call failed, whatever others do meanwhile.
#[test]
fn messages_stay_with_their_thread() {
    thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                for _ in 0..200 {
                    let name = format!("mechanism_{}", number);
                    let error = Module::builder(&name).unwrap_err();
                    assert!(error.message().contains(&name), "{}", error);
                }
            });
        }
    });
}

/// Things go to other threads and come back: made here, changed there, run elsewhere.
#[test]
fn things_may_move_between_threads() {
    let builder = Module::builder("scaled_dot_product").unwrap();
    let module = thread::spawn(move || builder.option("scale", 2.0).unwrap().prepare().unwrap()).join().unwrap();
    let executor = thread::spawn(|| Executor::with_threads(2).unwrap()).join().unwrap();
    let mut context = [0.0_f32; 4];
    let mut view = TensorMut::new(&mut context, &[2, 2]).unwrap();
    let numbers = [1.0_f32, 0.0, 0.0, 1.0];
    let tokens = Tensor::new(&numbers, &[2, 2]).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| module.forward(tokens, tokens, tokens).executor(&executor).run(&mut view).unwrap());
    });
    assert!((context[0] + context[1] - 1.0).abs() <= 4.0 * f32::EPSILON);
    thread::spawn(move || drop((module, executor))).join().unwrap();
}
