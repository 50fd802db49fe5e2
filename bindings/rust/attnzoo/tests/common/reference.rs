//! Every mechanism as plain loops in double, for one batch, with error bounds for float32.

use super::{dot, sum, Number};

pub type Rows = Vec<Vec<Number>>;

pub fn rows(numbers: &[f32], width: usize) -> Rows {
    numbers.chunks(width).map(|row| row.iter().map(|&number| number.into()).collect()).collect()
}

pub fn flat(rows: &[Vec<Number>]) -> Vec<Number> {
    rows.concat()
}

/// A linear layer, W stored [out, in].
pub fn linear(input: &[Vec<Number>], weight: &[Vec<Number>], bias: Option<&[f32]>) -> Rows {
    let unit = |row: &Vec<Number>, out: usize| {
        let product = dot(row, &weight[out]);
        bias.map_or(product, |bias| product + bias[out].into())
    };
    input.iter().map(|row| (0..weight.len()).map(|out| unit(row, out)).collect()).collect()
}

pub struct Attended {
    pub weights: Vec<Number>,
    pub context: Vec<Number>,
    pub log_sum_exp: Number,
}

/// Softmax over the keys that have a score, and the values summed by it.
pub fn attend(scores: &[Option<Number>], values: &[Vec<Number>], width: usize) -> Attended {
    let maximum = scores.iter().flatten().map(|score| score.value).fold(f64::NEG_INFINITY, f64::max);
    let weight = |score: &Option<Number>| score.map_or(0.0.into(), |score| (score - maximum.into()).exp());
    let exponentials: Vec<Number> = scores.iter().map(weight).collect();
    if maximum == f64::NEG_INFINITY {
        let zeros = vec![Number::from(0.0); width];
        return Attended { weights: exponentials, context: zeros, log_sum_exp: maximum.into() };
    }
    let total = sum(exponentials.iter().copied());
    let column = |d: usize| sum(exponentials.iter().zip(values).map(|(&weight, value)| weight * value[d])).over(total);
    Attended {
        weights: exponentials.iter().map(|&exponential| exponential.over(total)).collect(),
        context: (0..width).map(column).collect(),
        log_sum_exp: total.ln() + maximum.into(),
    }
}

/// s q . k, and c tanh(s q . k / c) with a softcap.
pub fn score(product: Number, scale: f64, softcap: f64) -> Number {
    let scaled = product * scale.into();
    if softcap > 0.0 {
        return scaled.over(softcap.into()).tanh() * softcap.into();
    }
    scaled
}

/// One head's part of a row.
pub fn part(row: &[Number], head: usize, size: usize) -> &[Number] {
    &row[head * size..(head + 1) * size]
}

/// The step-by-step mechanism's settings.
pub struct LocationAware<'a> {
    pub heads: usize,
    pub score_weight: &'a [f32],
    pub bias: &'a [f32],
    pub convolution: &'a [f32],
    pub filters: usize,
    pub reach: usize,
    pub location_weight: &'a [f32],
    pub sharpening: f64,
    pub is_smoothing: bool,
    /// "previous", "cumulative" or "both".
    pub feedback: &'a str,
    pub is_uniform_at_first: bool,
}

/// All steps' contexts and alignments. Queries [N][H*A] and keys [M][H*A] are projected already.
pub fn location_aware(settings: &LocationAware, queries: &Rows, keys: &Rows, values: &Rows) -> (Rows, Vec<Rows>) {
    let (count, heads, hidden) = (keys.len(), settings.heads, settings.bias.len());
    let size = values[0].len() / heads;
    let first = if settings.is_uniform_at_first { Number::from(1.0).over((count as f64).into()) } else { 0.0.into() };
    let mut alignment: Rows = vec![vec![first; count]; heads];
    let mut cumulative = alignment.clone();
    let (mut contexts, mut alignments) = (Rows::new(), Vec::new());
    let location_weight = rows(settings.location_weight, settings.filters);
    for query in queries {
        let channels = match settings.feedback {
            "previous" => alignment.clone(),
            "cumulative" => cumulative.clone(),
            _ => [alignment.clone(), cumulative.clone()].concat(),
        };
        let location = linear(&convolve(settings, &channels, count), &location_weight, None);
        let mut context = Vec::new();
        for head in 0..heads {
            let score = |j: usize| {
                let unit = |a: usize| {
                    let place = head * hidden + a;
                    let inside = sum([query[place], keys[j][place], location[j][a], settings.bias[a].into()]);
                    inside.tanh() * settings.score_weight[a].into()
                };
                sum((0..hidden).map(unit)) * settings.sharpening.into()
            };
            let scores: Vec<Option<Number>> = (0..count).map(|j| Some(score(j))).collect();
            let own: Rows = values.iter().map(|value| part(value, head, size).to_vec()).collect();
            let weights = if settings.is_smoothing {
                let shares: Vec<Number> = scores.iter().flatten().map(|score| score.sigmoid()).collect();
                let total = sum(shares.iter().copied());
                shares.into_iter().map(|share| share.over(total)).collect()
            } else {
                attend(&scores, &own, size).weights
            };
            context.extend((0..size).map(|d| sum((0..count).map(|j| weights[j] * own[j][d]))));
            cumulative[head] = cumulative[head].iter().zip(&weights).map(|(&a, &b)| a + b).collect();
            alignment[head] = weights;
        }
        contexts.push(context);
        alignments.push(alignment.clone());
    }
    (contexts, alignments)
}

/// [M][F]: cross-correlation along the keys, zeros beyond both ends.
fn convolve(settings: &LocationAware, channels: &[Vec<Number>], count: usize) -> Rows {
    let width = 2 * settings.reach + 1;
    let feature = |filter: usize, j: usize| {
        let term = |channel: usize, w: usize| {
            let weight = settings.convolution[(filter * channels.len() + channel) * width + w];
            let key = (j + w).checked_sub(settings.reach).filter(|&key| key < count);
            key.map_or(0.0.into(), |key| channels[channel][key] * weight.into())
        };
        sum((0..channels.len()).flat_map(|channel| (0..width).map(move |w| (channel, w))).map(|(c, w)| term(c, w)))
    };
    (0..count).map(|j| (0..settings.filters).map(|filter| feature(filter, j)).collect()).collect()
}
