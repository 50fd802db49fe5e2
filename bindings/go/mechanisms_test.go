package attnzoo_test

// mechanisms_test.go: the mechanisms with weights, merging and positions against plain loops in float64.

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"attnzoo"
)

// Sizes of the tests in this file, all different where they may be.
const (
	batch, heads, queries, keys  = 2, 2, 4, 5
	headSize, valueSize          = 3, 2
	querySize, keySize, sizeOfV  = 4, 5, 3
	hidden, outSize, filterWidth = 6, 7, 3
)

// bound is how large a number may be and how far off in float32.
type bound struct{ magnitude, err float64 }

// linearBound follows a bound through a linear layer whose weights and biases are at most 0.5.
func linearBound(in int, x bound) bound {
	magnitude := float64(in)*0.5*x.magnitude + 0.5
	return bound{magnitude, float64(in)*0.5*x.err + dotError(in+1, magnitude)}
}

// scoreBound follows bounds through a scaled dot product.
func scoreBound(size int, a, b bound) bound {
	scale := math.Sqrt(float64(size))
	magnitude := scale * a.magnitude * b.magnitude
	return bound{magnitude, scale*(a.magnitude*b.err+b.magnitude*a.err) + dotError(size+1, magnitude)}
}

// layer is a set of random weights with the inputs that they are for.
type layer struct {
	source            *rand.Rand
	weights           map[string][]float32
	settings          []attnzoo.Setting
	query, key, value []float32
}

func newLayer(seed int64) *layer {
	source := rand.New(rand.NewSource(seed))
	return &layer{source: source, weights: map[string][]float32{},
		query: random(source, batch*queries*querySize),
		key:   random(source, batch*keys*keySize),
		value: random(source, batch*keys*sizeOfV)}
}

func (l *layer) add(name string, shape ...int) {
	count := 1
	for _, size := range shape {
		count *= size
	}
	numbers := random(l.source, count)
	for i := range numbers {
		numbers[i] /= 2
	}
	l.weights[name] = numbers
	l.settings = append(l.settings, attnzoo.Parameter(name, attnzoo.TensorOf(numbers, shape...)))
}

func (l *layer) addProjections(width, valueWidth int) {
	l.add("query_proj.weight", heads*width, querySize)
	l.add("query_proj.bias", heads*width)
	l.add("key_proj.weight", heads*width, keySize)
	l.add("key_proj.bias", heads*width)
	l.add("value_proj.weight", heads*valueWidth, sizeOfV)
	l.add("value_proj.bias", heads*valueWidth)
}

func (l *layer) linear(rows []float64, name string, in, out int) []float64 {
	return linear(rows, l.weights[name+".weight"], l.weights[name+".bias"], in, out)
}

func (l *layer) call() attnzoo.Call {
	return attnzoo.Call{
		Query: attnzoo.TensorOf(l.query, batch, queries, querySize),
		Key:   attnzoo.TensorOf(l.key, batch, keys, keySize),
		Value: attnzoo.TensorOf(l.value, batch, keys, sizeOfV),
	}
}

// check runs the mechanism and compares context [B, N, size] and attention [B, H, N, M].
func (l *layer) check(t *testing.T, mechanism string, call attnzoo.Call, context, attention []float64, tolerance float64,
	settings ...attnzoo.Setting) {
	t.Helper()
	module, err := attnzoo.NewModule(mechanism, append(settings, l.settings...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer module.Close()
	weights := make([]float32, len(attention))
	shape := must(module.OutputShape(call, "attention"))
	call.Attention = attnzoo.TensorOf(weights, shape...)
	got, _, err := module.Attend(call)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "context", got, context, tolerance)
	compare(t, "attention", weights, attention, tolerance)
}

// projected has queries, keys and values behind their projections, by [b, row, h*width + d].
type projected struct{ query, key, value []float64 }

func (l *layer) project(width, valueWidth int) projected {
	return projected{
		l.linear(widen(l.query), "query_proj", querySize, heads*width),
		l.linear(widen(l.key), "key_proj", keySize, heads*width),
		l.linear(widen(l.value), "value_proj", sizeOfV, heads*valueWidth),
	}
}

func (p projected) q(b, h, i, d, width int) float64 {
	return p.query[((b*queries+i)*heads+h)*width+d]
}

func (p projected) k(b, h, j, d, width int) float64 {
	return p.key[((b*keys+j)*heads+h)*width+d]
}

func (p projected) v(b, h, j, d int) float64 {
	return p.value[((b*keys+j)*heads+h)*valueSize+d]
}

func (p projected) dot(b, h, i, j int) float64 {
	sum := 0.0
	for d := 0; d < headSize; d++ {
		sum += p.q(b, h, i, d, headSize) * p.k(b, h, j, d, headSize)
	}
	return sum / math.Sqrt(headSize)
}

var (
	queryBound  = linearBound(querySize, bound{1, 0})
	keyBound    = linearBound(keySize, bound{1, 0})
	valueBound  = linearBound(sizeOfV, bound{1, 0})
	dotBound    = scoreBound(headSize, queryBound, keyBound)
	headContext = bound{valueBound.magnitude, contextTolerance(dotBound.err, keys, valueBound.magnitude) + valueBound.err}
)

func TestMultiHead(t *testing.T) {
	l := newLayer(11)
	l.addProjections(headSize, valueSize)
	l.add("out_proj.weight", outSize, heads*valueSize)
	l.add("out_proj.bias", outSize)
	p := l.project(headSize, valueSize)
	expected := problem{
		batch: batch, heads: heads, queries: queries, keys: keys, valueSize: valueSize,
		score: p.dot,
		sees:  func(b, h, i, j int) bool { return j <= keys-queries+i },
		value: func(b, h, i, j, d int) float64 { return p.v(b, h, j, d) },
	}.solve()
	context := l.linear(joinHeads(expected.context, batch, heads, queries, valueSize), "out_proj", heads*valueSize, outSize)
	call := l.call()
	call.Mask = &attnzoo.Mask{Causal: true}
	tolerance := linearBound(heads*valueSize, headContext).err
	l.check(t, "multi_head", call, context, expected.attention, tolerance, attnzoo.Option("num_heads", heads))
}

func TestFloat16Parameters(t *testing.T) {
	l := newLayer(12)
	l.addProjections(headSize, valueSize)
	rounded := map[string]attnzoo.Tensor{}
	for name, numbers := range l.weights {
		halves := make([]attnzoo.Float16, len(numbers))
		for i := range halves {
			halves[i] = attnzoo.NewFloat16(numbers[i])
			numbers[i] = halves[i].Float32()
		}
		shape := []int{len(numbers)}
		for suffix, columns := range map[string]int{"query_proj.weight": querySize, "key_proj.weight": keySize,
			"value_proj.weight": sizeOfV} {
			if name == suffix {
				shape = []int{len(numbers) / columns, columns}
			}
		}
		rounded[name] = attnzoo.TensorOf(halves, shape...)
	}
	call := l.call()
	from16 := must(attnzoo.NewModule("multi_head", attnzoo.Option("num_heads", heads), attnzoo.Parameters(rounded)))
	from32 := must(attnzoo.NewModule("multi_head", append(l.settings, attnzoo.Option("num_heads", heads))...))
	a, _, errA := from16.Attend(call)
	b, _, errB := from32.Attend(call)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	compare(t, "context", a, widen(b), 0)
}

func TestTransformerXL(t *testing.T) {
	const rows, positionSize = keys + queries - 1, 4
	l := newLayer(13)
	l.addProjections(headSize, valueSize)
	l.add("pos_proj.weight", heads*headSize, positionSize)
	l.add("u_bias", heads, headSize)
	l.add("v_bias", heads, headSize)
	table := make([]float32, rows*positionSize)
	position := attnzoo.TensorOf(table, rows, positionSize)
	if err := attnzoo.FillSinusoidalPositions(position, keys-1, -1, attnzoo.Interleaved); err != nil {
		t.Fatal(err)
	}
	p := l.project(headSize, valueSize)
	r := l.linear(widen(table), "pos_proj", positionSize, heads*headSize)
	score := func(b, h, i, j int) float64 {
		sum, row := 0.0, keys-1-(keys-queries+i-j)
		for d := 0; d < headSize; d++ {
			q := p.q(b, h, i, d, headSize)
			sum += (q+float64(l.weights["u_bias"][h*headSize+d]))*p.k(b, h, j, d, headSize) +
				(q+float64(l.weights["v_bias"][h*headSize+d]))*r[(row*heads+h)*headSize+d]
		}
		return sum / math.Sqrt(headSize)
	}
	expected := problem{batch: batch, heads: heads, queries: queries, keys: keys, valueSize: valueSize, score: score,
		value: func(b, h, i, j, d int) float64 { return p.v(b, h, j, d) }}.solve()

	biased := bound{queryBound.magnitude + 0.5, queryBound.err + (queryBound.magnitude+0.5)*epsilon}
	content := scoreBound(headSize, biased, keyBound)
	relative := scoreBound(headSize, biased, linearBound(positionSize, bound{1, 0}))
	scoreError := content.err + relative.err + (content.magnitude+relative.magnitude)*epsilon
	tolerance := contextTolerance(scoreError, keys, valueBound.magnitude) + valueBound.err
	call := l.call()
	call.Position = position
	context := joinHeads(expected.context, batch, heads, queries, valueSize)
	l.check(t, "relative_multi_head", call, context, expected.attention, tolerance, attnzoo.Option("num_heads", heads))

	// The same input by its name.
	call.Position, call.Inputs = attnzoo.Tensor{}, map[string]attnzoo.Tensor{"position": position}
	l.check(t, "relative_multi_head", call, context, expected.attention, tolerance, attnzoo.Option("num_heads", heads))
}

func TestShaw(t *testing.T) {
	const reach = 2
	l := newLayer(14)
	l.addProjections(headSize, valueSize)
	l.add("relative_key", 2*reach+1, headSize)
	l.add("relative_value", 2*reach+1, valueSize)
	p := l.project(headSize, valueSize)
	clipped := func(i, j int) int {
		return int(math.Max(-reach, math.Min(reach, float64(j-i-(keys-queries))))) + reach
	}
	expected := problem{
		batch: batch, heads: heads, queries: queries, keys: keys, valueSize: valueSize,
		score: func(b, h, i, j int) float64 {
			sum := p.dot(b, h, i, j)
			for d := 0; d < headSize; d++ {
				sum += p.q(b, h, i, d, headSize) * float64(l.weights["relative_key"][clipped(i, j)*headSize+d]) /
					math.Sqrt(headSize)
			}
			return sum
		},
		value: func(b, h, i, j, d int) float64 {
			return p.v(b, h, j, d) + float64(l.weights["relative_value"][clipped(i, j)*valueSize+d])
		},
	}.solve()
	relative := scoreBound(headSize, queryBound, bound{0.5, 0})
	scoreError := dotBound.err + relative.err + (dotBound.magnitude+relative.magnitude)*epsilon
	tolerance := contextTolerance(scoreError, keys, valueBound.magnitude+0.5) + valueBound.err
	l.check(t, "relative_multi_head", l.call(), joinHeads(expected.context, batch, heads, queries, valueSize),
		expected.attention, tolerance, attnzoo.Option("num_heads", heads), attnzoo.Option("flavor", "shaw"))
}

// similarityError bounds the error of w . tanh(sum) + b_w over hidden units, the sum being a projected query, key and what
// else is added. tanh is within 2 ulp, and its slope is at most 1.
func similarityError(others ...bound) float64 {
	sum := bound{}
	for _, part := range append(others, queryBound, keyBound, bound{0.5, 0}) {
		sum.magnitude += part.magnitude
		sum.err += part.err
	}
	perUnit := sum.err + 3*epsilon*sum.magnitude + 4*epsilon
	return 0.5*hidden*perUnit + dotError(hidden+1, 0.5*hidden+0.5)
}

func TestAdditive(t *testing.T) {
	l := newLayer(15)
	l.add("query_proj.weight", hidden, querySize)
	l.add("key_proj.weight", hidden, keySize)
	l.add("bias", hidden)
	l.add("score_proj.weight", 1, hidden)
	l.add("score_proj.bias", 1)
	q := l.linear(widen(l.query), "query_proj", querySize, hidden)
	k := l.linear(widen(l.key), "key_proj", keySize, hidden)
	expected := problem{
		batch: batch, heads: 1, queries: queries, keys: keys, valueSize: sizeOfV,
		score: func(b, h, i, j int) float64 {
			sum := float64(l.weights["score_proj.bias"][0])
			for a := 0; a < hidden; a++ {
				inner := q[(b*queries+i)*hidden+a] + k[(b*keys+j)*hidden+a] + float64(l.weights["bias"][a])
				sum += float64(l.weights["score_proj.weight"][a]) * math.Tanh(inner)
			}
			return sum
		},
		value: func(b, h, i, j, d int) float64 { return float64(l.value[(b*keys+j)*sizeOfV+d]) },
	}.solve()
	l.check(t, "additive", l.call(), expected.context, expected.attention, contextTolerance(similarityError(), keys, 1))
}

// locationLayer is a location-aware layer with one head, and its solution step by step.
func locationLayer(seed int64) (*layer, solution) {
	l := newLayer(seed)
	l.add("query_proj.weight", hidden, querySize)
	l.add("key_proj.weight", hidden, keySize)
	l.add("score_proj.weight", 1, hidden)
	l.add("location_conv.weight", hidden, 1, filterWidth)
	q := l.linear(widen(l.query), "query_proj", querySize, hidden)
	k := l.linear(widen(l.key), "key_proj", keySize, hidden)
	var all solution
	for b := 0; b < batch; b++ {
		alignment := make([]float64, keys) // zeros in front of the first step
		for i := 0; i < queries; i++ {
			step := problem{
				batch: 1, heads: 1, queries: 1, keys: keys, valueSize: sizeOfV,
				score: func(_, _, _, j int) float64 {
					sum := 0.0
					for a := 0; a < hidden; a++ {
						inner := q[(b*queries+i)*hidden+a] + k[(b*keys+j)*hidden+a]
						for w := 0; w < filterWidth; w++ {
							if at := j + w - filterWidth/2; at >= 0 && at < keys {
								inner += float64(l.weights["location_conv.weight"][a*filterWidth+w]) * alignment[at]
							}
						}
						sum += float64(l.weights["score_proj.weight"][a]) * math.Tanh(inner)
					}
					return sum
				},
				value: func(_, _, _, j, d int) float64 { return float64(l.value[(b*keys+j)*sizeOfV+d]) },
			}.solve()
			alignment = step.attention
			all.context = append(all.context, step.context...)
			all.attention = append(all.attention, step.attention...)
		}
	}
	return l, all
}

// locationTolerance: each step takes over the error of the alignment before it through the convolution, whose weights are
// at most 0.5; so the error grows from step to step.
func locationTolerance() float64 {
	alignment := 0.0
	for i := 0; i < queries; i++ {
		features := bound{0.5, filterWidth*0.5*alignment + dotError(filterWidth, 0.5)}
		alignment = contextTolerance(similarityError(features), keys, 1)
	}
	return alignment
}

func TestLocationAware(t *testing.T) {
	l, expected := locationLayer(16)
	l.check(t, "location_aware", l.call(), expected.context, expected.attention, locationTolerance())
}

func TestMergeContexts(t *testing.T) {
	source := rand.New(rand.NewSource(18))
	for round := 0; round < 30; round++ {
		c := newDotCase(source)
		c.keys = 2 + c.keys
		c.key = random(source, c.batch*c.keyHeads*c.keys*c.size)
		c.value = random(source, c.batch*c.keyHeads*c.keys*c.valueSize)
		module := must(attnzoo.NewModule("scaled_dot_product"))
		cut := 1 + source.Intn(c.keys-1)
		var contexts, sums [2]attnzoo.Tensor
		var memory [2][2][]float32
		for part, span := range [2][2]int{{0, cut}, {cut, c.keys}} {
			call := c.call()
			call.Key = attnzoo.StridedTensorOf(c.key, span[0]*c.size, []int{c.batch, c.keyHeads, span[1] - span[0], c.size},
				[]int{c.keyHeads * c.keys * c.size, c.keys * c.size, c.size, 1})
			call.Value = attnzoo.StridedTensorOf(c.value, span[0]*c.valueSize,
				[]int{c.batch, c.keyHeads, span[1] - span[0], c.valueSize},
				[]int{c.keyHeads * c.keys * c.valueSize, c.keys * c.valueSize, c.valueSize, 1})
			memory[part][0] = make([]float32, c.batch*c.heads*c.queries*c.valueSize)
			memory[part][1] = make([]float32, c.batch*c.heads*c.queries)
			contexts[part] = attnzoo.TensorOf(memory[part][0], c.batch, c.heads, c.queries, c.valueSize)
			sums[part] = attnzoo.TensorOf(memory[part][1], c.batch, c.heads, c.queries)
			call.Context, call.LogSumExp = contexts[part], sums[part]
			if err := module.Forward(call); err != nil {
				t.Fatal(err)
			}
		}
		// In place.
		err := attnzoo.MergeContexts(contexts[0], sums[0], contexts[1], sums[1], contexts[0], sums[0])
		if err != nil {
			t.Fatal(err)
		}
		expected := c.problem().solve()
		// Each part is off as a whole is, and the weights that merge them by twice the error of a log-sum-exp below 12.
		tolerance := 3*c.tolerance() + 12*4*epsilon
		compare(t, "merged", memory[0][0], expected.context, tolerance)
		compare(t, "log-sum-exp", memory[0][1], expected.logSumExp, tolerance)
	}
}

func TestFillSinusoidalPositions(t *testing.T) {
	const rows, columns = 7, 5
	for _, arrangement := range []attnzoo.Arrangement{attnzoo.Interleaved, attnzoo.Halves} {
		table := make([]float32, rows*columns)
		if err := attnzoo.FillSinusoidalPositions(attnzoo.TensorOf(table, rows, columns), 3, -2, arrangement); err != nil {
			t.Fatal(err)
		}
		expected := make([]float64, rows*columns)
		for p := 0; p < rows; p++ {
			for c := 0; c < columns; c++ {
				pair, isSine := c/2, c%2 == 0
				if arrangement == attnzoo.Halves {
					pair, isSine = c%((columns+1)/2), c < (columns+1)/2
				}
				angle := float64(3-2*p) / math.Pow(10000, 2*float64(pair)/columns)
				expected[p*columns+c] = math.Cos(angle)
				if isSine {
					expected[p*columns+c] = math.Sin(angle)
				}
			}
		}
		compare(t, fmt.Sprint("arrangement ", arrangement), table, expected, 2*epsilon)
	}
}
