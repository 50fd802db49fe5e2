package attnzoo_test

// glimpse_test.go: glimpses against plain loops: letters, rows of a table, tiles as views and copies, and tiles put back.

import (
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"attnzoo"
)

// places tells where each letter stands in an alphabet, and other of those that do not.
func places(text, alphabet string, other int) []int64 {
	found := []int64{}
	for _, letter := range text {
		index, place := other, 0
		for _, each := range alphabet {
			if each == letter {
				index = place
			}
			place++
		}
		found = append(found, int64(index))
	}
	return found
}

func TestLetters(t *testing.T) {
	const columns = 11
	for _, text := range []string{"", "zoo", "z\x00ö𝄞z\n", "ooooo!o?"} {
		for _, alphabet := range []string{"", "zo\x00ö𝄞\n", "\nö𝄞\x00oz?"} {
			for _, other := range []int{attnzoo.NoLetter, 3, 9} {
				count := utf8.RuneCountInString(text)
				indices, narrow := make([]int64, count), make([]int32, 2*count+1)
				memory := make([]float32, count*columns)
				err := attnzoo.GlimpseLetters(text, alphabet, other, attnzoo.TensorOf(indices),
					attnzoo.TensorOf(memory, count, columns))
				// Every second element, from the last on.
				spread := attnzoo.StridedTensorOf(narrow, 2*count-1, []int{count}, []int{-2})
				if err == nil {
					err = attnzoo.GlimpseLetters(text, alphabet, other, spread, attnzoo.Tensor{})
				}
				if err != nil {
					t.Fatal(err)
				}
				wanted := places(text, alphabet, other)
				if !reflect.DeepEqual(indices, wanted) {
					t.Errorf("%q in %q: %d, must be %d", text, alphabet, indices, wanted)
				}
				for i, number := range memory {
					if isThere := wanted[i/columns] == int64(i%columns); isThere != (number == 1) || !isThere && number != 0 {
						t.Errorf("%q in %q: element %d is %g", text, alphabet, i, number)
					}
				}
				for i, index := range wanted {
					if narrow[2*(count-1-i)+1] != int32(index) || narrow[2*(count-1-i)] != 0 {
						t.Errorf("%q in %q: %d, must be %d", text, alphabet, narrow, wanted)
					}
				}
			}
		}
	}
}

func TestErrorsOfLetters(t *testing.T) {
	const refuse, none = attnzoo.RefuseLetter, attnzoo.NoLetter
	for _, each := range []struct {
		text, alphabet string
		other, columns int
		status         attnzoo.Status
		words          string
	}{
		{"zoé", "oz", refuse, 2, attnzoo.InvalidArgument, "U+00E9 at byte 2"},
		{"zoo", "ozo", none, 3, attnzoo.InvalidArgument, "U+006F twice, as letter 0 and as letter 2"},
		{"zo\xff", "oz", none, 2, attnzoo.InvalidArgument, "text is not UTF-8 at byte 2: 0xff"},
		{"zo\xc3", "oz", none, 2, attnzoo.InvalidArgument, "text is not UTF-8 at byte 2: 0xc3"},
		{"zoo", "o\xed\xa0\x80", none, 2, attnzoo.InvalidArgument, "alphabet is not UTF-8 at byte 1"},
		{"zoo", "oz", -3, 2, attnzoo.InvalidArgument, "other is -3"},
		{"zo", "oz", none, 2, attnzoo.ShapeMismatch, "[3, 2], must have [2, 2 or more]"},
		{"zoo", "oz", none, 1, attnzoo.ShapeMismatch, "[3, 1], must have [3, 2 or more]"},
		{"zoo", "oz", 2, 2, attnzoo.ShapeMismatch, "too few columns for other, which is 2"},
	} {
		rows := make([]float32, 3*each.columns)
		err := attnzoo.GlimpseLetters(each.text, each.alphabet, each.other, attnzoo.Tensor{},
			attnzoo.TensorOf(rows, 3, each.columns))
		expectError(t, err, each.status, each.words)
		compare(t, "after an error", rows, make([]float64, len(rows)), 0)
	}
	tooHigh := attnzoo.GlimpseLetters("zoo", "oz", 1<<31, attnzoo.TensorOf(make([]int32, 3)), attnzoo.Tensor{})
	expectError(t, tooHigh, attnzoo.InvalidArgument, "2147483648, which passes the int32 of indices")
	floats := attnzoo.TensorOf(make([]float32, 3))
	expectError(t, attnzoo.GlimpseLetters("zoo", "oz", none, floats, attnzoo.Tensor{}), attnzoo.DTypeMismatch, "float32")
	wrong := attnzoo.TensorOf(make([]float32, 3), 2)
	expectError(t, attnzoo.GlimpseLetters("zoo", "oz", none, attnzoo.Tensor{}, wrong), attnzoo.ShapeMismatch, "oneHot")
}

func TestEmbedding(t *testing.T) {
	source := rand.New(rand.NewSource(61))
	for _, shape := range [][]int{{7}, {1}, {0}, {2, 3}, {3, 0}, {0, 2}} {
		count := 1
		for _, size := range shape {
			count *= size
		}
		numbers, indices := random(source, 20), make([]int64, count)
		for i := range indices {
			indices[i] = int64(source.Intn(6)) - 1
		}
		// The table lies column by column, and comes in bfloat16.
		halves, table := make([]attnzoo.BFloat16, 20), make([]float64, 20)
		for i, number := range numbers {
			halves[i%4*5+i/4] = attnzoo.NewBFloat16(number)
			table[i] = float64(halves[i%4*5+i/4].Float32())
		}
		glimpses, wanted := make([]float32, 4*count), make([]float64, 4*count)
		err := attnzoo.GlimpseEmbedding(attnzoo.TensorOf(indices, shape...), attnzoo.TensorOf(halves, 4, 5).SwapAxes(0, 1),
			attnzoo.TensorOf(glimpses, append(append([]int{}, shape...), 4)...))
		if err != nil {
			t.Fatal(err)
		}
		for i := range wanted {
			if index := indices[i/4]; index != attnzoo.NoLetter {
				wanted[i] = table[4*int(index)+i%4]
			}
		}
		compare(t, fmt.Sprint(shape), glimpses, wanted, 0)
	}
	table, glimpses := attnzoo.TensorOf(make([]float32, 6), 3, 2), attnzoo.TensorOf(make([]float32, 4), 2, 2)
	embed := func(table attnzoo.Tensor, indices ...int32) error {
		return attnzoo.GlimpseEmbedding(attnzoo.TensorOf(indices), table, glimpses)
	}
	expectError(t, embed(table, 0, 3), attnzoo.InvalidArgument, "3 for glimpse 1 of batch 0, must be 0 to 2")
	expectError(t, embed(table, 0), attnzoo.ShapeMismatch, "[2, 2], must have [1, 2]")
	expectError(t, embed(attnzoo.TensorOf(make([]float32, 6)), 0, 1), attnzoo.ShapeMismatch, "table has shape [6]")
	expectError(t, embed(attnzoo.Tensor{}, 0, 1), attnzoo.InvalidArgument, "table")
	expectError(t, embed(attnzoo.TensorOf(make([]float32, 6), 4), 0, 1), attnzoo.ShapeMismatch, "table")
}

// starts tells where the tiles along an axis start, by placing one after the other.
func starts(size, tile, step int, edge attnzoo.Edge) []int {
	var found []int
	for start := 0; start+tile <= size; start += step {
		found = append(found, start)
	}
	for edge == attnzoo.EdgePad && len(found)*step < size && (len(found) == 0 || found[len(found)-1]+tile < size) {
		found = append(found, len(found)*step)
	}
	return found
}

func TestTileCount(t *testing.T) {
	for size := 0; size < 12; size++ {
		for tile := 1; tile < 5; tile++ {
			for step := 1; step < 6; step++ {
				for _, edge := range []attnzoo.Edge{attnzoo.EdgeDrop, attnzoo.EdgePad} {
					count, err := attnzoo.GlimpseTileCount(size, tile, step, edge)
					if wanted := len(starts(size, tile, step, edge)); err != nil || count != wanted {
						t.Fatal(size, tile, step, edge, count, wanted, err)
					}
				}
			}
		}
	}
	expectError(t, second(attnzoo.GlimpseTileCount(-1, 1, 1, attnzoo.EdgeDrop)), attnzoo.InvalidArgument, "size is -1")
	expectError(t, second(attnzoo.GlimpseTileCount(5, 0, 1, attnzoo.EdgeDrop)), attnzoo.InvalidArgument, "tile is 0")
	expectError(t, second(attnzoo.GlimpseTileCount(5, 1, -7, attnzoo.EdgeDrop)), attnzoo.InvalidArgument, "step is -7")
	expectError(t, second(attnzoo.GlimpseTileCount(5, 1, 1, 2)), attnzoo.InvalidArgument, "edge is 2")
}

// cut is an input with all axes that there can be, batches, three that are cut, and channels, and how it is cut.
type cut struct {
	axes                     int
	hasBatches, hasChannels  bool
	size                     [5]int
	tile, step               [3]int
	given, givenTile, byStep []int // without the axes that are left out
}

func newCut(source *rand.Rand, round int) *cut {
	c := &cut{axes: 1 + round%3, hasBatches: round/3%2 == 1, size: [5]int{1, 1, 1, 1, 1}, tile: [3]int{1, 1, 1},
		step: [3]int{1, 1, 1}}
	c.hasChannels = c.hasBatches || round/6%2 == 1
	if c.hasBatches {
		c.size[0] = source.Intn(4)
		c.given = append(c.given, c.size[0])
	}
	for axis := 3 - c.axes; axis < 3; axis++ {
		c.size[1+axis], c.tile[axis], c.step[axis] = source.Intn(8), 1+source.Intn(4), 1+source.Intn(5)
		c.given = append(c.given, c.size[1+axis])
	}
	if c.hasChannels {
		c.size[4] = source.Intn(4)
		c.given = append(c.given, c.size[4])
	}
	c.givenTile, c.byStep = c.tile[3-c.axes:], c.step[3-c.axes:]
	return c
}

func (c *cut) corners(edge attnzoo.Edge) [][3]int {
	var corners [][3]int
	for _, z := range starts(c.size[1], c.tile[0], c.step[0], edge) {
		for _, y := range starts(c.size[2], c.tile[1], c.step[1], edge) {
			for _, x := range starts(c.size[3], c.tile[2], c.step[2], edge) {
				corners = append(corners, [3]int{z, y, x})
			}
		}
	}
	return corners
}

func (c *cut) elements() int {
	return c.tile[0] * c.tile[1] * c.tile[2] * c.size[4]
}

// sources tells for each element of each glimpse, row-major, where it stands in the input; -1 beyond it.
func (c *cut) sources(edge attnzoo.Edge) []int {
	sources := []int{}
	for b := 0; b < c.size[0]; b++ {
		for _, corner := range c.corners(edge) {
			for element := 0; element < c.elements(); element++ {
				pixel, channel := element/c.size[4], element%c.size[4]
				z, y, x := corner[0]+pixel/c.tile[2]/c.tile[1], corner[1]+pixel/c.tile[2]%c.tile[1], corner[2]+pixel%c.tile[2]
				place := -1
				if z < c.size[1] && y < c.size[2] && x < c.size[3] {
					place = (((b*c.size[1]+z)*c.size[2]+y)*c.size[3]+x)*c.size[4] + channel
				}
				sources = append(sources, place)
			}
		}
	}
	return sources
}

func (c *cut) glimpses(edge attnzoo.Edge) []int {
	shape := []int{len(c.corners(edge)), c.elements()}
	if c.hasBatches {
		shape = append([]int{c.size[0]}, shape...)
	}
	return shape
}

// backwards is a view of numbers in memory that has them in the opposite order, so that the view runs backwards.
func backwards(numbers []float32, shape []int) attnzoo.Tensor {
	turned, strides, step := make([]float32, len(numbers)), make([]int, len(shape)), -1
	for i, number := range numbers {
		turned[len(numbers)-1-i] = number
	}
	for axis := len(shape) - 1; axis >= 0; axis-- {
		strides[axis] = step
		step *= shape[axis]
	}
	return attnzoo.StridedTensorOf(turned, len(turned)-1, shape, strides)
}

func TestTilesAndBack(t *testing.T) {
	source := rand.New(rand.NewSource(62))
	withTiles := 0
	for round := 0; round < 600; round++ {
		c, edge := newCut(source, round), attnzoo.Edge(source.Intn(2))
		sources := c.sources(edge)
		numbers := random(source, c.size[0]*c.size[1]*c.size[2]*c.size[3]*c.size[4])
		glimpses, wanted := make([]float32, len(sources)), make([]float64, len(sources))
		err := attnzoo.GlimpseTiles(backwards(numbers, c.given), c.givenTile, c.byStep, edge, -2.5,
			attnzoo.TensorOf(glimpses, c.glimpses(edge)...))
		if err != nil {
			t.Fatal(*c, err)
		}
		for i, place := range sources {
			wanted[i] = -2.5
			if place >= 0 {
				wanted[i] = float64(numbers[place])
			}
		}
		compare(t, fmt.Sprint("tiles ", *c), glimpses, wanted, 0)
		changed := random(source, len(sources))
		sums, covers, output := make([]float64, len(numbers)), make([]float64, len(numbers)), make([]float32, len(numbers))
		err = attnzoo.GlimpseUntile(backwards(changed, c.glimpses(edge)), c.givenTile, c.byStep, edge,
			attnzoo.TensorOf(output, c.given...))
		if err != nil {
			t.Fatal(*c, err)
		}
		for i, place := range sources {
			if place >= 0 {
				sums[place] += float64(changed[i])
				covers[place]++
			}
		}
		for place := range sums {
			sums[place] /= math.Max(covers[place], 1)
		}
		compare(t, fmt.Sprint("image ", *c), output, sums, epsilon)
		if len(sources) > 0 {
			withTiles++
		}
	}
	if withTiles < 200 {
		t.Error("tiles in no more than", withTiles)
	}
}

// shown is the offsets of all elements of a view, row-major.
func shown(view attnzoo.Tensor) []int {
	offsets, strides := []int{0}, view.Strides()
	for axis, size := range view.Shape() {
		next := []int{}
		for _, offset := range offsets {
			for i := 0; i < size; i++ {
				next = append(next, offset+i*strides[axis])
			}
		}
		offsets = next
	}
	return offsets
}

func TestTileViews(t *testing.T) {
	source := rand.New(rand.NewSource(63))
	for round := 0; round < 600; round++ {
		c := newCut(source, round)
		data := make([]bool, c.size[0]*c.size[1]*c.size[2]*c.size[3]*c.size[4])
		view := attnzoo.GlimpseTileView(attnzoo.TensorOf(data, c.given...), c.givenTile, c.byStep)
		wanted := append([]int{}, c.given[:len(c.given)-c.axes-axisIf(c.hasChannels)]...)
		for axis := 3 - c.axes; axis < 3; axis++ {
			wanted = append(wanted, len(starts(c.size[1+axis], c.tile[axis], c.step[axis], attnzoo.EdgeDrop)))
		}
		wanted = append(append(wanted, c.givenTile...), c.given[len(c.given)-axisIf(c.hasChannels):]...)
		if view.Err() != nil || view.DType() != attnzoo.DTypeBool || !reflect.DeepEqual(view.Shape(), wanted) {
			t.Fatal(*c, view, view.Err(), wanted)
		}
		if offsets := shown(view); !reflect.DeepEqual(offsets, c.sources(attnzoo.EdgeDrop)) {
			t.Fatal(*c, offsets)
		}
	}
}

func axisIf(isThere bool) int {
	if isThere {
		return 1
	}
	return 0
}

func TestFlatViews(t *testing.T) {
	video := attnzoo.TensorOf(make([]float32, 120), 4, 3, 5, 2)
	for _, each := range []struct {
		batchAxes, glimpseAxes int
		shape, strides         []int
	}{{0, 1, []int{4, 30}, []int{30, 1}}, {1, 2, []int{4, 15, 2}, []int{30, 2, 1}}, {0, 4, []int{120, 1}, []int{1, 1}}} {
		view := attnzoo.GlimpseFlatView(video, each.batchAxes, each.glimpseAxes)
		if view.Err() != nil || !reflect.DeepEqual(view.Shape(), each.shape) || !reflect.DeepEqual(view.Strides(), each.strides) {
			t.Error(view, view.Strides(), view.Err())
		}
	}
	stereo := attnzoo.TensorOf(make([]float32, 18), 9, 2)
	windows := attnzoo.GlimpseFlatView(attnzoo.GlimpseTileView(stereo, []int{4}, []int{2}), 0, 1)
	if !reflect.DeepEqual(windows.Shape(), []int{3, 8}) || !reflect.DeepEqual(windows.Strides(), []int{4, 1}) {
		t.Error(windows, windows.Strides(), windows.Err())
	}
	tiles := attnzoo.GlimpseTileView(attnzoo.TensorOf(make([]float32, 48), 6, 8), []int{2, 4}, nil)
	expectError(t, attnzoo.GlimpseFlatView(tiles, 0, 2).Err(), attnzoo.Unsupported, "axes 0 and 1", "a stride of 16")
	expectError(t, attnzoo.GlimpseFlatView(video, 0, 0).Err(), attnzoo.InvalidArgument, "glimpse_axes is 0, must be 1 to 4")
	expectError(t, attnzoo.GlimpseFlatView(video, 4, 1).Err(), attnzoo.InvalidArgument, "batch_axes is 4, must be 0 to 3")
	for _, axes := range []int{-1, 9, math.MaxInt} {
		expectError(t, attnzoo.GlimpseFlatView(video, axes, 1).Err(), attnzoo.InvalidArgument, fmt.Sprint(axes))
		expectError(t, attnzoo.GlimpseFlatView(video, 0, axes).Err(), attnzoo.InvalidArgument, fmt.Sprint(axes))
	}
	expectError(t, attnzoo.GlimpseFlatView(attnzoo.Tensor{}, 0, 1).Err(), attnzoo.InvalidArgument, "input")
}

// Views are inputs like others, chained too, from any number of goroutines; but no outputs.
func TestCallsOnViews(t *testing.T) {
	sound := random(rand.New(rand.NewSource(64)), 40)
	// Backwards in memory, forwards to whoever reads it.
	windows := attnzoo.GlimpseTileView(backwards(sound, []int{40}), []int{8}, []int{4})
	var copied []float32
	for start := 0; start+8 <= len(sound); start += 4 {
		copied = append(copied, sound[start:start+8]...)
	}
	module := must(attnzoo.NewModule("scaled_dot_product"))
	defer module.Close()
	plain := attnzoo.TensorOf(copied, 9, 8)
	wanted, _, err := module.Attend(attnzoo.Call{Query: plain, Key: plain, Value: plain})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for i := 0; i < 8; i++ {
		running.Add(1)
		go func() {
			defer running.Done()
			context, shape, err := module.Attend(attnzoo.Call{Query: windows, Key: windows, Value: windows})
			if err != nil || !reflect.DeepEqual(context, wanted) || !reflect.DeepEqual(shape, []int{9, 8}) {
				t.Error(context, shape, err)
			}
		}()
	}
	running.Wait()
	// Without overlaps, too, and by whatever way it comes.
	square := attnzoo.GlimpseTileView(attnzoo.TensorOf(make([]float32, 9)), []int{3}, nil)
	for _, output := range []attnzoo.Tensor{windows, square, square.SwapAxes(0, 1), attnzoo.GlimpseFlatView(square, 0, 1)} {
		err := module.Forward(attnzoo.Call{Query: plain, Key: plain, Value: plain, Context: output})
		if output.Shape()[0] == 3 {
			three := attnzoo.TensorOf(make([]float32, 9), 3, 3)
			err = module.Forward(attnzoo.Call{Query: three, Key: three, Value: three, Context: output})
		}
		expectError(t, err, attnzoo.InvalidArgument, "read-only")
	}
}

// A view keeps the slice alive, whoever else forgets it, and no longer than itself.
func TestViewsKeepTheirSlice(t *testing.T) {
	for name, look := range map[string]func(attnzoo.Tensor) attnzoo.Tensor{
		"tiles": func(input attnzoo.Tensor) attnzoo.Tensor { return attnzoo.GlimpseTileView(input, []int{64}, []int{64}) },
		"flat":  func(input attnzoo.Tensor) attnzoo.Tensor { return attnzoo.GlimpseFlatView(input, 0, 1) },
	} {
		var freed atomic.Bool
		view := func() attnzoo.Tensor {
			memory := new([4096]float32)
			for i := range memory {
				memory[i] = float32(i)
			}
			runtime.SetFinalizer(memory, func(*[4096]float32) { freed.Store(true) })
			return look(attnzoo.TensorOf(memory[:]))
		}()
		collect()
		copied := [4096]float32{}
		err := attnzoo.GlimpseTiles(attnzoo.GlimpseFlatView(view, 0, 1), []int{1}, nil, attnzoo.EdgeDrop, 0,
			attnzoo.TensorOf(copied[:], view.Shape()...))
		if err != nil || freed.Load() || copied[4095] != 4095 || copied[1] != 1 {
			t.Error(name, err, freed.Load(), copied[4095], copied[1])
		}
		runtime.KeepAlive(view)
		view = attnzoo.Tensor{}
		if collect(); !freed.Load() {
			t.Error(name, "keeps its slice for ever")
		}
	}
}

// collect frees what can be freed, runs its finalizers, and writes over what was freed.
func collect() {
	for i := 0; i < 4; i++ {
		runtime.GC()
		done := make(chan bool)
		runtime.SetFinalizer(new([16]byte), func(*[16]byte) { close(done) })
		runtime.GC()
		<-done
		for j := 0; j < 100; j++ {
			other := new([4096]float32)
			other[j] = -1
			runtime.KeepAlive(other)
		}
	}
}

func TestErrorsOfTiles(t *testing.T) {
	image, output := attnzoo.TensorOf(make([]float32, 24), 4, 6), make([]float32, 24)
	glimpses := attnzoo.TensorOf(output, 4, 6)
	for _, each := range []struct {
		tile, step []int
		status     attnzoo.Status
		words      string
	}{
		{[]int{2, 0}, nil, attnzoo.InvalidArgument, "tile[1] is 0, must be 1 or more"},
		{[]int{2, 2}, []int{-1, 1}, attnzoo.InvalidArgument, "step[0] is -1, must be 1 or more"},
		{[]int{2, 2}, []int{1}, attnzoo.InvalidArgument, "tile has 2 axes, step has 1"},
		{nil, nil, attnzoo.InvalidArgument, "tile has 0 axes, must have 1 to 3"},
		{[]int{1, 1, 1, 1}, nil, attnzoo.InvalidArgument, "tile has 4 axes, must have 1 to 3"},
		{[]int{1, 1, 1}, nil, attnzoo.ShapeMismatch, "[4, 6], must have 3 to 5 axes where 3 are cut"},
	} {
		view := attnzoo.GlimpseTileView(image, each.tile, each.step)
		expectError(t, view.Err(), each.status, each.words)
		expectError(t, attnzoo.GlimpseFlatView(view, 0, 1).Err(), each.status, "input", each.words)
		expectError(t, attnzoo.GlimpseTiles(image, each.tile, each.step, attnzoo.EdgeDrop, 0, glimpses), each.status, each.words)
		expectError(t, attnzoo.GlimpseUntile(image, each.tile, each.step, attnzoo.EdgeDrop, glimpses), each.status, each.words)
	}
	tiles := func(input, glimpses attnzoo.Tensor, edge attnzoo.Edge) error {
		return attnzoo.GlimpseTiles(input, []int{2, 2}, nil, edge, 0, glimpses)
	}
	expectError(t, tiles(image, glimpses, attnzoo.EdgeDrop), attnzoo.ShapeMismatch, "[4, 6], must have [6, 4]")
	expectError(t, tiles(image, glimpses, 7), attnzoo.InvalidArgument, "edge is 7, must be 0 or 1")
	expectError(t, tiles(image, attnzoo.Tensor{}, attnzoo.EdgeDrop), attnzoo.InvalidArgument, "glimpses")
	integers := attnzoo.TensorOf(make([]int32, 24), 4, 6)
	expectError(t, tiles(integers, attnzoo.TensorOf(output, 6, 4), attnzoo.EdgeDrop), attnzoo.DTypeMismatch, "int32")
	same := attnzoo.TensorOf(output, 6, 4)
	expectError(t, tiles(attnzoo.TensorOf(output, 4, 6), same, attnzoo.EdgeDrop), attnzoo.Overlap, "glimpses overlaps input")
	compare(t, "after errors", output, make([]float64, 24), 0)
}
