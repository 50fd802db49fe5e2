#!/usr/bin/env python3
"""The files that the command attnzoo reads: what it lists of them, and what it says of those that do not do.

    test_command_files.py PATH/TO/attnzoo [unittest options]

How the command runs where they do is test_command.py's.
"""
import pathlib
import shutil
import sys
import unittest

import numpy as np

import test_command
from test_command import CommandTest, FailureTest, write_safetensors


class TestList(CommandTest):
    def list_of(self, name):
        done = self.call("list", name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_list_of_a_file(self):
        """P56: a line a tensor in the file's order, whatever is in the names, and of types that cannot be read, too."""
        write_safetensors(self.folder / "model.safetensors", {
            "z.weight": ("F32", self.value), "a\n\x1b[2J\x7f\u009b\u2713": ("BF16", np.zeros((3, 0), np.uint16)),
            "number": ("F64", np.zeros(()))})
        self.assertEqual(self.list_of("model.safetensors"), "z.weight   F32   [2, 2, 5, 6]\n"
                         "a??[2J??\u2713  BF16  [3, 0]\n"
                         "number     F64   []\n")
        write_safetensors(self.folder / "none.safetensors", {})
        self.assertEqual(self.list_of("none.safetensors"), "")
        self.assertEqual(self.list_of("key.npy"), "key.npy  float32  [2, 2, 5, 8]\n")
        np.save(self.folder / "two\nlines.npy", np.zeros((2, 3), ">f8"))
        self.assertEqual(self.list_of("two\nlines.npy"), "two?lines.npy  >f8  [2, 3]\n")

    def test_list_of_a_file_that_cannot_be_read(self):
        (self.folder / "short.npy").write_bytes((self.folder / "key.npy").read_bytes()[:-1])
        (self.folder / "short.safetensors").write_bytes(b"\x08" + bytes(9))
        for name, part in (("none.npy", "none.npy: No such file"), ("multi_head", "multi_head: No such file"),
                           ("short.npy", "short.npy: the file is too short"), (".", ".: Is a directory"),
                           ("short.safetensors", "short.safetensors: the file is too short")):
            self.check_failure(self.call("list", name), 1, part)


class TestFiles(FailureTest):
    def test_missing_and_malformed_inputs(self):
        self.check_run_fails(1, "missing.npy: No such file", "--mask", "missing.npy")
        (self.folder / "short.npy").write_bytes((self.folder / "key.npy").read_bytes()[:-1])
        self.check_run_fails(1, "short.npy: the file is too short", "--bias", "short.npy")
        (self.folder / "empty.npy").write_bytes(b"")
        self.check_run_fails(1, "empty.npy: the file is too short", "--bias", "empty.npy")
        np.save(self.folder / "double.npy", np.zeros((3, 5)))
        self.check_run_fails(1, "double.npy: dtype '<f8' is not supported; float32, float16, bool, int32 and int64 are; "
                             "save it with .astype('float32')\n", "--bias", "double.npy")
        np.save(self.folder / "swapped.npy", np.zeros((3, 5), ">f8"))
        self.check_run_fails(1, "'>f8' is not supported; float32, float16, bool, int32 and int64 are; save it",
                             "--bias", "swapped.npy")
        np.save(self.folder / "small.npy", np.zeros((3, 5), np.int16))
        self.check_run_fails(1, "dtype '<i2' is not supported; float32, float16, bool, int32 and int64 are; save it "
                             "with .astype('bool')\n", "--mask", "small.npy")
        np.save(self.folder / "complex.npy", np.zeros((3, 5), np.complex64))
        self.check_run_fails(1, "'<c8' is not supported; float32, float16, bool, int32 and int64 are\n", "--bias",
                             "complex.npy")
        np.save(self.folder / "record.npy", np.zeros(3, [("a", "f4")]))
        self.check_run_fails(1, "record.npy: structured", "--bias", "record.npy")
        np.save(self.folder / "object.npy", np.array([None]), allow_pickle=True)
        self.check_run_fails(1, "object.npy: dtype '|O'", "--bias", "object.npy")
        np.save(self.folder / "number.npy", np.array(1.0, np.float32))
        self.check_run_fails(1, "number.npy: a single number", "--bias", "number.npy")
        self.check_run_fails(1, "number.npy: a query offset must be int", "--query-offset", "number.npy")
        self.check_run_fails(1, "x.safetensors: No such file", "--bias", "x.safetensors:a")
        self.check_run_fails(2, "FILE.safetensors:NAME", "--bias", "x.safetensors")
        self.check_run_fails(1, "two?lines", "--bias", "two\nlines")
        self.check_run_fails(1, ": File name too long", "--bias", "x" * 20000)

    def test_files_of_other_kinds(self):
        np.savez(self.folder / "arrays.npz", bias=np.zeros((3, 5), np.float32))
        shutil.copy(self.folder / "arrays.npz", self.folder / "archive.safetensors")
        shutil.copy(self.folder / "key.npy", self.folder / "array.safetensors")
        # The first bytes of what torch.save() writes, today and before PyTorch 1.6.
        (self.folder / "model.pt").write_bytes(b"PK\x03\x04\x00\x00\x08\x08" + bytes(100))
        (self.folder / "old.pt").write_bytes(bytes.fromhex("80028a0a6cfc9c46f9206aa850192e") + bytes(100))
        write_safetensors(self.folder / "double.safetensors", {"bias": ("F64", np.zeros((3, 5)))})
        write_safetensors(self.folder / "small.safetensors", {"bias": ("I16", np.zeros((3, 5), np.int16))})
        self.check_run_fails(1, "arrays.npz: not a .npy file but an archive, as .npz is; save each array by itself",
                             "--bias", "arrays.npz")
        for name in ("archive.safetensors", "model.pt"):
            self.check_run_fails(1, f"{name}: not a .safetensors file but a PyTorch or .npz archive; "
                                 "safetensors.torch.save_file writes .safetensors", "--weights", name)
        self.check_run_fails(1, "archive", "--bias", "archive.safetensors:bias")
        self.check_run_fails(1, "old.pt: not a .safetensors file but an old PyTorch file", "--weights", "old.pt")
        self.check_run_fails(1, "array.safetensors: not a .safetensors file but a .npy file; "
                             "safetensors.numpy.save_file writes", "--weights", "array.safetensors")
        self.check_run_fails(1, "'bias' is F64, which is not supported; F32, F16, BF16, BOOL, I32 and I64 are; save it "
                             "with .astype('float32')", "--bias", "double.safetensors:bias")
        self.check_run_fails(1, "BOOL, I32 and I64 are; save it with .astype('bool') (in PyTorch, .bool())\n", "--mask",
                             "small.safetensors:bias")

    def test_types_of_masks_and_biases(self):
        """What is advised is what the option takes, whether the type cannot be read or is only another."""
        adding = "numbers to add to the scores are for --bias, as float32\n"
        for option, dtype, told in (
                ("--key-lengths", np.float64, "int64 are; save it with .astype('int64')\n"),
                ("--query-lengths", np.uint8, "int64 are; save it with .astype('int64')\n"),
                ("--segments", np.int16, "int64 are; save it with .astype('int64')\n"),
                ("--query-offset", np.float64, "int64 are; save it with .astype('int64')\n"),
                ("--mask", np.uint8, "int64 are; save it with .astype('bool')\n"),
                ("--mask", np.float64, f"int64 are; save it with .astype('bool'); {adding}"),
                ("--alibi", np.float64, "int64 are; save it with .astype('float32')\n"),
                ("--key-lengths", np.float32, "the array is float32, must be int32 or int64; save it with "
                 ".astype('int64')\n"),
                ("--segments", bool, "the array is bool, must be int32 or int64; save it with .astype('int64')\n"),
                ("--mask", np.float32, "the array is float32, must be bool, int32 or int64; save it with "
                 f".astype('bool'); {adding}"),
                ("--mask", np.float16, f"the array is float16, must be bool, int32 or int64; save it with "
                 f".astype('bool'); {adding}"),
                ("--bias", np.int64, "the array is int64, must be float32, float16 or bfloat16; save it with "
                 ".astype('float32')\n"),
                ("--bias", bool, "the array is bool, must be float32, float16 or bfloat16; save it with "
                 ".astype('float32'); what may be seen is for --mask\n")):
            np.save(self.folder / "array.npy", np.zeros((2, 5), dtype))
            self.check_run_fails(1, told, option, "array.npy")
            if "must be" in told:
                self.check_run_fails(1, f"attnzoo: {option} array.npy: the array is", option, "array.npy")
        # The other kinds of what does not fit name the option, too.
        np.save(self.folder / "array.npy", np.zeros((2, 5), np.int64))
        self.check_run_fails(1, "attnzoo: --key-lengths array.npy: ", "--key-lengths", "array.npy")

    def test_names_that_are_not_in_a_file(self):
        bias = ("F32", np.zeros((3, 5), np.float32))
        for names, wanted, told in (
                (["bias"], "nope", "there is 'bias'\n"), (["a", "b"], "nope", "there are 'a', 'b'\n"),
                (["a", "b", "c"], "nope", "there are 'a', 'b', 'c'\n"),
                (["a", "b", "c", "d"], "nope", "there are 'a', 'b', 'c', ... ('attnzoo list' tells all)\n"),
                (["a", "layers.0.self_attn.attention_bias.of.all"], "layers.0.selfattn.attention_bias.of.all",
                 "did you mean 'layers.0.self_attn.attention_bias.of.all'?\n")):
            write_safetensors(self.folder / "in.safetensors", {name: bias for name in names})
            self.check_run_fails(1, f"in.safetensors: there is no tensor '{wanted}'; {told}", "--bias",
                                 f"in.safetensors:{wanted}")
        write_safetensors(self.folder / "in.safetensors", {})
        self.check_run_fails(1, "there is no tensor 'x', nor any other\n", "--bias", "in.safetensors:x")

    def test_weights_for_no_parameter(self):
        write_safetensors(self.folder / "w.safetensors", {"a.weight": ("F32", self.value)})
        self.check_run_fails(1, "'a.weight' is no parameter", "--weights", "w.safetensors")
        self.check_run_fails(1, "begins with 'b.'; 'attnzoo list' tells the names\n", "--weights", "w.safetensors",
                             "--prefix", "b.")

    def test_prefixes_that_are_not_in_a_file(self):
        weight = ("F32", np.zeros((8, 8), np.float32))
        words = ["run", "multi_head", "--query", "q", "--key", "k", "--value", "v", "--context", "context.npy",
                 "--weights", "w.safetensors", "--prefix", "b."]
        for names, told in (
                (["query_proj.weight"], "try it without --prefix\n"),
                (["norm.weight", "a.norm.weight"], "'attnzoo list' tells the names\n"),
                (["a.norm.weight", "a.query_proj.weight", "a.key_proj.weight"], "try --prefix a.\n"),
                (["x.0.in_proj_weight", "x.1.q_proj.weight", "x.0.out_proj.weight"], "try --prefix x.0. or x.1.\n"),
                ([f"{layer}.attn.out_proj.weight" for layer in range(3)],
                 "try --prefix 0.attn. or 1.attn. or 2.attn.\n"),
                ([f"{layer}.attn.out_proj.weight" for layer in range(9)],
                 "try --prefix 0.attn. or 1.attn. or 2.attn. ('attnzoo list' tells all)\n")):
            write_safetensors(self.folder / "w.safetensors", {name: weight for name in names})
            self.check_failure(self.call(*words), 1, f"begins with 'b.'; {told}")


if __name__ == "__main__":
    test_command.ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
