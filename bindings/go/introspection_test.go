package attnzoo_test

// introspection_test.go: every mechanism there is, run with nothing but what the library tells of it.

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"attnzoo"
)

// What letters in shapes stand for. All other sizes, which a model chooses, are 5; of heads and the like there is one as
// long as no option says otherwise, or two in all where there are two kinds, for which "H" is changed.
var letters = map[string]int{"B": 2, "H": 1, "G": 1, "N": 3, "M": 4, "T": 4, "P": 6, "Hr": 1, "Hw": 1, "W": 1, "channels": 1,
	"k": 2}

// sizesOf reads a shape such as "[H*D, 2k+1]" or "[(R+W)*C]".
func sizesOf(shape string) []int {
	var sizes []int
	for _, axis := range strings.Split(strings.Trim(shape, "[]"), ", ") {
		size, _ := readSum(axis)
		sizes = append(sizes, size)
	}
	return sizes
}

var (
	number = regexp.MustCompile(`^\d+`)
	letter = regexp.MustCompile(`^[A-Za-z]\w*'?`)
)

// readSum reads products with + between them, and returns what follows them; readProduct reads factors with * or nothing.
func readSum(text string) (int, string) {
	sum, rest := readProduct(text)
	for strings.HasPrefix(rest, "+") {
		var product int
		product, rest = readProduct(rest[1:])
		sum += product
	}
	return sum, rest
}

func readProduct(text string) (int, string) {
	product, rest := readFactor(text)
	for rest = strings.TrimPrefix(rest, "*"); rest != "" && !strings.ContainsAny(rest[:1], "+)"); rest = strings.TrimPrefix(rest, "*") {
		var factor int
		factor, rest = readFactor(rest)
		product *= factor
	}
	return product, rest
}

func readFactor(text string) (int, string) {
	if strings.HasPrefix(text, "(") {
		sum, rest := readSum(text[1:])
		return sum, strings.TrimPrefix(rest, ")")
	}
	if digits := number.FindString(text); digits != "" {
		return must(strconv.Atoi(digits)), text[len(digits):]
	}
	name := letter.FindString(text)
	if name == "" {
		panic("what is " + text + "?")
	}
	if size, ok := letters[name]; ok {
		return size, text[len(name):]
	}
	return 5, text[len(name):]
}

// memory is numbers for an item, of its type.
type memory struct {
	floats   []float32
	integers []int64
	shape    []int
}

func newMemory(isInteger bool, shape []int, fill func(count int) []float32) memory {
	count := 1
	for _, size := range shape {
		count *= size
	}
	if isInteger {
		return memory{integers: make([]int64, count), shape: shape}
	}
	return memory{floats: fill(count), shape: shape}
}

func (m memory) tensor() attnzoo.Tensor {
	if m.integers != nil {
		return attnzoo.TensorOf(m.integers, m.shape...)
	}
	return attnzoo.TensorOf(m.floats, m.shape...)
}

// other is memory of the type that the item is not of.
func (m memory) other() attnzoo.Tensor {
	if m.integers != nil {
		return attnzoo.TensorOf(make([]float32, len(m.integers)), m.shape...)
	}
	return attnzoo.TensorOf(make([]int64, len(m.floats)), m.shape...)
}

// Runs every mechanism with nothing but what the library tells of it. A mechanism that joins the library is run here, too.
func TestEveryMechanismThroughIntrospection(t *testing.T) {
	if len(attnzoo.Mechanisms()) < 5 {
		t.Fatalf("mechanisms: %v", attnzoo.Mechanisms())
	}
	for _, name := range attnzoo.Mechanisms() {
		description := must(attnzoo.Describe(name))
		if description.Name != name || description.Summary == "" || description.Formula == "" || description.Source == "" {
			t.Errorf("%+v", description)
		}
		flavors := []string{""}
		for _, option := range description.Options {
			if option.Name == "" || option.Type == "" || option.Default == "" || option.Bounds == "" || option.Shape != "" {
				t.Errorf("%s: option %+v", name, option)
			}
			if option.Name == "flavor" {
				flavors = strings.Split(option.Bounds, "|")
			}
		}
		for _, flavor := range flavors {
			for _, withState := range []bool{false, true} {
				if withState && len(description.State) == 0 {
					continue
				}
				run := described{Description: description, flavor: flavor, withState: withState}
				t.Run(fmt.Sprintf("%s %s state=%v", name, flavor, withState), run.test)
			}
		}
	}
}

// described is a mechanism in one flavor, with what is given to it.
type described struct {
	attnzoo.Description
	flavor    string
	withState bool
	given     map[string]memory
}

// known is all that a mechanism may be given: inputs and parameters.
func (d *described) known() []attnzoo.Item {
	return append(append([]attnzoo.Item{}, d.Parameters...), d.Inputs...)
}

func (d *described) give(source *rand.Rand, item attnzoo.Item) {
	fill := func(count int) []float32 { return random(source, count) }
	d.given[item.Name] = newMemory(item.Type == "integer", sizesOf(item.Shape), fill)
}

// make makes the module and a call with all inputs that are given.
func (d *described) make() (*attnzoo.Module, attnzoo.Call, error) {
	var settings []attnzoo.Setting
	if d.flavor != "" {
		settings = append(settings, attnzoo.Option("flavor", d.flavor))
	}
	for _, parameter := range d.Parameters {
		if numbers, ok := d.given[parameter.Name]; ok {
			settings = append(settings, attnzoo.Parameter(parameter.Name, numbers.tensor()))
		}
	}
	module, err := attnzoo.NewModule(d.Name, settings...)
	if err != nil {
		return nil, attnzoo.Call{}, err
	}
	call := attnzoo.Call{Inputs: map[string]attnzoo.Tensor{}, Outputs: map[string]attnzoo.Tensor{}}
	for _, input := range d.Inputs {
		if numbers, ok := d.given[input.Name]; ok {
			call.Inputs[input.Name] = numbers.tensor()
		}
	}
	if d.withState {
		call.State, err = module.NewState(letters["B"], letters["M"])
	}
	return module, call, err
}

// feed gives what is required, and beyond it what the library's own words ask for.
func (d *described) feed(t *testing.T) {
	err := d.feedHeads()
	if err != nil {
		letters["H"] = 2
		defer func() { letters["H"] = 1 }()
		if d.feedHeads() == nil {
			return
		}
		if d.withState {
			without := described{Description: d.Description, flavor: d.flavor}
			without.feed(t) // what can be fed can be fed with a state
			t.Fatalf("%s cannot be fed with a state: %v", d.Name, err)
		}
		t.Skipf("%s cannot be fed: %v", d.Name, err)
	}
}

func (d *described) feedHeads() error {
	source := rand.New(rand.NewSource(17))
	d.given = map[string]memory{}
	for _, item := range d.known() {
		if item.IsRequired {
			d.give(source, item)
		}
	}
	for {
		module, call, err := d.make()
		if err == nil {
			_, _, err = module.Attend(call)
			call.State.Close()
			module.Close()
		}
		if err == nil {
			return nil
		}
		before := len(d.given)
		for _, item := range d.known() {
			asked := regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(item.Name) + `($|[^\w.])`)
			if _, ok := d.given[item.Name]; !ok && asked.MatchString(err.Error()) {
				d.give(source, item)
				break
			}
		}
		if len(d.given) == before {
			return err
		}
	}
}

func (d described) test(t *testing.T) {
	d.feed(t)
	module, call, err := d.make()
	if err != nil {
		t.Fatal(err)
	}
	defer module.Close()
	defer call.State.Close()
	outputs := map[string]memory{}
	for _, output := range d.Outputs {
		shape := must(module.OutputShape(call, output.Name))
		fill := func(count int) []float32 { return repeat(float32(math.NaN()), count) }
		outputs[output.Name] = newMemory(output.Type == "integer", shape, fill)
		for i := range outputs[output.Name].integers {
			outputs[output.Name].integers[i] = math.MinInt64
		}
	}
	d.checkTypes(t, module, call, outputs)
	for name, numbers := range outputs {
		call.Outputs[name] = numbers.tensor()
	}
	if err := module.Forward(call); err != nil {
		t.Fatal(err)
	}
	for name, output := range outputs {
		for i, number := range output.floats {
			if number != number || name == "attention" && number < 0 {
				t.Errorf("%s[%d] is %v", name, i, number)
			}
		}
		for i, number := range output.integers {
			if number == math.MinInt64 {
				t.Errorf("%s[%d] was not written", name, i)
			}
		}
	}
	if !d.withState {
		return
	}
	for _, field := range d.State {
		values, shape, err := call.State.Field(field.Name)
		count := 1
		for _, size := range shape {
			count *= size
		}
		if err != nil || len(values) != count || len(shape) != len(sizesOf(field.Shape)) || field.Type != "float" {
			t.Errorf("%s: %v %v %v", field.Name, values, shape, err)
		}
	}
}

// checkTypes: an input or output of the wrong type, or of no name that there is, is refused by its name.
func (d *described) checkTypes(t *testing.T, module *attnzoo.Module, call attnzoo.Call, outputs map[string]memory) {
	refuse := func(status attnzoo.Status, name string) {
		t.Helper()
		err := module.Forward(call)
		var told *attnzoo.Error
		if !errors.As(err, &told) || told.Status != status || !strings.Contains(told.Message, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	call.Outputs["context"] = outputs["context"].tensor()
	for _, input := range d.Inputs {
		if good, ok := d.given[input.Name]; ok {
			call.Inputs[input.Name] = good.other()
			refuse(attnzoo.DTypeMismatch, input.Name)
			call.Inputs[input.Name] = good.tensor()
		}
	}
	for _, output := range d.Outputs {
		call.Outputs[output.Name] = outputs[output.Name].other()
		refuse(attnzoo.DTypeMismatch, output.Name)
		delete(call.Outputs, output.Name)
		call.Outputs["context"] = outputs["context"].tensor()
	}
	call.Outputs["glory"] = outputs["context"].tensor()
	refuse(attnzoo.UnknownName, `has no output "glory"; it has context, `)
	delete(call.Outputs, "glory")
	call.Inputs["quarry"] = call.Inputs["query"]
	refuse(attnzoo.UnknownName, `has no input "quarry"; it has query, `)
	delete(call.Inputs, "quarry")
}
