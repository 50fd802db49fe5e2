"""Threads, the interpreter's lock, fork, and the interpreter's end."""
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import attnzoo


def run(program, **environment):
    """What a program prints; it must end well and say nothing else."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_other_threads_run_during_a_call(draw):
    """A call that kept the interpreter's lock would let this thread count only when it is over."""
    query = draw(1, 1, 6000, 64)
    started, count, counts = threading.Event(), 0, []

    def compute():
        for _ in range(3):
            started.set()
            before = count
            attnzoo.scaled_dot_product(query, query, query, executor=executor)
            counts.append(count - before)

    executor = attnzoo.Executor(1)
    thread = threading.Thread(target=compute)
    interval = sys.getswitchinterval()
    # A thread that does not let go of the lock keeps it for good.
    sys.setswitchinterval(1000)
    try:
        thread.start()
        started.wait()
        while thread.is_alive():
            count += 1
            # Gives the lock away, and gets it back only when the other thread lets go of it.
            time.sleep(0.0002)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(counts) == 3 and all(counted > 0 for counted in counts)


def test_many_threads_on_one_module(draw, weights):
    layer = attnzoo.MultiHead(2, parameters=weights(query_proj=(8, 8), key_proj=(8, 8), value_proj=(8, 8)))
    tokens = [draw(1, 5 + number, 8) for number in range(8)]
    results, errors = [None] * 8, [None] * 8

    def compute(number, executor):
        for _ in range(50):
            results[number] = layer(tokens[number], causal=True, executor=executor)
            # The message of this thread's own error, not that of another's (P51).
            with pytest.raises(attnzoo.ShapeError) as caught:
                layer(tokens[number][:, :, :number % 7 + 1])
            errors[number] = str(caught.value)

    # The module is prepared by whoever comes first; half of the threads share an executor.
    threads = [threading.Thread(target=compute, args=(number, attnzoo.Executor(2) if number % 2 else None))
               for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        np.testing.assert_array_equal(results[number], layer(tokens[number], causal=True))
        assert f"{number % 7 + 1}" in errors[number]


def test_a_module_is_prepared_once(draw):
    parameters = {f"{name}_proj.weight": draw(512, 512) for name in ("query", "key", "value")}
    token = draw(1, 1, 512)
    for _ in range(10):
        layer = attnzoo.MultiHead(8, parameters=parameters)
        barrier, done = threading.Barrier(6), []

        def compute():
            barrier.wait()
            layer(token)
            done.append(True)

        threads = [threading.Thread(target=compute) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(done) == 6


def test_threads_take_turns_with_a_state(draw):
    parameters = {f"{name}_proj.weight": draw(256, 256) for name in ("query", "key", "value")}
    layer = attnzoo.MultiHead(1, parameters=parameters)
    state = layer.state(capacity=4 * 50 * 8)
    barrier = threading.Barrier(4)

    def compute(number):
        tokens = np.full((1, 8, 256), number + 1, np.float32)
        # An executor of its own: on a shared one calls take turns anyway.
        executor = attnzoo.Executor(1)
        barrier.wait()
        for _ in range(50):
            layer(tokens, state=state, executor=executor)

    threads = [threading.Thread(target=compute, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Of each thread's keys, which are multiples of one vector, none was overwritten.
    keys = state.fields()["key"][0, 0, :, 0]
    multiples = np.rint(keys / keys[np.abs(keys).argmin()]).astype(int)
    assert np.bincount(multiples).tolist() == [0, 400, 400, 400, 400]


def test_a_call_inside_a_call(draw):
    """An input may be an object whose __array__ itself computes attention."""
    plain = draw(3, 4)

    class Lazy:
        def __array__(self, *arguments, **options):
            return attnzoo.scaled_dot_product(plain[:2], plain, plain, causal=True).repeat(2, 0)[:3]

    expected = attnzoo.scaled_dot_product(plain, np.asarray(Lazy()), plain)
    np.testing.assert_array_equal(attnzoo.scaled_dot_product(plain, Lazy(), plain), expected)


def test_executors(draw):
    query = draw(1, 4, 100, 16)
    assert attnzoo.Executor(2).threads == 2 and repr(attnzoo.Executor(1)) == "Executor(threads=1)"
    expected = attnzoo.scaled_dot_product(query, query, query)
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(
            attnzoo.scaled_dot_product(query, query, query, executor=attnzoo.Executor(threads)), expected)
    with pytest.raises(ValueError):
        attnzoo.Executor(-1)
    assert attnzoo.default_executor() is attnzoo.default_executor()
    own = attnzoo.Executor(1)
    attnzoo.set_default_executor(own)
    try:
        assert attnzoo.default_executor() is own
        np.testing.assert_array_equal(attnzoo.scaled_dot_product(query, query, query), expected)
        with pytest.raises(TypeError):
            attnzoo.set_default_executor(1)
    finally:
        attnzoo.set_default_executor(None)


FORK = """
import os, sys
import numpy as np
import attnzoo
query = np.random.default_rng(0).standard_normal((1, 8, 300, 32)).astype(np.float32)
executor = attnzoo.Executor(2)
attnzoo.set_default_executor(executor)
before = attnzoo.scaled_dot_product(query, query, query)
child = os.fork()
after = attnzoo.scaled_dot_product(query, query, query)
same = bool((after == before).all())
if child == 0:
    os._exit(0 if same else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), same)
"""


def test_fork():
    assert run(FORK) == "0 True\n"


FORK_WITH_THREADS = """
import os, signal, sys, threading, warnings
import numpy as np
import attnzoo

warnings.simplefilter("ignore", DeprecationWarning)
x = np.eye(3, dtype=np.float32)[None]
parameters = {f"{name}_proj.weight": x[0] for name in ("query", "key", "value")}
layer, fresh = attnzoo.MultiHead(parameters=parameters), attnzoo.MultiHead(parameters=parameters)
state, other = layer.state(capacity=9), layer.state(capacity=9)
for cache in (state, other):
    layer(x, state=cache)
holding, go_on = threading.Barrier(3), threading.Event()

class Slow:
    # A call asks for the memory of its output when it has the state already.
    def __dlpack_device__(self):
        holding.wait()
        go_on.wait()
        return 1, 0

    def __dlpack__(self, **arguments):
        return np.zeros((1, 3, 3), np.float32).__dlpack__()

def prepare():
    with fresh._lock:
        holding.wait()
        go_on.wait()

threads = [threading.Thread(target=lambda: layer(x, state=state, out=Slow())), threading.Thread(target=prepare)]
for thread in threads:
    thread.start()
holding.wait()
child = os.fork()
if child == 0:
    # A child that hangs ends by this.
    signal.alarm(20)
    try:
        for use in (lambda: layer(x, state=state), state.copy, state.fields, lambda: state.truncate(1)):
            try:
                use()
                os._exit(1)
            except attnzoo.BadStateError as error:
                assert "reset()" in str(error)
        state.reset()
        layer(x, state=state)
        layer(x, state=other)
        fresh(x)
        os._exit(0 if (state.length, other.length) == (3, 6) and (fresh(x) == layer(x)).all() else 2)
    finally:
        os._exit(3)
go_on.set()
for thread in threads:
    thread.join()
layer(x, state=state)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), state.length)
"""


def test_a_fork_between_preparing_and_saying_so(draw):
    """The library has prepared the module, and the thread that would have noted it is gone."""
    layer = attnzoo.Additive(parameters={"score_proj.weight": draw(1, 4)}).prepare()
    layer._is_prepared = False
    assert layer(draw(1, 2, 4)).shape == (1, 2, 4) and layer._is_prepared


def test_fork_while_threads_hold_what_the_child_uses():
    assert run(FORK_WITH_THREADS) == "0 9\n"


END = """
import threading
import numpy as np
import attnzoo
x = np.eye(3, dtype=np.float32)
layer = attnzoo.MultiHead(parameters={f"{name}_proj.weight": x for name in ("query", "key", "value")})
state, mask, executor = layer.state(capacity=3), attnzoo.Mask(boolean=x > 0), attnzoo.Executor(2)
layer(x, state=state, mask=mask, executor=executor)
attnzoo.scaled_dot_product(x, x, x)
cycle = [layer, state, mask, executor]
cycle.append(cycle)
class Late:
    def __del__(self, attnzoo=attnzoo, np=np):
        # Among the last things to happen.
        pass
attnzoo.late, np.late = cycle, [Late(), cycle]
thread = threading.Thread(target=lambda: [attnzoo.scaled_dot_product(x, x, x) for _ in range(10**9)], daemon=True)
START
print("end")
"""


@pytest.mark.parametrize("start", ["", "thread.start()"])
def test_the_end_of_the_interpreter_is_silent(start):
    assert run(END.replace("START", start)) == "end\n"


def test_a_library_that_is_not_there(tmp_path):
    done = subprocess.run([sys.executable, "-c", "import attnzoo"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "ATTNZOO_LIBRARY": str(tmp_path / "none.so")})
    assert done.returncode == 1
    assert "ImportError" in done.stderr and "ATTNZOO_LIBRARY" in done.stderr and "none.so" in done.stderr


def test_a_library_that_is_another(tmp_path):
    done = subprocess.run([sys.executable, "-c", "import attnzoo"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "ATTNZOO_LIBRARY": "libc.so.6"})
    assert done.returncode == 1 and "another library" in done.stderr


def test_importing_starts_no_threads_and_no_matplotlib():
    assert run("import sys, threading, os\nimport attnzoo\nprint(len(os.listdir('/proc/self/task')) - int(sys.argv[0] != '-c'),"
               "'matplotlib' in sys.modules, 'torch' in sys.modules)",
               OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1") == "1 False False\n"
