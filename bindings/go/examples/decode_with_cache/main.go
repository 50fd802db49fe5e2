// Decoding with a cache: causal multi-head self-attention over a prompt in one call and then one token a call, the keys
// and values of earlier tokens kept in a state. It gives what one call over all tokens gives, but each step costs
// only that step. Weights and tokens are made up.
package main

import (
	"fmt"
	"log"
	"math"

	"attnzoo"
)

const (
	heads, keyHeads, headSize = 4, 2, 8
	size                      = heads * headSize
	prompt, tokenCount        = 5, 9
)

// numbers between -0.5 and 0.5 that look random and are the same everywhere.
func numbers(count int, seed uint32) []float32 {
	made := make([]float32, count)
	for i := range made {
		seed = seed*1664525 + 1013904223
		made[i] = float32(seed>>8)/(1<<24) - 0.5
	}
	return made
}

func weight(name string, rows int, seed uint32) attnzoo.Setting {
	return attnzoo.Parameter(name, attnzoo.TensorOf(numbers(rows*size, seed), rows, size))
}

func main() {
	// Four heads of queries share two of keys and values, so that the cache is half as large.
	module, err := attnzoo.NewModule("multi_head",
		attnzoo.Option("num_heads", heads), attnzoo.Option("num_kv_heads", keyHeads),
		weight("query_proj.weight", size, 1), weight("key_proj.weight", keyHeads*headSize, 2),
		weight("value_proj.weight", keyHeads*headSize, 3), weight("out_proj.weight", size, 4))
	if err != nil {
		log.Fatal(err)
	}
	defer module.Close()

	tokens := numbers(tokenCount*size, 5)
	whole := make([]float32, len(tokens))
	stepped := make([]float32, len(tokens))

	// step feeds tokens first to first + count - 1; state brings the earlier ones, and takes these.
	step := func(state *attnzoo.State, context []float32, first, count int) {
		part := func(of []float32) attnzoo.Tensor {
			return attnzoo.TensorOf(of[first*size:(first+count)*size], 1, count, size)
		}
		in := part(tokens)
		err := module.Forward(attnzoo.Call{Query: in, Key: in, Value: in, Mask: &attnzoo.Mask{Causal: true},
			State: state, Context: part(context)})
		if err != nil {
			log.Fatal(err)
		}
	}

	// All at once: each token sees itself and those before it.
	step(nil, whole, 0, tokenCount)

	// The same with a cache for one sequence of up to tokenCount keys.
	cache, err := module.NewState(1, tokenCount)
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	step(cache, stepped, 0, prompt)
	for token := prompt; token < tokenCount; token++ {
		step(cache, stepped, token, 1)
	}

	largest := 0.0
	for i := range whole {
		largest = math.Max(largest, math.Abs(float64(whole[i]-stepped[i])))
	}
	fmt.Printf("the cache holds %d keys; largest difference: %.1e\n", cache.Length(), largest)
	if !(largest < 1e-5) {
		log.Fatal("the two should be the same, but for rounding")
	}
}
