package attnzoo

// half.go: the two 16-bit types, and conversions for those who read or write them in Go. The library converts by itself.

import "math"

// Float16 is an IEEE 754 binary16 number, by its bits.
type Float16 uint16

// BFloat16 is the upper half of a float32.
type BFloat16 uint16

// NewBFloat16 rounds to nearest, ties to even.
func NewBFloat16(number float32) BFloat16 {
	bits := math.Float32bits(number)
	if number != number {
		return BFloat16(bits>>16 | 0x40) // the payload's rest must not round to infinity
	}
	return BFloat16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 is the same number, exactly.
func (b BFloat16) Float32() float32 {
	return math.Float32frombits(uint32(b) << 16)
}

// NewFloat16 rounds to nearest, ties to even; beyond the range to infinity.
func NewFloat16(number float32) Float16 {
	bits := math.Float32bits(number)
	sign := Float16(bits >> 16 & 0x8000)
	magnitude := bits & 0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00 | Float16(magnitude>>13&0x3ff)
	case magnitude >= 0x477ff000: // halfway from the largest half to 2^16
		return sign | 0x7c00
	case magnitude < 0x38800000: // below 2^-14: the halves are multiples of 2^-24
		scaled := float64(math.Float32frombits(magnitude)) * (1 << 24)
		return sign | Float16(math.RoundToEven(scaled))
	}
	return sign | Float16((magnitude-0x38000000+0xfff+magnitude>>13&1)>>13)
}

// Float32 is the same number, exactly.
func (f Float16) Float32() float32 {
	sign := uint32(f&0x8000) << 16
	magnitude := uint32(f & 0x7fff)
	switch {
	case magnitude >= 0x7c00: // infinity and NaN
		return math.Float32frombits(sign | 0x7f800000 | magnitude&0x3ff<<13)
	case magnitude < 0x400: // multiples of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(magnitude)/(1<<24)))
	}
	return math.Float32frombits(sign | (magnitude<<13 + 0x38000000))
}
