#!/usr/bin/env python3
"""Runs the command attnzoo from outside on mechanisms with weights and states: names of tensors, states in and out.

    test_command_layers.py PATH/TO/attnzoo [unittest options]
"""
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ATTNZOO = None
SIZE, HEADS, QUERIES, KEYS = 8, 2, 3, 5
PARTS = ("query_proj", "key_proj", "value_proj", "out_proj")


def write_safetensors(path, tensors, kinds=None):
    header, data = {}, b""
    for name, array in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": (kinds or {}).get(name, "F32"), "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    assert start % 8 == 0
    return {name: np.frombuffer(raw[start:], "<f4", (entry["data_offsets"][1] - entry["data_offsets"][0]) // 4,
                                entry["data_offsets"][0]).reshape(entry["shape"])
            for name, entry in json.loads(raw[8:start]).items()}


def multi_head(weights, query, memory, allowed=None):
    """Context and attention [B, H, N, M] in float64."""
    def project(array, part):
        return array.astype(np.float64) @ weights[part + ".weight"].T + weights.get(part + ".bias", 0.0)

    def split(array):
        return array.reshape(*array.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)

    q, k, v = (split(project(array, part)) for array, part in zip((query, memory, memory), PARTS))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    attention = np.exp(scores - scores.max(axis=-1, keepdims=True))
    attention /= attention.sum(axis=-1, keepdims=True)
    context = (attention @ v).transpose(0, 2, 1, 3).reshape(*query.shape[:2], -1)
    return project(context, "out_proj"), attention


class LayerTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.random = np.random.default_rng(3)
        self.query, self.memory = self.normal(2, QUERIES, SIZE), self.normal(2, KEYS, SIZE)
        np.save(self.folder / "query.npy", self.query)
        np.save(self.folder / "memory.npy", self.memory)
        self.weights = {}
        for part in PARTS:
            self.weights[part + ".weight"], self.weights[part + ".bias"] = self.normal(SIZE, SIZE), self.normal(SIZE)
        write_safetensors(self.folder / "weights.safetensors", self.weights)

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def call(self, *words):
        return subprocess.run([ATTNZOO, *words], cwd=self.folder, capture_output=True, text=True, timeout=120)

    def words(self, *words, query="query.npy", memory="memory.npy", weights="weights.safetensors"):
        return ["run", "multi_head", "--query", query, "--key", memory, "--value", memory, "--weights", weights,
                "--set", f"num_heads={HEADS}", "--context", "context.npy", *words]

    def run_well(self, *words, **options):
        done = self.call(*self.words(*words, **options))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return np.load(self.folder / "context.npy")

    def check_fails(self, status, part, *words, **options):
        (self.folder / "context.npy").write_text("old")
        before = sorted(path.name for path in self.folder.iterdir())
        done = self.call(*self.words(*words, **options))
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aattnzoo: [^\n]+\n\Z")
        self.assertIn(part, done.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)
        self.assertEqual((self.folder / "context.npy").read_text(), "old")

    def assert_close(self, got, wanted):
        self.assertEqual(got.shape, wanted.shape)
        # Sums of 8 products of numbers of about 1, three times over, in float32.
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


class TestWeights(LayerTest):
    def check_names(self, tensors, *words, path="other.safetensors"):
        write_safetensors(self.folder / path, tensors)
        self.assert_close(self.run_well(*words, weights=path), multi_head(self.weights, self.query, self.memory)[0])

    def renamed(self, names, prefix=""):
        """The weights under other names, given by part."""
        return {prefix + names[name.split(".")[0]] + "." + name.split(".")[1]: array
                for name, array in self.weights.items()}

    def packed(self):
        joined = {f"in_proj_{kind}": np.concatenate([self.weights[f"{part}.{kind}"] for part in PARTS[:3]])
                  for kind in ("weight", "bias")}
        return {**joined, "out_proj.weight": self.weights["out_proj.weight"],
                "out_proj.bias": self.weights["out_proj.bias"]}

    def test_own_names(self):
        self.assert_close(self.run_well(), multi_head(self.weights, self.query, self.memory)[0])
        tensors = {"layer." + name: array for name, array in self.weights.items()}
        self.check_names({**tensors, "another.weight": self.normal(3)}, "--prefix", "layer.")

    def test_pytorch(self):
        self.check_names(self.packed(), "--rename", "pytorch")
        tensors = {"encoder.self_attn." + name: array for name, array in self.packed().items()}
        self.check_names({**tensors, "encoder.norm1.weight": self.normal(3)}, "--prefix", "encoder.self_attn.",
                         "--rename=pytorch")
        apart = {f"{short}_proj_weight": self.weights[part + ".weight"] for short, part in zip("qkv", PARTS)}
        joined = self.packed()
        del joined["in_proj_weight"]
        self.check_names({**apart, **joined}, "--rename", "pytorch")

    def test_huggingface(self):
        for names in (("q_proj", "k_proj", "v_proj", "out_proj"), ("q_proj", "k_proj", "v_proj", "o_proj"),
                      ("self.query", "self.key", "self.value", "output.dense"),
                      ("attention.query", "attention.key", "attention.value", "output.dense"),
                      ("q_lin", "k_lin", "v_lin", "out_lin"), ("q", "k", "v", "o")):
            tensors = self.renamed(dict(zip(PARTS, names)), prefix="layer.0.attn.")
            self.check_names(tensors, "--prefix", "layer.0.attn.", "--rename", "huggingface")

    def test_what_is_no_parameter_can_be_left_out(self):
        names = dict(zip(PARTS, ("self.query", "self.key", "self.value", "output.dense")))
        tensors = {**self.renamed(names), "output.LayerNorm.weight": self.normal(SIZE),
                   "output.LayerNorm.bias": self.normal(SIZE)}
        write_safetensors(self.folder / "other.safetensors", tensors)
        self.check_fails(1, "tensor 'output.LayerNorm.weight' is no parameter of multi_head", "--rename", "huggingface",
                         weights="other.safetensors")
        self.check_names(tensors, "--rename", "huggingface", "--rename", "output.LayerNorm.*=")
        # Of a type that cannot be read, too.
        write_safetensors(self.folder / "odd.safetensors", {**self.weights, "count": np.zeros(1, np.uint8)},
                          {"count": "U8"})
        self.check_fails(1, "tensor 'count'", weights="odd.safetensors")
        self.run_well("--rename", "count=", weights="odd.safetensors")

    def test_rows_of_a_tensor(self):
        rows = {"weight": SIZE, "bias": SIZE}
        tensors = {"out_proj." + kind: self.weights["out_proj." + kind] for kind in rows}
        for kind in rows:
            tensors["qkv." + kind] = np.concatenate([self.weights[f"{part}.{kind}"] for part in PARTS[:3]])
        words = [word for index, part in enumerate(PARTS[:3])
                 for word in ("--rename", f"qkv.*[{index * SIZE}:{(index + 1) * SIZE}]={part}.*")]
        self.check_names(tensors, *words)
        words = [word for index, part in enumerate(PARTS[:3])
                 for word in ("--rename", f"qkv.*[{index + 1}/3]={part}.*")]
        self.check_names(tensors, *words)

    def test_one_by_one(self):
        tensors = {**self.weights, "wq": self.weights["query_proj.weight"]}
        del tensors["query_proj.weight"]
        self.check_names(tensors, "--rename", "wq=query_proj.weight")

    def test_faults(self):
        self.check_fails(1, "--rename wq=query_proj.weight: no tensor has this name", "--rename",
                         "wq=query_proj.weight")
        self.check_fails(1, "both tensor 'query_proj.weight' and tensor 'key_proj.weight' would be the parameter "
                         "key_proj.weight", "--rename", "query_proj.weight=key_proj.weight")
        self.check_fails(1, "tensor 'query_proj.weight', renamed to 'q', is no parameter", "--rename",
                         "query_proj.weight=q")
        self.check_fails(1, "tensor 'query_proj.weight' has 8 rows, which does not fit --rename "
                         "query_proj.weight[1/3]=key_proj.weight", "--rename", "query_proj.weight[1/3]=key_proj.weight")
        self.check_fails(2, "--rename torch: must be OLD=NEW, pytorch or huggingface", "--rename", "torch")
        self.check_fails(1, "out_proj.weight", "--rename", "out_proj.weight=")
        self.check_fails(1, "query_proj.weight", "--rename", "query_proj.weight=")
        # P60: a file of other names and no rule is an error, not a layer of zeros.
        write_safetensors(self.folder / "packed.safetensors", self.packed())
        self.check_fails(1, "'in_proj_weight' is no parameter", weights="packed.safetensors")

    def check_hint(self, name, hint, *words):
        """What a file of one tensor besides the layer's own makes the command say."""
        write_safetensors(self.folder / "hint.safetensors", {name: self.normal(3)})
        self.check_fails(1, f"hint.safetensors: tensor '{name}' {hint}\n", *words, weights="hint.safetensors")

    def test_hints(self):
        other = "is no parameter of multi_head"
        self.check_hint("in_proj_weight", f"{other}; try --rename pytorch")
        self.check_hint("q_proj_weight", f"{other}; try --rename pytorch", "--rename", "huggingface")
        self.check_hint("q_proj.weight", f"{other}; try --rename huggingface")
        self.check_hint("output.dense.bias", f"{other}; try --rename huggingface", "--rename", "pytorch")
        self.check_hint("layers.0.self_attn.in_proj_bias",
                        f"{other}; try --prefix layers.0.self_attn. --rename pytorch")
        self.check_hint("layers.0.self_attn.in_proj_bias",
                        f"{other}; try --prefix layers.0.self_attn. --rename pytorch", "--prefix", "layers.")
        self.check_hint("layer.0.attention.self.query.weight",
                        f"{other}; try --prefix layer.0.attention. --rename huggingface")
        self.check_hint("layer.query_proj.bias", f"{other}; try --prefix layer.")
        none = f"{other} ('attnzoo describe multi_head' lists them; --rename says what other names mean)"
        for name in ("layer.norm.weight", "query_proj.weights", "q.0.weight", "", "."):
            self.check_hint(name, none)
        for name in ("bias_k", "layers.0.self_attn.bias_v"):
            self.check_hint(name, "(add_bias_kv=True in PyTorch) has no counterpart in multi_head")


class TestSettings(LayerTest):
    def test_what_was_typed_is_told_from_what_the_file_lacks(self):
        self.check_fails(2, "multiple of num_kv_heads", "--set", "num_kv_heads=3")
        relative = self.words("--set", "flavor=shaw")
        relative[1] = "relative_multi_head"
        done = self.call(*relative)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("relative_key", done.stderr)

    def test_heads_that_are_not_set(self):
        """Weights of one head have the shapes of those of several, so that nothing but this note tells of a slip."""
        note = "attnzoo: note: num_heads is not set and taken to be 1; weight files do not tell it\n"
        words = self.words()
        place = words.index(f"num_heads={HEADS}")
        for mechanism, told in (("multi_head", note), ("additive", "")):
            # Whose weights tell the number by their shapes, and a wrong one is an error.
            if mechanism == "additive":
                write_safetensors(self.folder / "weights.safetensors", {
                    "query_proj.weight": self.normal(3, SIZE), "key_proj.weight": self.normal(3, SIZE),
                    "score_proj.weight": self.normal(1, 3)})
            unset = words[:1] + [mechanism] + words[2:place - 1] + words[place + 1:]
            done = self.call(*unset)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", told))
        write_safetensors(self.folder / "weights.safetensors", self.weights)
        words[place] = "num_heads=1"
        done = self.call(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class TestStates(LayerTest):
    def setUp(self):
        super().setUp()
        self.tokens = self.normal(2, 6, SIZE)
        for name, first, last in (("all", 0, 6), ("prompt", 0, 3), ("four", 3, 4), ("rest", 4, 6)):
            np.save(self.folder / f"{name}.npy", self.tokens[:, first:last])

    def step(self, name, *words):
        return self.run_well("--causal", *words, query=f"{name}.npy", memory=f"{name}.npy")

    def test_a_cache_grows_from_file_to_file(self):
        """P41: a prompt and then steps come to what one call over all comes to. One file for both options."""
        whole = self.step("all")
        self.assert_close(whole, multi_head(self.weights, self.tokens, self.tokens, np.tri(6, dtype=bool))[0])
        parts = [self.step("prompt", "--state-out", "cache.safetensors")]
        parts.append(self.step("four", "--state-in", "cache.safetensors", "--state-out=cache.safetensors"))
        parts.append(self.step("rest", "--state-in=cache.safetensors", "--attention", "attention.npy", "--heatmap",
                               "map.png", "--state-out", "last.safetensors"))
        self.assert_close(np.concatenate(parts, axis=1), whole)
        self.assertEqual(np.load(self.folder / "attention.npy").shape, (2, HEADS, 2, 6))
        lengths = {}
        for name in ("cache", "last"):
            fields = read_safetensors(self.folder / f"{name}.safetensors")
            self.assertEqual(sorted(fields), ["key", "value"])
            lengths[name] = fields["key"].shape[2]
            self.assertEqual(fields["key"].shape, (2, HEADS, lengths[name], SIZE // HEADS))
        self.assertEqual(lengths, {"cache": 4, "last": 6})
        key = self.tokens @ self.weights["key_proj.weight"].T + self.weights["key_proj.bias"]
        self.assert_close(fields["key"], key.reshape(2, 6, HEADS, -1).transpose(0, 2, 1, 3))

    def test_prompts_of_different_lengths(self):
        """As doc/multi_head.md has it: padded on the right, the holes hidden by a mask in later calls."""
        lengths, steps, longest = (3, 1), 2, 3
        prompt = np.full((2, longest, SIZE), np.nan, np.float32)
        for batch, length in enumerate(lengths):
            prompt[batch, :length] = self.tokens[batch, :length]
        np.save(self.folder / "ragged.npy", prompt)
        np.save(self.folder / "lengths.npy", np.array(lengths))
        self.step("ragged", "--key-lengths", "lengths.npy", "--query-lengths", "lengths.npy", "--state-out",
                  "s.safetensors")
        self.assertEqual(np.abs(read_safetensors(self.folder / "s.safetensors")["key"][1, :, 1:]).max(), 0)
        for step in range(steps):
            token = [self.tokens[batch, length + step] for batch, length in enumerate(lengths)]
            np.save(self.folder / "token.npy", np.stack(token)[:, None])
            allowed = np.ones((2, 1, 1, longest + step + 1), bool)
            for batch, length in enumerate(lengths):
                allowed[batch, ..., length:longest] = False
            np.save(self.folder / "holes.npy", allowed)
            context = self.step("token", "--mask", "holes.npy", "--state-in", "s.safetensors", "--state-out",
                                "s.safetensors")
            for batch, length in enumerate(lengths):
                seen = self.tokens[batch:batch + 1, :length + step + 1]
                self.assert_close(context[batch:batch + 1], multi_head(self.weights, seen[:, -1:], seen)[0])

    def test_only_a_state_may_take_an_inputs_place(self):
        self.step("prompt", "--state-out", "one.safetensors")
        for output, target, option in (("--attention", "one.safetensors", "--state-in"),
                                       ("--state-out", "weights.safetensors", "--weights")):
            before = (self.folder / target).read_bytes()
            self.check_fails(2, f"{output} {target}: this is the file that {option} reads", "--causal", "--state-in",
                             "one.safetensors", output, target, query="four.npy", memory="four.npy")
            self.assertEqual((self.folder / target).read_bytes(), before)

    def test_a_state_survives_files_to_the_bit(self):
        self.step("prompt", "--state-out", "one.safetensors")
        np.save(self.folder / "none.npy", self.tokens[:, :0])
        self.step("none", "--state-in", "one.safetensors", "--state-out", "two.safetensors")
        one, two = (read_safetensors(self.folder / f"{name}.safetensors") for name in ("one", "two"))
        for name in one:
            self.assertTrue(np.array_equal(one[name], two[name]))

    def test_queries_without_a_batch(self):
        np.save(self.folder / "flat.npy", self.tokens[0, :3])
        np.save(self.folder / "next.npy", self.tokens[0, 3:])
        first = self.step("flat", "--state-out", "s.safetensors")
        second = self.step("next", "--state-in", "s.safetensors", "--heatmap", "map.png")
        wanted = multi_head(self.weights, self.tokens[:1], self.tokens[:1], np.tri(6, dtype=bool))[0]
        self.assert_close(np.concatenate([first, second]), wanted[0])

    def test_timing_does_not_advance_a_state(self):
        self.step("prompt", "--state-out", "one.safetensors")
        plain = self.step("four", "--state-in", "one.safetensors", "--state-out", "two.safetensors")
        done = self.call(*self.words("--causal", "--state-in", "one.safetensors", "--state-out", "timed.safetensors",
                                     "--time", query="four.npy", memory="four.npy"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"median \d+\.\d{3} ms")
        self.assertTrue(np.array_equal(np.load(self.folder / "context.npy"), plain))
        self.assertEqual((self.folder / "timed.safetensors").read_bytes(),
                         (self.folder / "two.safetensors").read_bytes())

    def test_half_precision_states(self):
        self.step("prompt", "--state-out", "one.safetensors")
        fields = {name: array.astype(np.float16)
                  for name, array in read_safetensors(self.folder / "one.safetensors").items()}
        write_safetensors(self.folder / "half.safetensors", fields, dict.fromkeys(fields, "F16"))
        self.step("four", "--state-in", "half.safetensors", "--state-out", "two.safetensors")
        self.assertTrue(np.array_equal(read_safetensors(self.folder / "two.safetensors")["key"][:, :, :3],
                                       fields["key"].astype(np.float32)))

    def test_files_that_are_no_state(self):
        self.step("prompt", "--state-out", "one.safetensors")
        fields = read_safetensors(self.folder / "one.safetensors")
        words = ("--state-in", "bad.safetensors", "--state-out", "one.safetensors")
        options = {"query": "four.npy", "memory": "four.npy"}
        for change, part in (({"alignment": fields["key"]}, "tensor 'alignment' is no part of a state of multi_head"),
                             ({"key": None}, "there is no tensor 'key' [B, G, T, D]"),
                             ({"value": None}, "there is no tensor 'value'"),
                             ({"key": fields["key"][:1]}, "bad.safetensors"),
                             ({"key": fields["key"][0]}, "bad.safetensors"),
                             ({"value": fields["value"][:, :, :2]}, "bad.safetensors")):
            tensors = {name: array for name, array in {**fields, **change}.items() if array is not None}
            write_safetensors(self.folder / "bad.safetensors", tensors)
            self.check_fails(1, part, *words, **options)
        self.check_fails(1, "missing.safetensors: No such file", "--state-in", "missing.safetensors", **options)
        self.check_fails(2, "two outputs", "--state-out", "./context.npy", **options)
        self.check_fails(1, "missing/s.safetensors", "--state-out", "missing/s.safetensors", **options)
        for name in fields:
            self.assertTrue(np.array_equal(read_safetensors(self.folder / "one.safetensors")[name], fields[name]))


class TestRelativeStates(LayerTest):
    """A position table for each call, long enough for the kept keys and the new ones."""

    def setUp(self):
        super().setUp()
        del self.weights["out_proj.weight"], self.weights["out_proj.bias"]
        self.weights.update({"pos_proj.weight": self.normal(SIZE, SIZE), "u_bias": self.normal(HEADS, SIZE // HEADS)})
        write_safetensors(self.folder / "weights.safetensors", self.weights)
        table, tokens = self.normal(6, SIZE), self.normal(1, 6, SIZE)
        for name, first, last in (("all", 0, 6), ("prompt", 0, 4), ("rest", 4, 6)):
            np.save(self.folder / f"{name}.npy", tokens[:, first:last])
            # Row p stands for the distance keys - 1 - p: shorter tables are the ends of longer ones.
            np.save(self.folder / f"{name}_table.npy", table[6 - last:])

    def step(self, name, *words):
        arguments = self.words("--causal", "--position", f"{name}_table.npy", *words, query=f"{name}.npy",
                               memory=f"{name}.npy")
        arguments[1] = "relative_multi_head"
        done = self.call(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return np.load(self.folder / "context.npy")

    def test_a_prompt_and_the_rest_are_one_call(self):
        whole = self.step("all")
        parts = [self.step("prompt", "--state-out", "s.safetensors"), self.step("rest", "--state-in", "s.safetensors")]
        self.assert_close(np.concatenate(parts, axis=1), whole)


class TestAlignments(LayerTest):
    """The state of location_aware: the alignment of the step before, and the sum of all."""

    def setUp(self):
        super().setUp()
        weights = {"query_proj.weight": self.normal(4, SIZE), "key_proj.weight": self.normal(4, SIZE),
                   "bias": self.normal(4), "location_conv.weight": self.normal(3, 1, 5),
                   "location_proj.weight": self.normal(4, 3), "score_proj.weight": self.normal(1, 4)}
        write_safetensors(self.folder / "location.safetensors", weights)
        for name, first, last in (("first", 0, 1), ("second", 1, 3)):
            np.save(self.folder / f"{name}.npy", self.query[:, first:last])

    def steps(self, name, *words):
        done = self.call("run", "location_aware", "--query", f"{name}.npy", "--key", "memory.npy", "--value",
                         "memory.npy", "--weights", "location.safetensors", "--context", "context.npy", "--attention",
                         "attention.npy", "--heatmap", "map.png", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return np.load(self.folder / "context.npy"), np.load(self.folder / "attention.npy")

    def test_two_calls_are_one(self):
        for words in ((), ("--set", "feedback=cumulative", "--set", "initial=uniform"), ("--set", "initial=first")):
            whole = self.steps("query", *words)
            first = self.steps("first", *words, "--state-out", "s.safetensors")
            state = read_safetensors(self.folder / "s.safetensors")
            self.assertEqual(sorted(state), ["alignment", "cumulative"])
            self.assertEqual(state["alignment"].shape, (2, 1, KEYS))
            self.assertTrue(np.array_equal(state["alignment"], first[1]))
            second = self.steps("second", *words, "--state-in", "s.safetensors", "--state-out", "s.safetensors")
            for index in range(2):
                self.assert_close(np.concatenate([first[index], second[index]], axis=1), whole[index])

    def test_the_sum_may_be_left_out(self):
        first = self.steps("first", "--state-out", "s.safetensors")
        write_safetensors(self.folder / "s.safetensors", {"alignment": first[1]})
        second = self.steps("second", "--state-in", "s.safetensors")
        self.assert_close(second[1], self.steps("query")[1][:, 1:])

    def test_other_lengths_are_refused(self):
        write_safetensors(self.folder / "s.safetensors", {"alignment": np.zeros((2, 1, KEYS + 1), np.float32)})
        done = self.call("run", "location_aware", "--query", "query.npy", "--key", "memory.npy", "--value",
                         "memory.npy", "--weights", "location.safetensors", "--context", "context.npy", "--state-in",
                         "s.safetensors")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("numbers of keys differ", done.stderr)
        self.assertFalse((self.folder / "context.npy").exists())


class TestPictures(LayerTest):
    def test_every_shape_of_attention_can_be_drawn(self):
        np.save(self.folder / "flat.npy", self.query[0])
        np.save(self.folder / "flat_memory.npy", self.memory[0])
        for query, memory in (("query.npy", "memory.npy"), ("flat.npy", "flat_memory.npy")):
            for setting in ("false", "true"):
                self.run_well("--set", f"average_heads={setting}", "--heatmap", "map.png", "--attention",
                              "attention.npy", query=query, memory=memory)
                self.assertEqual((self.folder / "map.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
                wanted = multi_head(self.weights, self.query, self.memory)[1]
                wanted = wanted.mean(axis=1) if setting == "true" else wanted
                self.assert_close(np.load(self.folder / "attention.npy"), wanted if query == "query.npy" else wanted[0])


class TestDescriptions(LayerTest):
    def test_states_are_described(self):
        for mechanism, fields in (("multi_head", ("key", "value")), ("relative_multi_head", ("key", "value")),
                                  ("location_aware", ("alignment", "cumulative"))):
            text = self.call("describe", mechanism).stdout
            section = text[text.index("\nState"):text.index("\nLetters")]
            for field in fields:
                self.assertRegex(section, rf"\n  {field} +\[B, [GH], [TM][^\]]*\] +\w")
        self.assertIn("\nState (--state-in, --state-out)\n  none\n", self.call("describe", "additive").stdout)

    def test_formulas_and_sources_fit_a_terminal(self):
        for line in self.call("list").stdout.splitlines():
            text = self.call("describe", line.split()[0]).stdout
            for row in text[text.index("\nFormula"):text.index("\nOptions")].splitlines():
                self.assertLessEqual(len(row), 120)

    def test_every_letter_of_a_shape_is_told(self):
        for line in self.call("list").stdout.splitlines():
            text = self.call("describe", line.split()[0]).stdout
            shapes = re.findall(r"\[([^\]]*)\]", text[text.index("\nParameters"):text.index("\nLetters")])
            letters = set(re.findall(r"[A-Za-z_']+", " ".join(shapes)))
            told = " ".join(text[text.index("Letters in shapes:") + 18:].split())
            for letter in letters - {"channels"}:
                self.assertRegex(" " + told, rf"[ ,] {re.escape(letter)} |^ {re.escape(letter)} ", line)


if __name__ == "__main__":
    ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
