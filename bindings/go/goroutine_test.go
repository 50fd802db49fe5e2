package attnzoo_test

// goroutine_test.go: many goroutines at once; closing beside running calls; what the collector frees. Worth most with
// the race detector.

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"attnzoo"
)

// Goroutines share module, mask, inputs and executor; each has its own outputs.
func TestOneModuleFromManyGoroutines(t *testing.T) {
	c := newDotCase(rand.New(rand.NewSource(41)))
	expected := c.problem().solve()
	module := must(attnzoo.NewModule("scaled_dot_product"))
	executors := []*attnzoo.Executor{nil, must(attnzoo.NewExecutor(2))}
	mask := &attnzoo.Mask{KeyLengths: attnzoo.TensorOf(repeat(int32(c.keys), c.batch))}
	var group sync.WaitGroup
	for number := 0; number < 8; number++ {
		executor := executors[number%2]
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 100; i++ {
				call := c.call()
				call.Executor, call.Mask = executor, mask
				context, _, err := module.Attend(call)
				if err != nil {
					t.Error(err)
					return
				}
				for k := range context {
					if !(math.Abs(float64(context[k])-expected.context[k]) <= c.tolerance()) {
						t.Errorf("element %d is %g, must be %g", k, context[k], expected.context[k])
						return
					}
				}
			}
		}()
	}
	group.Wait()
}

// Two states that are copied to each other do not wait for each other for ever.
func TestCopiesInBothDirections(t *testing.T) {
	module, _ := cachedModule(46)
	states := [2]*attnzoo.State{must(module.NewState(1, 1)), must(module.NewState(1, 1))}
	var group sync.WaitGroup
	for number := 0; number < 8; number++ {
		mine, other := states[number%2], states[1-number%2]
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 20000; i++ {
				if err := mine.CopyFrom(other); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	group.Wait()
}

// Calls with one state take turns.
func TestOneStateFromManyGoroutines(t *testing.T) {
	module, tokens := cachedModule(42)
	states := [2]*attnzoo.State{must(module.NewState(1, 1000)), must(module.NewState(1, 1000))}
	var group sync.WaitGroup
	for number := 0; number < 8; number++ {
		mine, other := states[number%2], states[1-number%2]
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 50; i++ {
				call := tokensFrom(tokens, i%tokenCount, 1)
				call.State = mine
				_, _, err := module.Attend(call)
				if err == nil {
					err = mine.CopyFrom(other)
				}
				if err == nil {
					_, _, err = mine.Field("key")
				}
				if err != nil || mine.Length() < 0 || mine.Length() > 400 {
					t.Error(err, mine.Length())
					return
				}
			}
		}()
	}
	group.Wait()
}

// Close waits for running calls; those that come later are refused.
func TestCloseBesideCalls(t *testing.T) {
	for round := 0; round < 30; round++ {
		module, tokens := cachedModule(43)
		state := must(module.NewState(1, 100000))
		executor := must(attnzoo.NewExecutor(2))
		var group sync.WaitGroup
		for number := 0; number < 4; number++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for {
					call := tokensFrom(tokens, 0, 1)
					call.State, call.Executor = state, executor
					if _, _, err := module.Attend(call); err != nil {
						if !errors.Is(err, attnzoo.BadState) {
							t.Error(err)
						}
						return
					}
				}
			}()
		}
		closers := []func() error{module.Close, state.Close, executor.Close}
		for i := range closers {
			if err := closers[(round+i)%len(closers)](); err != nil {
				t.Error(err)
			}
		}
		group.Wait()
	}
}

// processNumber reads a number of /proc/self/status, such as VmSize in KiB or Threads.
func processNumber(t *testing.T, name string) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("SKIPPED: what the collector frees is looked up in /proc:", err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, name+":") {
			number := 0
			fmt.Sscan(strings.TrimPrefix(line, name+":"), &number)
			return number
		}
	}
	t.Fatalf("no %s in /proc/self/status", name)
	return 0
}

// falls runs the collector until a number has fallen by so much.
func falls(t *testing.T, name string, from, by int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		runtime.GC()
		if processNumber(t, name) <= from-by {
			return
		}
	}
	t.Errorf("%s is still %d, from %d", name, processNumber(t, name), from)
}

func TestCollectorEndsThreads(t *testing.T) {
	func() {
		for i := 0; i < 8; i++ {
			// Threads may start with the first call.
			executor := must(attnzoo.NewExecutor(4))
			c := newDotCase(rand.New(rand.NewSource(44)))
			module := must(attnzoo.NewModule("scaled_dot_product"))
			call := c.call()
			call.Executor = executor
			if _, _, err := module.Attend(call); err != nil {
				t.Fatal(err)
			}
		}
	}()
	started := processNumber(t, "Threads")
	falls(t, "Threads", started, 8*3/2)
}

// A closed module stays for its states, and goes with the last of them.
func TestModuleGoesWithItsLastState(t *testing.T) {
	const size = 4096
	weight := make([]float32, size*size) // 64 MiB, and as much in the module
	module := must(attnzoo.NewModule("location_aware",
		attnzoo.Parameter("key_proj.weight", attnzoo.TensorOf(weight, size, size)),
		attnzoo.Parameter("score_proj.weight", attnzoo.TensorOf(weight[:size], 1, size)),
		attnzoo.Parameter("location_conv.weight", attnzoo.TensorOf(weight[:size], size, 1, 1))))
	states := []*attnzoo.State{must(module.NewState(1, 1)), must(module.NewState(1, 1))}
	full := processNumber(t, "VmSize")
	module.Close()
	states[0].Close()
	if now := processNumber(t, "VmSize"); now < full-50*1024 {
		t.Errorf("the module went before its last state: %d of %d KiB", now, full)
	}
	states[1].Close()
	falls(t, "VmSize", full, 50*1024)
	runtime.KeepAlive(weight)
}

// A state's memory is its module's size times its capacity, and the module goes after it, though nobody closes either.
func TestCollectorFreesMemory(t *testing.T) {
	const capacity = 1 << 24 // times 2 * 6 floats: 768 MiB, which nobody touches
	var full int
	func() {
		module, _ := cachedModule(45)
		state := must(module.NewState(1, capacity))
		full = processNumber(t, "VmSize")
		runtime.KeepAlive(state)
	}()
	falls(t, "VmSize", full, 500*1024)

	func() {
		// 64 MiB in the module, of one row in Go. They are touched, and so can be counted where nothing else hides them:
		// of addresses a thread's first allocation in C reserves as many.
		const size = 4096
		row := make([]float32, size)
		module := must(attnzoo.NewModule("additive",
			attnzoo.Parameter("score_proj.weight", attnzoo.TensorOf(row, 1, size)),
			attnzoo.Parameter("key_proj.weight", attnzoo.StridedTensorOf(row, 0, []int{size, size}, []int{0, 1}))))
		full = processNumber(t, "VmRSS")
		runtime.KeepAlive(module)
	}()
	falls(t, "VmRSS", full, 50*1024)
}
