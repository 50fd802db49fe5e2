//! Every mechanism against plain loops in double. scaled_dot_product has a file of its own.

mod common;

use attnzoo::{fill_sinusoidal_positions, Module, Sinusoid, Tensor, TensorMut};
use common::masks::{MaskCase, Sizes};
use common::reference::{attend, flat, linear, location_aware, part, rows, score, LocationAware, Rows};
use common::{assert_close, dot, sum, widen, Number, Random};

/// Parameters by name, with shape and numbers.
#[derive(Default)]
struct Weights(Vec<(&'static str, Vec<usize>, Vec<f32>)>);

impl Weights {
    fn draw(random: &mut Random, shapes: &[(&'static str, &[usize])]) -> Weights {
        let draw =
            |&(name, shape): &(&'static str, &[usize])| (name, shape.to_vec(), random.numbers(shape.iter().product()));
        Weights(shapes.iter().map(draw).collect())
    }

    fn get(&self, name: &str) -> Option<&[f32]> {
        self.0.iter().find(|entry| entry.0 == name).map(|entry| entry.2.as_slice())
    }

    fn rows(&self, name: &str) -> Rows {
        let entry = self.0.iter().find(|entry| entry.0 == name).unwrap();
        rows(&entry.2, entry.1[1])
    }

    /// The linear layer of a name, on rows.
    fn layer(&self, name: &str, input: &Rows) -> Rows {
        linear(input, &self.rows(&format!("{}.weight", name)), self.get(&format!("{}.bias", name)))
    }

    fn module(&self, mechanism: &str, options: &[(&str, &str)]) -> Module {
        let mut builder = Module::builder(mechanism).unwrap();
        for (name, value) in options {
            builder.set_option(name, *value).unwrap();
        }
        for (name, shape, numbers) in &self.0 {
            builder.set_parameter(name, Tensor::new(numbers, shape).unwrap()).unwrap();
        }
        builder.prepare().unwrap()
    }
}

const BATCH: usize = 2;
const HEADS: usize = 4;
const KEY_HEADS: usize = 2;
const QUERIES: usize = 3;
const KEYS: usize = 7;
const SIZE: usize = 3;
const VALUE_SIZE: usize = 2;
const WIDTHS: [usize; 4] = [5, 4, 6, 8]; // of query, key, value and context
const SIZES: Sizes = Sizes { batch: BATCH, heads: HEADS, queries: QUERIES, keys: KEYS };

fn projections() -> Vec<(&'static str, &'static [usize])> {
    vec![
        ("query_proj.weight", &[HEADS * SIZE, WIDTHS[0]]),
        ("query_proj.bias", &[HEADS * SIZE]),
        ("key_proj.weight", &[KEY_HEADS * SIZE, WIDTHS[1]]),
        ("key_proj.bias", &[KEY_HEADS * SIZE]),
        ("value_proj.weight", &[KEY_HEADS * VALUE_SIZE, WIDTHS[2]]),
        ("value_proj.bias", &[KEY_HEADS * VALUE_SIZE]),
        ("out_proj.weight", &[WIDTHS[3], HEADS * VALUE_SIZE]),
        ("out_proj.bias", &[WIDTHS[3]]),
    ]
}

struct Inputs {
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
}

impl Inputs {
    fn draw(random: &mut Random, widths: [usize; 3]) -> Inputs {
        Inputs {
            query: random.numbers(BATCH * QUERIES * widths[0]),
            key: random.numbers(BATCH * KEYS * widths[1]),
            value: random.numbers(BATCH * KEYS * widths[2]),
        }
    }

    fn tensors(&self) -> [Tensor<'_>; 3] {
        let tensor = |numbers, count: usize, length: usize| Tensor::new(numbers, &[BATCH, count, length]).unwrap();
        [
            tensor(&self.query, QUERIES, self.query.len() / BATCH / QUERIES),
            tensor(&self.key, KEYS, self.key.len() / BATCH / KEYS),
            tensor(&self.value, KEYS, self.value.len() / BATCH / KEYS),
        ]
    }

    /// One batch's rows of query, key and value.
    fn rows(&self, batch: usize) -> [Rows; 3] {
        self.tensors().map(|tensor| tensor.shape()[2]).iter().zip([&self.query, &self.key, &self.value]).fold(
            [Rows::new(), Rows::new(), Rows::new()],
            |[_, b, c], (&width, numbers)| {
                let count = numbers.len() / BATCH / width;
                let own = &numbers[batch * count * width..(batch + 1) * count * width];
                [b, c, rows(own, width)]
            },
        )
    }
}

/// By head, query and key, with the query's projected row.
type ScoreTerm<'a> = dyn Fn(usize, usize, usize, &[Number]) -> Number + 'a;

/// What relative mechanisms add: to a score before it is scaled, and to a value.
struct Relative<'a> {
    score: &'a ScoreTerm<'a>,
    value: &'a dyn Fn(usize, usize) -> Vec<Number>,
}

fn heads_reference(weights: &Weights, inputs: &Inputs, case: &MaskCase, relative: Option<&Relative>) -> Rows {
    let mut contexts = Rows::new();
    for b in 0..BATCH {
        let [query, key, value] = inputs.rows(b);
        let query = weights.layer("query_proj", &query);
        let (key, value) = (weights.layer("key_proj", &key), weights.layer("value_proj", &value));
        let mut joined = vec![Vec::new(); QUERIES];
        for h in 0..HEADS {
            let group = h / (HEADS / KEY_HEADS);
            for i in 0..QUERIES {
                let q = part(&query[i], h, SIZE);
                let seen = |j: usize| {
                    let bias = case.bias([b, h, i, j], SIZES)?;
                    let product = dot(q, part(&key[j], group, SIZE));
                    let product = relative.map_or(product, |relative| product + (relative.score)(h, i, j, q));
                    Some(score(product, 1.0 / (SIZE as f64).sqrt(), 0.0) + bias.into())
                };
                let scores: Vec<_> = (0..KEYS).map(seen).collect();
                let own = |j: usize| {
                    let own = part(&value[j], group, VALUE_SIZE).iter();
                    let extra = relative.map_or(vec![0.0.into(); VALUE_SIZE], |relative| (relative.value)(i, j));
                    own.zip(extra).map(|(&value, extra)| value + extra).collect()
                };
                let values: Rows = (0..KEYS).map(own).collect();
                joined[i].extend(attend(&scores, &values, VALUE_SIZE).context);
            }
        }
        contexts.extend(weights.layer("out_proj", &joined));
    }
    contexts
}

#[test]
fn multi_head_is_as_the_reference() {
    let mut random = Random(10);
    for round in 0..40 {
        let weights = Weights::draw(&mut random, &projections());
        let inputs = Inputs::draw(&mut random, [WIDTHS[0], WIDTHS[1], WIDTHS[2]]);
        let case = if round == 0 { MaskCase::causal() } else { MaskCase::draw(&mut random, SIZES) };
        let module = weights.module("multi_head", &[("num_heads", "4"), ("num_kv_heads", "2")]);
        let [query, key, value] = inputs.tensors();
        let context = module.forward(query, key, value).mask(&case.build(SIZES)).into_vec().unwrap();
        assert_close("context", &widen(&context), &flat(&heads_reference(&weights, &inputs, &case, None)));
    }
}

/// Row p of the table stands for the distance KEYS - 1 - p; query i stands at KEYS - QUERIES + i.
fn row_of(i: usize, j: usize) -> usize {
    KEYS - 1 + j - (KEYS - QUERIES + i)
}

#[test]
fn relative_multi_head_with_positions_is_as_the_reference() {
    let (width, mut random) = (6, Random(11));
    let mut shapes = projections();
    shapes.extend_from_slice(&[
        ("pos_proj.weight", &[HEADS * SIZE, 6]),
        ("u_bias", &[HEADS, SIZE]),
        ("v_bias", &[HEADS, SIZE]),
    ]);
    let weights = Weights::draw(&mut random, &shapes);
    let inputs = Inputs::draw(&mut random, [WIDTHS[0], WIDTHS[1], WIDTHS[2]]);
    let count = KEYS + QUERIES - 1;
    let mut table = vec![0.0_f32; count * width];
    let mut view = TensorMut::new(&mut table, &[count, width]).unwrap();
    fill_sinusoidal_positions(&mut view, KEYS as i64 - 1, -1, Sinusoid::Halves).unwrap();
    for (p, row) in table.chunks(width).enumerate() {
        for i in 0..width / 2 {
            let angle = (KEYS as f64 - 1.0 - p as f64) / 10000.0_f64.powf(2.0 * i as f64 / width as f64);
            // The library computes the angles in double and rounds the result once.
            assert!((f64::from(row[i]) - angle.sin()).abs() <= common::EPSILON, "row {}", p);
            assert!((f64::from(row[width / 2 + i]) - angle.cos()).abs() <= common::EPSILON, "row {}", p);
        }
    }

    let positions = weights.layer("pos_proj", &rows(&table, width));
    let (u, v) = (weights.rows("u_bias"), weights.rows("v_bias"));
    let keys: Vec<Rows> = (0..BATCH).map(|b| weights.layer("key_proj", &inputs.rows(b)[1])).collect();
    let module = weights.module("relative_multi_head", &[("num_heads", "4"), ("num_kv_heads", "2")]);
    for (round, case) in [MaskCase::default(), MaskCase::causal()].iter().enumerate() {
        let [query, key, value] = inputs.tensors();
        let forward = module.forward(query, key, value);
        let position = Tensor::new(&table, &[count, width]).unwrap();
        let mask = case.build(SIZES);
        let forward = if round == 0 { forward.position(position) } else { forward.input("position", position) };
        let context = forward.mask(&mask).into_vec().unwrap();
        for (b, keys) in keys.iter().enumerate() {
            // u . k + (q + v) . r joins q . k, batch by batch: u's term needs the batch's keys.
            let term = |h: usize, i: usize, j: usize, q: &[Number]| {
                let r = part(&positions[row_of(i, j)], h, SIZE);
                let moved: Vec<Number> = q.iter().zip(&v[h]).map(|(&a, &b)| a + b).collect();
                dot(&u[h], part(&keys[j], h / (HEADS / KEY_HEADS), SIZE)) + dot(&moved, r)
            };
            let relative = Relative { score: &term, value: &|_, _| vec![0.0.into(); VALUE_SIZE] };
            let expected = heads_reference(&weights, &inputs, case, Some(&relative));
            let own = b * QUERIES * WIDTHS[3]..(b + 1) * QUERIES * WIDTHS[3];
            assert_close("context", &widen(&context[own.clone()]), &flat(&expected)[own]);
        }
    }
}

#[test]
fn relative_multi_head_with_distances_is_as_the_reference() {
    let (reach, mut random) = (2, Random(12));
    let mut shapes = projections();
    shapes.extend_from_slice(&[("relative_key", &[5, SIZE]), ("relative_value", &[5, VALUE_SIZE])]);
    let weights = Weights::draw(&mut random, &shapes);
    let inputs = Inputs::draw(&mut random, [WIDTHS[0], WIDTHS[1], WIDTHS[2]]);
    let clipped = |i: usize, j: usize| {
        let distance = j as isize - i as isize - (KEYS as isize - QUERIES as isize);
        (distance.clamp(-reach, reach) + reach) as usize
    };
    let (relative_key, relative_value) = (weights.rows("relative_key"), weights.rows("relative_value"));
    let relative = Relative {
        score: &|_, i, j, q| dot(q, &relative_key[clipped(i, j)]),
        value: &|i, j| relative_value[clipped(i, j)].clone(),
    };
    let options = [("num_heads", "4"), ("num_kv_heads", "2"), ("flavor", "shaw")];
    let module = weights.module("relative_multi_head", &options);
    for _ in 0..20 {
        let case = MaskCase::draw(&mut random, SIZES);
        let [query, key, value] = inputs.tensors();
        let context = module.forward(query, key, value).mask(&case.build(SIZES)).into_vec().unwrap();
        let expected = heads_reference(&weights, &inputs, &case, Some(&relative));
        assert_close("context", &widen(&context), &flat(&expected));
    }
}

#[test]
fn additive_is_as_the_reference() {
    const HIDDEN: usize = 9;
    let mut random = Random(13);
    let shapes: [(&'static str, &[usize]); 5] = [
        ("query_proj.weight", &[HIDDEN, WIDTHS[0]]),
        ("key_proj.weight", &[HIDDEN, WIDTHS[1]]),
        ("bias", &[HIDDEN]),
        ("score_proj.weight", &[1, HIDDEN]),
        ("score_proj.bias", &[1]),
    ];
    let sizes = Sizes { heads: 1, ..SIZES };
    for _ in 0..20 {
        let weights = Weights::draw(&mut random, &shapes);
        let inputs = Inputs::draw(&mut random, [WIDTHS[0], WIDTHS[1], WIDTHS[2]]);
        let case = MaskCase::draw(&mut random, sizes);
        let [query, key, value] = inputs.tensors();
        let (mask, mut attention) = (case.build(sizes), vec![f32::NAN; BATCH * QUERIES * KEYS]);
        let mut view = TensorMut::new(&mut attention, &[BATCH, QUERIES, KEYS]).unwrap();
        let module = weights.module("additive", &[]);
        let context = module.forward(query, key, value).mask(&mask).attention(&mut view).into_vec().unwrap();

        let (bias, outer) = (weights.get("bias").unwrap(), weights.get("score_proj.weight").unwrap());
        let last = weights.get("score_proj.bias").unwrap()[0];
        let (mut contexts, mut rows_of_weights) = (Rows::new(), Rows::new());
        for b in 0..BATCH {
            let [query, key, value] = inputs.rows(b);
            let (query, key) = (weights.layer("query_proj", &query), weights.layer("key_proj", &key));
            for (i, query) in query.iter().enumerate() {
                let seen = |j: usize| {
                    let added = case.bias([b, 0, i, j], sizes)?;
                    let unit = |a: usize| sum([query[a], key[j][a], bias[a].into()]).tanh() * outer[a].into();
                    Some(sum((0..HIDDEN).map(unit)) + last.into() + added.into())
                };
                let scores: Vec<_> = (0..KEYS).map(seen).collect();
                let attended = attend(&scores, &value, WIDTHS[2]);
                contexts.push(attended.context);
                rows_of_weights.push(attended.weights);
            }
        }
        assert_close("context", &widen(&context), &flat(&contexts));
        assert_close("attention", &widen(&attention), &flat(&rows_of_weights));
    }
}

#[test]
fn location_aware_is_as_the_reference() {
    const HIDDEN: usize = 5;
    const FILTERS: usize = 3;
    let mut random = Random(14);
    for (feedback, normalizer, initial) in
        [("previous", "softmax", "zeros"), ("cumulative", "softmax", "uniform"), ("both", "smoothing", "uniform")]
    {
        let channels = if feedback == "both" { 4 } else { 2 };
        let weights = Weights::draw(
            &mut random,
            &[
                ("query_proj.weight", &[2 * HIDDEN, WIDTHS[0]]),
                ("key_proj.weight", &[2 * HIDDEN, WIDTHS[1]]),
                ("bias", &[HIDDEN]),
                ("location_conv.weight", &[FILTERS, channels, 3]),
                ("location_proj.weight", &[HIDDEN, FILTERS]),
                ("score_proj.weight", &[1, HIDDEN]),
            ],
        );
        let options = [
            ("num_heads", "2"),
            ("feedback", feedback),
            ("normalizer", normalizer),
            ("initial", initial),
            ("sharpening", "2"),
        ];
        let module = weights.module("location_aware", &options);
        let inputs = Inputs::draw(&mut random, [WIDTHS[0], WIDTHS[1], WIDTHS[2]]);
        let [query, key, value] = inputs.tensors();
        let mut state = module.state(BATCH, KEYS).unwrap();
        let context = module.forward(query, key, value).state(&mut state).into_vec().unwrap();

        let settings = LocationAware {
            heads: 2,
            score_weight: weights.get("score_proj.weight").unwrap(),
            bias: weights.get("bias").unwrap(),
            convolution: weights.get("location_conv.weight").unwrap(),
            filters: FILTERS,
            reach: 1,
            location_weight: weights.get("location_proj.weight").unwrap(),
            sharpening: 2.0,
            is_smoothing: normalizer == "smoothing",
            feedback,
            is_uniform_at_first: initial == "uniform",
        };
        let (mut contexts, mut last) = (Rows::new(), Rows::new());
        for b in 0..BATCH {
            let [query, key, value] = inputs.rows(b);
            let (query, key) = (weights.layer("query_proj", &query), weights.layer("key_proj", &key));
            let (context, alignments) = location_aware(&settings, &query, &key, &value);
            contexts.extend(context);
            last.extend(alignments.last().unwrap().clone());
        }
        assert_close("context", &widen(&context), &flat(&contexts));
        assert_close("alignment", &widen(&state.field("alignment").unwrap()), &flat(&last));
    }
}
