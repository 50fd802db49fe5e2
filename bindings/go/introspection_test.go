package attnzoo_test

// introspection_test.go: every mechanism there is, run with nothing but what the library tells of it.

import (
	"math"
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"attnzoo"
)

// Sizes for letters in shapes, so that any mechanism can be run that is described in these.
var letters = map[string]int{"B": 2, "H": 1, "G": 1, "N": 3, "M": 4, "D": 5, "Dv": 5, "E": 5, "Eq": 5, "Ek": 5, "Ev": 5,
	"Eo": 5, "A": 5, "F": 5, "W": 3, "P": 6, "channels": 1, "k": 2}

// sizesOf reads a shape such as "[H*D, 2k+1]".
func sizesOf(t *testing.T, shape string) []int {
	var sizes []int
	for _, axis := range strings.Split(strings.Trim(shape, "[]"), ",") {
		size, axis := 1, strings.TrimSpace(axis)
		if axis == "2k+1" {
			size = 2*letters["k"] + 1
		} else if axis != "1" {
			for _, factor := range strings.Split(axis, "*") {
				if !regexp.MustCompile(`^[A-Za-z]+$`).MatchString(factor) || letters[factor] == 0 {
					t.Fatalf("shape %s: what is %q?", shape, factor)
				}
				size *= letters[factor]
			}
		}
		sizes = append(sizes, size)
	}
	return sizes
}

func tensorOf(t *testing.T, source *rand.Rand, shape string) attnzoo.Tensor {
	sizes := sizesOf(t, shape)
	count := 1
	for _, size := range sizes {
		count *= size
	}
	return attnzoo.TensorOf(random(source, count), sizes...)
}

// Runs every mechanism with nothing but what the library tells of it: in rows of attention there is a weight for each key,
// and they sum to 1. A mechanism that joins the library is run here, too.
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
			t.Run(name+flavor, func(t *testing.T) { runDescribed(t, description, flavor) })
		}
	}
}

// isNeeded tells whether an item is, in a flavor: what only one flavor has says so in its summary.
func isNeeded(item attnzoo.Item, flavor string) bool {
	return item.IsRequired || flavor != "" && strings.Contains(item.Summary, "flavor="+flavor+" needs it")
}

func runDescribed(t *testing.T, description attnzoo.Description, flavor string) {
	source := rand.New(rand.NewSource(17))
	var settings []attnzoo.Setting
	if flavor != "" {
		settings = append(settings, attnzoo.Option("flavor", flavor))
	}
	for _, parameter := range description.Parameters {
		if isNeeded(parameter, flavor) {
			settings = append(settings, attnzoo.Parameter(parameter.Name, tensorOf(t, source, parameter.Shape)))
		}
	}
	module, err := attnzoo.NewModule(description.Name, settings...)
	if err != nil {
		t.Fatal(err)
	}
	defer module.Close()
	call := attnzoo.Call{Inputs: map[string]attnzoo.Tensor{}, Outputs: map[string]attnzoo.Tensor{}}
	for _, input := range description.Inputs {
		if isNeeded(input, flavor) {
			call.Inputs[input.Name] = tensorOf(t, source, input.Shape)
		}
	}
	outputs := map[string][]float32{}
	for _, output := range description.Outputs {
		shape := must(module.OutputShape(call, output.Name))
		count := 1
		for _, size := range shape {
			count *= size
		}
		outputs[output.Name] = repeat(float32(math.NaN()), count)
		call.Outputs[output.Name] = attnzoo.TensorOf(outputs[output.Name], shape...)
	}
	if len(description.State) > 0 {
		call.State = must(module.NewState(letters["B"], letters["M"]))
		defer call.State.Close()
	}
	if err := module.Forward(call); err != nil {
		t.Fatal(err)
	}
	for name, numbers := range outputs {
		for i, number := range numbers {
			if number != number {
				t.Errorf("%s[%d] is NaN", name, i)
			}
		}
	}
	checkSums(t, outputs["attention"])
	for _, field := range description.State {
		values, shape, err := call.State.Field(field.Name)
		if err != nil || len(values) == 0 || len(shape) != len(sizesOf(t, strings.Replace(field.Shape, "T", "M", 1))) {
			t.Errorf("%s: %v %v %v", field.Name, values, shape, err)
		}
	}
}

// checkSums: each weight is off by a few epsilon of itself, and they sum to 1.
func checkSums(t *testing.T, attention []float32) {
	t.Helper()
	if len(attention) != letters["B"]*letters["H"]*letters["N"]*letters["M"] {
		t.Fatalf("attention has %d elements", len(attention))
	}
	for row := 0; row < len(attention); row += letters["M"] {
		sum := 0.0
		for _, weight := range attention[row : row+letters["M"]] {
			sum += float64(weight)
		}
		if !(math.Abs(sum-1) <= (8+2*float64(letters["M"]))*epsilon) {
			t.Errorf("row %d of attention sums to %.9g", row, sum)
		}
	}
}
