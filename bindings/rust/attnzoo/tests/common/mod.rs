//! What the tests share: numbers that carry their error bound, random numbers, and memory in random layouts. The
//! reference in reference.rs knows nothing of the library.

#![allow(dead_code)] // Each test program uses a part.

pub mod layout;
pub mod masks;
pub mod reference;

use std::ops::{Add, Mul, Sub};

/// Twice the most by which one operation in float32 rounds, relative to its result. The factor of two is for what the
/// order of operations leaves open: where a scale is multiplied in, how often a running maximum moves.
pub const EPSILON: f64 = f32::EPSILON as f64;

/// The library's exp and tanh are within 2 ulp of float32, and an ulp is at most `EPSILON` of the number.
const FUNCTION: f64 = 2.0 * EPSILON;

/// A number computed in double, with a bound on how far float32 arithmetic may be from it. The bound follows the
/// arithmetic, operation by operation, to first order; double's own rounding is far below.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    pub value: f64,
    pub error: f64,
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number { value, error: 0.0 }
    }
}

impl From<f32> for Number {
    fn from(value: f32) -> Number {
        f64::from(value).into()
    }
}

fn rounded(value: f64, error: f64) -> Number {
    Number { value, error: error + EPSILON * value.abs() }
}

impl Add for Number {
    type Output = Number;
    fn add(self, other: Number) -> Number {
        rounded(self.value + other.value, self.error + other.error)
    }
}

impl Sub for Number {
    type Output = Number;
    fn sub(self, other: Number) -> Number {
        rounded(self.value - other.value, self.error + other.error)
    }
}

impl Mul for Number {
    type Output = Number;
    fn mul(self, other: Number) -> Number {
        let error = self.value.abs() * other.error + other.value.abs() * self.error + self.error * other.error;
        rounded(self.value * other.value, error)
    }
}

impl Number {
    pub fn over(self, other: Number) -> Number {
        let value = self.value / other.value;
        rounded(value, (self.error + value.abs() * other.error) / (other.value.abs() - other.error))
    }

    pub fn exp(self) -> Number {
        let value = self.value.exp();
        Number { value, error: value * (self.error.exp_m1() + FUNCTION) }
    }

    pub fn tanh(self) -> Number {
        let value = self.value.tanh();
        // The slope of tanh is at most 1.
        Number { value, error: self.error + FUNCTION * value.abs() }
    }

    pub fn sigmoid(self) -> Number {
        let value = 1.0 / (1.0 + (-self.value).exp());
        // The slope of the sigmoid is at most 1/4 everywhere, and its relative slope at most 1.
        Number { value, error: value * (self.error.exp_m1() + FUNCTION + EPSILON) }
    }

    pub fn ln(self) -> Number {
        let relative = self.error / (self.value - self.error);
        rounded(self.value.ln(), relative + FUNCTION)
    }
}

/// A sum in any order: each term passes at most as many additions as there are terms.
pub fn sum(terms: impl IntoIterator<Item = Number>) -> Number {
    let (mut total, mut magnitude, mut count) = (Number::from(0.0), 0.0, 0);
    for term in terms {
        total = Number { value: total.value + term.value, error: total.error + term.error };
        magnitude += term.value.abs() + term.error;
        count += 1;
    }
    Number { value: total.value, error: total.error + f64::from(count) * EPSILON * magnitude }
}

pub fn dot(a: &[Number], b: &[Number]) -> Number {
    assert_eq!(a.len(), b.len());
    sum(a.iter().zip(b).map(|(&x, &y)| x * y))
}

/// Compares what came out with what should have, element by element, within bounds.
pub fn assert_close(what: &str, got: &[f64], wanted: &[Number]) {
    assert_eq!(got.len(), wanted.len(), "{}", what);
    for (place, (&got, wanted)) in got.iter().zip(wanted).enumerate() {
        // Numbers below float32's normal range are rounded by an absolute amount.
        let bound = wanted.error + f64::from(f32::MIN_POSITIVE);
        assert!(
            got == wanted.value || (got - wanted.value).abs() <= bound,
            "{}: element {} is {}, should be {} within {}",
            what,
            place,
            got,
            wanted.value,
            bound
        );
    }
}

pub fn widen(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().map(|&number| f64::from(number)).collect()
}

/// Repeatable random numbers (SplitMix64; Steele et al. 2014).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// 0 to `bound` - 1.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// From -1 to 1.
    pub fn number(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.number()).collect()
    }
}
