package attnzoo_test

// reference_test.go: attention as plain loops in float64, and what the tests share. Nothing here calls the library.

import (
	"math"
	"math/rand"
	"testing"
)

// problem is attention whose scores are told by a function; sees and bias may be nil.
type problem struct {
	batch, heads, queries, keys, valueSize int

	score func(b, h, i, j int) float64
	sees  func(b, h, i, j int) bool
	bias  func(b, h, i, j int) float64
	value func(b, h, i, j, d int) float64
}

// solution holds context [B, H, N, Dv], attention [B, H, N, M] and log-sum-exp [B, H, N].
type solution struct {
	context, attention, logSumExp []float64
}

func (p problem) solve() solution {
	var s solution
	for b := 0; b < p.batch; b++ {
		for h := 0; h < p.heads; h++ {
			for i := 0; i < p.queries; i++ {
				p.solveRow(&s, b, h, i)
			}
		}
	}
	return s
}

func (p problem) solveRow(s *solution, b, h, i int) {
	weights, sum := make([]float64, p.keys), 0.0
	for j := range weights {
		if p.sees != nil && !p.sees(b, h, i, j) {
			continue
		}
		score := p.score(b, h, i, j)
		if p.bias != nil {
			score += p.bias(b, h, i, j)
		}
		weights[j] = math.Exp(score) // the tests' scores are small
		sum += weights[j]
	}
	context := make([]float64, p.valueSize)
	for j := range weights {
		if sum > 0 {
			weights[j] /= sum
		}
		for d := range context {
			if weights[j] > 0 {
				context[d] += weights[j] * p.value(b, h, i, j, d)
			}
		}
	}
	s.context = append(s.context, context...)
	s.attention = append(s.attention, weights...)
	s.logSumExp = append(s.logSumExp, math.Log(sum))
}

// joinHeads turns [B, H, N, D] into [B, N, H*D].
func joinHeads(split []float64, batch, heads, queries, size int) []float64 {
	joined := make([]float64, len(split))
	for b := 0; b < batch; b++ {
		for h := 0; h < heads; h++ {
			for i := 0; i < queries; i++ {
				from, to := ((b*heads+h)*queries+i)*size, ((b*queries+i)*heads+h)*size
				copy(joined[to:to+size], split[from:from+size])
			}
		}
	}
	return joined
}

// linear is y = x W^T + b for rows of x; weight is [out, in], bias may be nil.
func linear(rows []float64, weight, bias []float32, in, out int) []float64 {
	var result []float64
	for start := 0; start+in <= len(rows); start += in {
		for o := 0; o < out; o++ {
			sum := 0.0
			if bias != nil {
				sum = float64(bias[o])
			}
			for k := 0; k < in; k++ {
				sum += rows[start+k] * float64(weight[o*in+k])
			}
			result = append(result, sum)
		}
	}
	return result
}

func widen(numbers []float32) []float64 {
	wide := make([]float64, len(numbers))
	for i, number := range numbers {
		wide[i] = float64(number)
	}
	return wide
}

// epsilon is the largest relative error of rounding to float32.
const epsilon = 1.0 / (1 << 24)

// contextTolerance bounds the error of a context, or of attention weights, in float32. A score that is off by d makes its
// weight off by a factor of exp(d), and the sum of the weights likewise: 2 d together. exp is within 2 ulp (4 epsilon),
// the sums over the keys are off by at most one rounding a key each, and dividing and storing round once each.
func contextTolerance(scoreError float64, keys int, largestValue float64) float64 {
	return (2*scoreError + (8+2*float64(keys)+2)*epsilon) * largestValue
}

// dotError bounds the error of a dot product over size terms whose magnitudes sum to at most total.
func dotError(size int, total float64) float64 {
	return float64(size+1) * epsilon * total
}

func random(source *rand.Rand, count int) []float32 {
	numbers := make([]float32, count)
	for i := range numbers {
		numbers[i] = source.Float32()*2 - 1
	}
	return numbers
}

func compare(t *testing.T, what string, got []float32, expected []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(expected) {
		t.Fatalf("%s has %d elements, must have %d", what, len(got), len(expected))
	}
	for i := range got {
		// Not >, which NaN would pass.
		if !(math.Abs(float64(got[i])-expected[i]) <= tolerance) && float64(got[i]) != expected[i] {
			t.Fatalf("%s: element %d is %g, must be %g within %.1e", what, i, got[i], expected[i], tolerance)
		}
	}
}

// must is for what is not under test.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
