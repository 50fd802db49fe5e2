package attnzoo_test

// example_test.go: examples of the documentation.

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"attnzoo"
)

// Causal attention over three tokens of two features; batch and heads are left out.
func Example() {
	module, err := attnzoo.NewModule("scaled_dot_product")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer module.Close()
	query := []float32{1, 0, 0, 1, 1, 1}
	value := []float32{10, 0, 0, 10, 5, 5}
	context, shape, err := module.Attend(attnzoo.Call{
		Query: attnzoo.TensorOf(query, 3, 2),
		Key:   attnzoo.TensorOf(query, 3, 2),
		Value: attnzoo.TensorOf(value, 3, 2),
		Mask:  &attnzoo.Mask{Causal: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(shape)
	for i := 0; i < len(context); i += 2 {
		fmt.Printf("%.3f\n", context[i:i+2])
	}
	// Output:
	// [3 2]
	// [10.000 0.000]
	// [3.302 6.698]
	// [5.000 5.000]
}

// A layer with weights. Two heads of one feature each; what the layer sees is asked for, too.
func ExampleNewModule() {
	unit := attnzoo.TensorOf([]float32{1, 0, 0, 1}, 2, 2)
	module, err := attnzoo.NewModule("multi_head",
		attnzoo.Option("num_heads", 2),
		attnzoo.Option("scale", 1),
		attnzoo.Parameters(map[string]attnzoo.Tensor{
			"query_proj.weight": unit,
			"key_proj.weight":   unit,
			"value_proj.weight": unit,
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer module.Close()
	tokens := attnzoo.TensorOf([]float32{2, 0, 0, 2}, 1, 2, 2)
	context := make([]float32, 4)
	attention := make([]float32, 2*2*2)
	err = module.Forward(attnzoo.Call{
		Query: tokens, Key: tokens, Value: tokens,
		Context:   attnzoo.TensorOf(context, 1, 2, 2),
		Attention: attnzoo.TensorOf(attention, 1, 2, 2, 2),
	})
	fmt.Printf("%.3f %v\n", context, err)
	fmt.Printf("head 0: %.3f\nhead 1: %.3f\n", attention[:4], attention[4:])
	// Output:
	// [1.964 1.000 1.000 1.964] <nil>
	// head 0: [0.982 0.018 0.500 0.500]
	// head 1: [0.500 0.500 0.018 0.982]
}

// A cache of keys and values: one token a call, each sees those before it.
func ExampleState() {
	unit := attnzoo.TensorOf([]float32{1}, 1, 1)
	module, err := attnzoo.NewModule("multi_head", attnzoo.Parameter("query_proj.weight", unit),
		attnzoo.Parameter("key_proj.weight", unit), attnzoo.Parameter("value_proj.weight", unit))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer module.Close()
	cache, err := module.NewState(1, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cache.Close()
	for _, token := range []float32{0, 1, 2} {
		one := attnzoo.TensorOf([]float32{token}, 1, 1, 1)
		context, _, err := module.Attend(attnzoo.Call{Query: one, Key: one, Value: one, State: cache})
		fmt.Printf("%d keys, context %.3f, %v\n", cache.Length(), context, err)
	}
	// Output:
	// 1 keys, context [0.000], <nil>
	// 2 keys, context [0.731], <nil>
	// 3 keys, context [1.851], <nil>
}

// Heads that lie behind the rows, [B, N, H, D], are read in place.
func ExampleTensor_SwapAxes() {
	rows := attnzoo.TensorOf(make([]float32, 2*5*8*64), 2, 5, 8, 64)
	fmt.Println(rows.SwapAxes(1, 2))
	// Output: float32 [2 8 5 64]
}

func ExampleDescribe() {
	description, err := attnzoo.Describe("scaled_dot_product")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, option := range description.Options {
		fmt.Printf("%s (%s, default %s)\n", option.Name, option.Type, option.Default)
	}
	for _, output := range description.Outputs {
		fmt.Println(output.Name, output.Shape)
	}
	// Output:
	// scale (float, default 1/sqrt(D))
	// softcap (float, default 0)
	// context [B, H, N, Dv]
	// attention [B, H, N, M]
	// log_sum_exp [B, H, N]
}

func ExampleError() {
	_, err := attnzoo.NewModule("multi_head", attnzoo.Option("num_head", 8))
	fmt.Println(errors.Is(err, attnzoo.UnknownName))
	var known *attnzoo.Error
	if errors.As(err, &known) {
		fmt.Println(known.Status)
	}
	// Output:
	// true
	// unknown name
}

func ExampleMergeContexts() {
	module, err := attnzoo.NewModule("scaled_dot_product")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer module.Close()
	query := attnzoo.TensorOf([]float32{1}, 1, 1, 1, 1)
	part := func(keys ...float32) (context, logSumExp attnzoo.Tensor) {
		context = attnzoo.TensorOf(make([]float32, 1), 1, 1, 1, 1)
		logSumExp = attnzoo.TensorOf(make([]float32, 1), 1, 1, 1)
		all := attnzoo.TensorOf(keys, 1, 1, len(keys), 1)
		err := module.Forward(attnzoo.Call{Query: query, Key: all, Value: all, Context: context, LogSumExp: logSumExp})
		if err != nil {
			fmt.Println(err)
		}
		return context, logSumExp
	}
	contextA, logSumExpA := part(1, 2)
	contextB, logSumExpB := part(3)
	merged := make([]float32, 1)
	err = attnzoo.MergeContexts(contextA, logSumExpA, contextB, logSumExpB, attnzoo.TensorOf(merged, 1, 1, 1, 1),
		attnzoo.Tensor{})
	whole, _, _ := module.Attend(attnzoo.Call{Query: query, Key: attnzoo.TensorOf([]float32{1, 2, 3}, 1, 1, 3, 1),
		Value: attnzoo.TensorOf([]float32{1, 2, 3}, 1, 1, 3, 1)})
	fmt.Printf("%.4f %.4f %v\n", merged, whole, err)
	// Output: [2.5752] [2.5752] <nil>
}

// Windows of a sound overlap in memory as they do in time; attention takes them as they are.
func ExampleGlimpseTileView() {
	sound := attnzoo.TensorOf(make([]float32, 1000))
	windows := attnzoo.GlimpseTileView(sound, []int{400}, []int{160})
	fmt.Println(windows, windows.Strides())
	// Output: float32 [4 400] [160 1]
}

// Letters that the alphabet does not have are a row of zeros here.
func ExampleGlimpseLetters() {
	const text, alphabet = "zoo!", "oz"
	rows := make([]float32, utf8.RuneCountInString(text)*2)
	err := attnzoo.GlimpseLetters(text, alphabet, attnzoo.NoLetter, attnzoo.Tensor{}, attnzoo.TensorOf(rows, 4, 2))
	fmt.Println(rows, err)
	// Output: [0 1 1 0 1 0 0 0] <nil>
}
