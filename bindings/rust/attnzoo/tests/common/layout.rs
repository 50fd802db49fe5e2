//! Numbers in memory of any type and layout: axes in any order, gaps between, some running backwards.

use attnzoo::{Bf16, Tensor, TensorMut, F16};

use super::Random;

enum Memory {
    F32(Vec<f32>),
    F16(Vec<F16>),
    Bf16(Vec<Bf16>),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    F32,
    F16,
    Bf16,
}

impl Kind {
    /// A number as this type holds it.
    pub fn round(self, number: f32) -> f32 {
        match self {
            Kind::F32 => number,
            Kind::F16 => F16::from_f32(number).to_f32(),
            Kind::Bf16 => Bf16::from_f32(number).to_f32(),
        }
    }

    /// The most by which rounding to this type moves a number of that size, beyond float32's own rounding.
    pub fn rounding(self, number: f64) -> f64 {
        match self {
            Kind::F32 => 0.0,
            // 11 bits of mantissa, and steps of 2^-24 below 2^-14.
            Kind::F16 => number.abs() * 2.0_f64.powi(-11) + 2.0_f64.powi(-25),
            Kind::Bf16 => number.abs() * 2.0_f64.powi(-8),
        }
    }
}

pub struct Laid {
    memory: Memory,
    offset: usize,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

/// What stands in gaps: inputs must not show it, outputs must leave it.
const FILLER: f32 = f32::NAN;

impl Laid {
    pub fn new(random: &mut Random, kind: Kind, shape: &[usize], numbers: &[f32]) -> Laid {
        let rank = shape.len();
        let mut order: Vec<usize> = (0..rank).collect();
        if random.chance(2) {
            for place in (1..rank).rev() {
                order.swap(place, random.below(place + 1));
            }
        }
        let (mut strides, mut offset, mut step) = (vec![0_isize; rank], random.below(3), 1);
        for &axis in order.iter().rev() {
            let size = shape[axis];
            let is_backwards = random.chance(4) && size > 0;
            strides[axis] = if is_backwards { -(step as isize) } else { step as isize };
            offset += if is_backwards { (size - 1) * step } else { 0 };
            step = step * size.max(1) + if random.chance(4) { random.below(3) } else { 0 };
        }
        let mut memory = vec![FILLER; step + 8];
        let mut laid = Laid { memory: Memory::F32(Vec::new()), offset, shape: shape.to_vec(), strides };
        for (place, &number) in laid.places().iter().zip(numbers) {
            memory[*place] = number;
        }
        laid.memory = match kind {
            Kind::F32 => Memory::F32(memory),
            Kind::F16 => Memory::F16(memory.into_iter().map(F16::from_f32).collect()),
            Kind::Bf16 => Memory::Bf16(memory.into_iter().map(Bf16::from_f32).collect()),
        };
        laid
    }

    /// Where the elements lie, row-major.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![self.offset as isize];
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            places = places.into_iter().flat_map(|place| (0..size as isize).map(move |i| place + i * stride)).collect();
        }
        places.into_iter().map(|place| place as usize).collect()
    }

    pub fn view(&self) -> Tensor<'_> {
        let (offset, shape, strides) = (self.offset, &self.shape, &self.strides);
        match &self.memory {
            Memory::F32(memory) => Tensor::with_strides(memory, offset, shape, strides),
            Memory::F16(memory) => Tensor::with_strides(memory, offset, shape, strides),
            Memory::Bf16(memory) => Tensor::with_strides(memory, offset, shape, strides),
        }
        .unwrap()
    }

    pub fn view_mut(&mut self) -> TensorMut<'_> {
        let (offset, shape, strides) = (self.offset, &self.shape, &self.strides);
        match &mut self.memory {
            Memory::F32(memory) => TensorMut::with_strides(memory, offset, shape, strides),
            Memory::F16(memory) => TensorMut::with_strides(memory, offset, shape, strides),
            Memory::Bf16(memory) => TensorMut::with_strides(memory, offset, shape, strides),
        }
        .unwrap()
    }

    /// The elements, row-major. Fails if something was written between them.
    pub fn numbers(&self) -> Vec<f64> {
        let all: Vec<f32> = match &self.memory {
            Memory::F32(memory) => memory.clone(),
            Memory::F16(memory) => memory.iter().map(|number| number.to_f32()).collect(),
            Memory::Bf16(memory) => memory.iter().map(|number| number.to_f32()).collect(),
        };
        let places = self.places();
        let mut is_gap = vec![true; all.len()];
        places.iter().for_each(|&place| is_gap[place] = false);
        for (number, is_gap) in all.iter().zip(is_gap) {
            assert!(!is_gap || number.is_nan(), "something was written beside the view");
        }
        places.into_iter().map(|place| f64::from(all[place])).collect()
    }
}
