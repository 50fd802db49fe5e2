//! A mask as plain data: what it lets be seen, told by its definition, and the library's mask of the same.

use attnzoo::{Alignment, Mask, Tensor};

use super::Random;

#[derive(Clone, Copy)]
pub struct Sizes {
    pub batch: usize,
    pub heads: usize,
    pub queries: usize,
    pub keys: usize,
}

/// A dense part, whose axes may be 1.
struct Dense<T> {
    shape: [usize; 4],
    values: Vec<T>,
}

impl<T: Copy> Dense<T> {
    fn new(random: &mut Random, sizes: Sizes, mut draw: impl FnMut(&mut Random) -> T) -> Dense<T> {
        let full = [sizes.batch, sizes.heads, sizes.queries, sizes.keys];
        let shape = full.map(|size| if random.chance(3) { 1 } else { size });
        let values = (0..shape.iter().product()).map(|_| draw(random)).collect();
        Dense { shape, values }
    }

    fn at(&self, index: [usize; 4]) -> T {
        let place = (0..4).fold(0, |place, axis| {
            let step = if self.shape[axis] == 1 { 0 } else { index[axis] };
            place * self.shape[axis] + step
        });
        self.values[place]
    }
}

#[derive(Default)]
pub struct MaskCase {
    causal: bool,
    window: Option<(Option<usize>, Option<usize>)>,
    alignment: Alignment,
    offset: Option<i64>,
    offsets: Option<Vec<i32>>,
    key_lengths: Option<Vec<i64>>,
    query_lengths: Option<Vec<i32>>,
    boolean: Option<Dense<bool>>,
    bytes: Option<Dense<u8>>,
    bias: Option<Dense<f32>>,
    slopes: Option<Vec<f32>>,
    segments: Option<Vec<i64>>,
}

impl MaskCase {
    pub fn causal() -> MaskCase {
        MaskCase { causal: true, ..MaskCase::default() }
    }

    pub fn draw(random: &mut Random, sizes: Sizes) -> MaskCase {
        let Sizes { batch, heads, queries, keys } = sizes;
        let mut case = MaskCase { causal: random.chance(2), ..MaskCase::default() };
        let side = |random: &mut Random| {
            if random.chance(3) {
                None
            } else {
                Some(random.below(keys + 2))
            }
        };
        case.window = random.chance(3).then(|| (side(random), side(random)));
        case.alignment = random.pick(&[Alignment::BottomRight, Alignment::TopLeft, Alignment::Lengths]);
        case.offset = random.chance(5).then(|| random.below(9) as i64 - 4);
        case.offsets = random.chance(5).then(|| (0..batch).map(|_| random.below(9) as i32 - 4).collect());
        case.key_lengths = random.chance(3).then(|| (0..batch).map(|_| random.below(keys + 1) as i64).collect());
        case.query_lengths = random.chance(4).then(|| (0..batch).map(|_| random.below(queries + 1) as i32).collect());
        case.boolean = random.chance(4).then(|| Dense::new(random, sizes, |random| random.chance(2)));
        case.bytes = (case.boolean.is_none() && random.chance(6))
            .then(|| Dense::new(random, sizes, |random| random.pick(&[0, 1, 2, 255])));
        let bias = |random: &mut Random| {
            if random.chance(5) {
                f32::NEG_INFINITY
            } else {
                random.number()
            }
        };
        case.bias = random.chance(4).then(|| Dense::new(random, sizes, bias));
        case.slopes = random.chance(4).then(|| random.numbers(heads));
        // With segments every query has to stand at some key.
        if random.chance(5) && queries <= keys {
            (case.alignment, case.offset, case.offsets) = (Alignment::BottomRight, None, None);
            case.segments = Some((0..batch * keys).map(|_| random.below(2) as i64).collect());
        }
        case
    }

    fn key_length(&self, batch: usize, sizes: Sizes) -> i64 {
        self.key_lengths.as_ref().map_or(sizes.keys as i64, |lengths| lengths[batch])
    }

    fn query_length(&self, batch: usize, sizes: Sizes) -> i64 {
        self.query_lengths.as_ref().map_or(sizes.queries as i64, |lengths| i64::from(lengths[batch]))
    }

    fn position(&self, batch: usize, query: usize, sizes: Sizes) -> i64 {
        let offset = match (&self.offsets, self.offset, self.alignment) {
            (Some(offsets), _, _) => i64::from(offsets[batch]),
            (None, Some(offset), _) => offset,
            (None, None, Alignment::TopLeft) => 0,
            (None, None, Alignment::Lengths) => self.key_length(batch, sizes) - self.query_length(batch, sizes),
            _ => sizes.keys as i64 - sizes.queries as i64,
        };
        offset + query as i64
    }

    /// What is added to the score of a query with a key; none where the key is hidden.
    pub fn bias(&self, index: [usize; 4], sizes: Sizes) -> Option<f64> {
        let [batch, head, query, key] = index;
        let (position, place) = (self.position(batch, query, sizes), key as i64);
        let (left, right) = self.window.unwrap_or((None, None));
        let is_segment = |ids: &Vec<i64>| ids[batch * sizes.keys + position as usize] == ids[batch * sizes.keys + key];
        let is_seen = (!self.causal || place <= position)
            && left.map_or(true, |left| place >= position - left as i64)
            && right.map_or(true, |right| place <= position + right as i64)
            && place < self.key_length(batch, sizes)
            && (query as i64) < self.query_length(batch, sizes)
            && self.boolean.as_ref().map_or(true, |dense| dense.at(index))
            && self.bytes.as_ref().map_or(true, |dense| dense.at(index) != 0)
            && self.segments.as_ref().map_or(true, is_segment);
        let dense = self.bias.as_ref().map_or(0.0, |dense| f64::from(dense.at(index)));
        let slope = self.slopes.as_ref().map_or(0.0, |slopes| f64::from(slopes[head]));
        (is_seen && dense.is_finite()).then(|| dense - slope * (position - place).abs() as f64)
    }

    pub fn build(&self, sizes: Sizes) -> Mask<'_> {
        let mut mask = Mask::new().unwrap();
        mask.set_causal(self.causal).unwrap().set_alignment(self.alignment).unwrap();
        if let Some((left, right)) = self.window {
            mask.set_window(left, right).unwrap();
        }
        if let Some(offset) = self.offset {
            mask.set_query_offset(offset).unwrap();
        }
        if let Some(offsets) = &self.offsets {
            mask.set_query_offsets(offsets).unwrap();
        }
        if let Some(lengths) = &self.key_lengths {
            mask.set_key_lengths(lengths).unwrap();
        }
        if let Some(lengths) = &self.query_lengths {
            mask.set_query_lengths(lengths).unwrap();
        }
        if let Some(dense) = &self.boolean {
            mask.set_boolean(Tensor::new(&dense.values, &dense.shape).unwrap()).unwrap();
        }
        if let Some(dense) = &self.bytes {
            mask.set_boolean(Tensor::new(&dense.values, &dense.shape).unwrap()).unwrap();
        }
        if let Some(dense) = &self.bias {
            mask.set_bias(Tensor::new(&dense.values, &dense.shape).unwrap()).unwrap();
        }
        if let Some(slopes) = &self.slopes {
            mask.set_linear_bias(slopes).unwrap();
        }
        if let Some(ids) = &self.segments {
            mask.set_segments(Tensor::new(ids, &[sizes.batch, sizes.keys]).unwrap()).unwrap();
        }
        mask
    }
}
