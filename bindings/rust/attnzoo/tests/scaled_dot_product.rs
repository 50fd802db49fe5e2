//! scaled_dot_product against plain loops in double: random shapes, masks, types, layouts and threads.

mod common;

use attnzoo::{merge_context_into, merge_contexts, Executor, Module, Tensor, TensorMut};
use common::layout::{Kind, Laid};
use common::masks::{MaskCase, Sizes};
use common::reference::{attend, flat, rows, score, Rows};
use common::{assert_close, dot, widen, Number, Random};

struct Call {
    sizes: Sizes,
    key_heads: usize,
    head_size: usize,
    value_size: usize,
    scale: Option<f64>,
    softcap: f64,
    kind: Kind,
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
}

impl Call {
    fn draw(random: &mut Random) -> Call {
        let key_heads = random.pick(&[1, 1, 2, 3]);
        let heads = key_heads * random.pick(&[1, 2]);
        let sizes = Sizes { batch: 1 + random.below(3), heads, queries: random.below(9), keys: random.below(40) };
        let (head_size, value_size) = (1 + random.below(17), 1 + random.below(9));
        let kind = random.pick(&[Kind::F32, Kind::F32, Kind::F16, Kind::Bf16]);
        let mut draw = |count: usize| -> Vec<f32> {
            random.numbers(count).into_iter().map(|number| kind.round(3.0 * number)).collect()
        };
        let query = draw(sizes.batch * heads * sizes.queries * head_size);
        let key = draw(sizes.batch * key_heads * sizes.keys * head_size);
        let value = draw(sizes.batch * key_heads * sizes.keys * value_size);
        let (scale, softcap) = (random.pick(&[None, Some(1.0), Some(-0.3)]), random.pick(&[0.0, 0.0, 2.0]));
        Call { sizes, key_heads, head_size, value_size, scale, softcap, kind, query, key, value }
    }

    fn module(&self) -> Module {
        let mut builder = Module::builder("scaled_dot_product").unwrap();
        if let Some(scale) = self.scale {
            builder.set_option("scale", scale).unwrap();
        }
        builder.option("softcap", self.softcap).unwrap().prepare().unwrap()
    }

    /// Contexts, attention and log-sum-exps, row by row.
    fn expected(&self, mask: &MaskCase) -> (Rows, Rows, Vec<Number>) {
        let Sizes { batch, heads, queries, keys } = self.sizes;
        let scale = self.scale.unwrap_or(1.0 / (self.head_size as f64).sqrt());
        let (query, key) = (rows(&self.query, self.head_size), rows(&self.key, self.head_size));
        let value = rows(&self.value, self.value_size);
        let (mut contexts, mut attention, mut log_sum_exp) = (Rows::new(), Rows::new(), Vec::new());
        for b in 0..batch {
            for h in 0..heads {
                let first = (b * self.key_heads + h / (heads / self.key_heads)) * keys;
                for i in 0..queries {
                    let query = &query[(b * heads + h) * queries + i];
                    let seen = |j: usize| {
                        let bias = mask.bias([b, h, i, j], self.sizes)?;
                        Some(score(dot(query, &key[first + j]), scale, self.softcap) + bias.into())
                    };
                    let scores: Vec<_> = (0..keys).map(seen).collect();
                    let attended = attend(&scores, &value[first..first + keys], self.value_size);
                    contexts.push(attended.context);
                    attention.push(attended.weights);
                    log_sum_exp.push(attended.log_sum_exp);
                }
            }
        }
        (contexts, attention, log_sum_exp)
    }
}

/// The bounds of numbers that are rounded once more, to the type of an output.
fn round_to(kind: Kind, numbers: Vec<Number>) -> Vec<Number> {
    let wider = |number: Number| Number { error: number.error + kind.rounding(number.value), ..number };
    numbers.into_iter().map(wider).collect()
}

#[test]
fn random_calls_are_as_the_reference() {
    let executor = Executor::with_threads(2).unwrap();
    let mut random = Random(1);
    for number in 0..600 {
        let call = Call::draw(&mut random);
        let Sizes { batch, heads, queries, keys } = call.sizes;
        let case = MaskCase::draw(&mut random, call.sizes);
        let (module, mask) = (call.module(), case.build(call.sizes));
        let out = random.pick(&[Kind::F32, Kind::F32, Kind::F16, Kind::Bf16]);
        let mut lay = |kind, shape: [usize; 4], numbers: &[f32]| Laid::new(&mut random, kind, &shape, numbers);
        let query = lay(call.kind, [batch, heads, queries, call.head_size], &call.query);
        let key = lay(call.kind, [batch, call.key_heads, keys, call.head_size], &call.key);
        let value = lay(call.kind, [batch, call.key_heads, keys, call.value_size], &call.value);
        let mut context = lay(out, [batch, heads, queries, call.value_size], &[]);
        let mut attention = lay(out, [batch, heads, queries, keys], &[]);
        let mut log_sum_exp = vec![0.0; batch * heads * queries];
        let (mut attention_view, log_shape) = (attention.view_mut(), [batch, heads, queries]);
        let mut log_view = TensorMut::new(&mut log_sum_exp, &log_shape).unwrap();
        let mut forward = module.forward(query.view(), key.view(), value.view()).mask(&mask);
        if number % 2 == 0 {
            forward = forward.executor(&executor);
        }
        let forward = forward.attention(&mut attention_view).log_sum_exp(&mut log_view);
        assert_eq!(forward.output_shape("context").unwrap(), [batch, heads, queries, call.value_size]);
        assert_eq!(forward.output_shape("log_sum_exp").unwrap(), log_shape);
        forward.run(&mut context.view_mut()).unwrap();

        let expected = call.expected(&case);
        let what = |output: &str| format!("call {}, {}", number, output);
        assert_close(&what("context"), &context.numbers(), &round_to(out, flat(&expected.0)));
        assert_close(&what("attention"), &attention.numbers(), &round_to(out, flat(&expected.1)));
        assert_close(&what("log_sum_exp"), &widen(&log_sum_exp), &expected.2);
    }
}

/// Keys split in two, merged in both ways, are as all keys at once.
#[test]
fn merged_parts_are_the_whole() {
    let (queries, keys, size, split) = (4, 9, 3, 5);
    let mut random = Random(2);
    let mut call = Call::draw(&mut random);
    call.sizes = Sizes { batch: 1, heads: 1, queries, keys };
    (call.key_heads, call.head_size, call.value_size, call.softcap) = (1, size, size, 0.0);
    call.query = random.numbers(queries * size);
    (call.key, call.value) = (random.numbers(keys * size), random.numbers(keys * size));
    let module = call.module();
    let part = |from: usize, to: usize| {
        let (mut context, mut log_sum_exp) = (vec![0.0_f32; queries * size], vec![0.0_f32; queries]);
        let shape = [to - from, size];
        let key = Tensor::new(&call.key[from * size..to * size], &shape).unwrap();
        let value = Tensor::new(&call.value[from * size..to * size], &shape).unwrap();
        module
            .forward(Tensor::new(&call.query, &[queries, size]).unwrap(), key, value)
            .output("log_sum_exp", &mut TensorMut::new(&mut log_sum_exp, &[queries]).unwrap())
            .run(&mut TensorMut::new(&mut context, &[queries, size]).unwrap())
            .unwrap();
        (context, log_sum_exp)
    };
    let (mut a, b) = (part(0, split), part(split, keys));
    let (copy, other) = (a.clone(), b.clone());
    let (mut context, mut log_sum_exp) = (vec![f32::NAN; queries * size], vec![f32::NAN; queries]);
    let shape = [queries, size];
    merge_contexts(
        (Tensor::new(&copy.0, &shape).unwrap(), Tensor::from(&copy.1)),
        (Tensor::new(&other.0, &shape).unwrap(), Tensor::from(&other.1)),
        &mut TensorMut::new(&mut context, &shape).unwrap(),
        Some(&mut TensorMut::new(&mut log_sum_exp, &[queries]).unwrap()),
    )
    .unwrap();
    merge_context_into(
        &mut TensorMut::new(&mut a.0, &shape).unwrap(),
        &mut TensorMut::new(&mut a.1, &[queries]).unwrap(),
        (Tensor::new(&b.0, &shape).unwrap(), Tensor::from(&b.1)),
    )
    .unwrap();
    assert_eq!((&a.0, &a.1), (&context, &log_sum_exp));

    // Each part has the bound of a whole of its own, and merging takes two exponentials and three sums more.
    let (contexts, _, logs) = call.expected(&MaskCase::default());
    let twice = |numbers: Vec<Number>| -> Vec<Number> {
        let wider = |number: Number| Number { error: 2.0 * number.error + 8.0 * common::EPSILON, ..number };
        numbers.into_iter().map(wider).collect()
    };
    assert_close("merged context", &widen(&context), &twice(flat(&contexts)));
    assert_close("merged log-sum-exp", &widen(&log_sum_exp), &twice(logs));
}
