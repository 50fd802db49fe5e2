//! The types that elements of tensors may have.

use std::fmt;

use attnzoo_sys as sys;

/// An element type. Later versions may have more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataType {
    /// `f32`.
    Float32,
    /// [`F16`].
    Float16,
    /// [`Bf16`].
    Bfloat16,
    /// `bool`, or `u8` where any number but 0 is true.
    Bool,
    /// `i32`.
    Int32,
    /// `i64`.
    Int64,
}

impl DataType {
    pub(crate) fn number(self) -> i32 {
        match self {
            DataType::Float32 => sys::ATTNZOO_DTYPE_FLOAT32,
            DataType::Float16 => sys::ATTNZOO_DTYPE_FLOAT16,
            DataType::Bfloat16 => sys::ATTNZOO_DTYPE_BFLOAT16,
            DataType::Bool => sys::ATTNZOO_DTYPE_BOOL,
            DataType::Int32 => sys::ATTNZOO_DTYPE_INT32,
            DataType::Int64 => sys::ATTNZOO_DTYPE_INT64,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the function takes any number and returns a static string.
        let name = unsafe { crate::error::static_text(sys::attnzoo_dtype_name(self.number())) };
        formatter.write_str(name.unwrap_or("unknown"))
    }
}

mod sealed {
    /// Keeps others from adding element types: the library would read their memory as something it is not.
    pub trait Sealed {
        const DATA_TYPE: super::DataType;
    }
}

pub(crate) use sealed::Sealed;

/// A Rust type that elements may have: `f32`, [`F16`], [`Bf16`], `bool`, `u8` (read as bool), `i32` and `i64`.
pub trait Element: Copy + Send + Sync + Sealed + 'static {}

/// An element type that outputs may have: `f32`, [`F16`] and [`Bf16`], or `i32` and `i64` where
/// [`Item::data_type`](crate::Item::data_type) says "integer".
pub trait Output: Element {}

/// A floating-point type: `f32`, [`F16`] and [`Bf16`].
pub trait Float: Output {}

macro_rules! elements {
    ($($element:ty: $data_type:ident),* $(,)?) => {
        $(
            impl Sealed for $element {
                const DATA_TYPE: DataType = DataType::$data_type;
            }
            impl Element for $element {}
        )*
    };
}

elements!(f32: Float32, F16: Float16, Bf16: Bfloat16, bool: Bool, u8: Bool, i32: Int32, i64: Int64);

impl Output for f32 {}
impl Output for F16 {}
impl Output for Bf16 {}
impl Output for i32 {}
impl Output for i64 {}

impl Float for f32 {}
impl Float for F16 {}
impl Float for Bf16 {}

/// The bits of an IEEE 754 binary16 number.
///
/// ```
/// use attnzoo::F16;
/// assert_eq!(F16::from_f32(1.0), F16(0x3c00));
/// assert_eq!(F16(0xc500).to_f32(), -5.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The bits of a bfloat16 number, which are the upper half of an `f32`.
///
/// ```
/// use attnzoo::Bf16;
/// assert_eq!(Bf16::from_f32(1.0), Bf16(0x3f80));
/// assert_eq!(Bf16(0xc0a0).to_f32(), -5.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// Drops the lowest `count` bits, to nearest, ties to even. At most 31 of them.
fn round_off(bits: u32, count: u32) -> u32 {
    let half = 1 << (count - 1);
    let is_odd = (bits >> count) & 1;
    (bits + (half - 1) + is_odd) >> count
}

impl F16 {
    /// The nearest half to a number, ties to even.
    pub fn from_f32(number: f32) -> F16 {
        let sign = ((number.to_bits() >> 16) & 0x8000) as u16;
        let magnitude = number.to_bits() & 0x7fff_ffff;
        let exponent = magnitude >> 23;
        let bits = if magnitude > 0x7f80_0000 {
            0x7e00
        } else if exponent >= 143 {
            0x7c00
        } else if exponent >= 113 {
            // A mantissa that rounds up to the next power carries into the exponent, and at the end into infinity.
            round_off(magnitude - (112 << 23), 13) as u16
        } else if exponent >= 102 {
            round_off((magnitude & 0x007f_ffff) | 0x0080_0000, 126 - exponent) as u16
        } else {
            0
        };
        F16(sign | bits)
    }

    /// The number, exactly.
    pub fn to_f32(self) -> f32 {
        let sign = if self.0 & 0x8000 != 0 { -1.0 } else { 1.0 };
        let mantissa = f32::from(self.0 & 0x03ff);
        match (self.0 >> 10) & 31 {
            0 => sign * mantissa * 2.0_f32.powi(-24),
            31 if mantissa == 0.0 => sign * f32::INFINITY,
            31 => f32::NAN,
            exponent => sign * (1024.0 + mantissa) * 2.0_f32.powi(i32::from(exponent) - 25),
        }
    }
}

impl Bf16 {
    /// The nearest bfloat16 to a number, ties to even.
    pub fn from_f32(number: f32) -> Bf16 {
        if number.is_nan() {
            return Bf16(0x7fc0);
        }
        let sign = ((number.to_bits() >> 16) & 0x8000) as u16;
        Bf16(sign | round_off(number.to_bits() & 0x7fff_ffff, 16) as u16)
    }

    /// The number, exactly.
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl From<F16> for f32 {
    fn from(half: F16) -> f32 {
        half.to_f32()
    }
}

impl From<Bf16> for f32 {
    fn from(half: Bf16) -> f32 {
        half.to_f32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_comes_back() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (F16(bits), Bf16(bits));
            if half.to_f32().is_nan() {
                assert!(F16::from_f32(half.to_f32()).to_f32().is_nan());
            } else {
                assert_eq!(F16::from_f32(half.to_f32()), half);
            }
            if brain.to_f32().is_nan() {
                assert!(Bf16::from_f32(brain.to_f32()).to_f32().is_nan());
            } else {
                assert_eq!(Bf16::from_f32(brain.to_f32()), brain);
            }
        }
    }

    /// Between two neighbours the nearer one is taken; in the middle the one whose last bit is 0.
    #[test]
    fn halves_are_rounded_to_nearest_even() {
        for bits in (0..0x7bff_u16).chain(0x8000..0xfbff) {
            let (low, high) = (F16(bits).to_f32(), F16(bits + 1).to_f32());
            // Exact: two neighbouring halves differ by one unit of their 11 bits.
            let middle = (low + high) / 2.0;
            assert_eq!(F16::from_f32(middle).0, bits + (bits & 1), "between {} and {}", low, high);
            assert_eq!(F16::from_f32(middle + (low - middle) / 2.0).0, bits);
            assert_eq!(F16::from_f32(middle + (high - middle) / 2.0).0, bits + 1);
        }
        assert_eq!(F16::from_f32(65519.0).0, 0x7bff);
        assert_eq!(F16::from_f32(65520.0).0, 0x7c00);
        assert_eq!(F16::from_f32(f32::MAX).0, 0x7c00);
    }

    #[test]
    fn brain_floats_are_rounded_to_nearest_even() {
        for bits in (0..0x7f7f_u16).chain(0x8000..0xff7f) {
            let middle = f32::from_bits((u32::from(bits) << 16) | 0x8000);
            assert_eq!(Bf16::from_f32(middle).0, bits + (bits & 1));
            assert_eq!(Bf16::from_f32(f32::from_bits(middle.to_bits() - 1)).0, bits);
            assert_eq!(Bf16::from_f32(f32::from_bits(middle.to_bits() + 1)).0, bits + 1);
        }
    }
}
