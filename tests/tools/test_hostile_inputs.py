#!/usr/bin/env python3
"""Inputs that are broken, that lie, or that are no files at all: told in one line, and the old outputs stay whole.

    test_hostile_inputs.py PATH/TO/attnzoo [unittest options]

What the command says of inputs that are sound and do not fit is test_command_files.py's; outputs are
test_output_faults.py's.
"""
import errno
import json
import os
import pathlib
import struct
import sys
import unittest

import numpy as np

import test_command
from test_command import FailureTest, limit_memory, write_safetensors

BIAS = np.arange(15, dtype=np.float32).reshape(3, 5)


def npy(header, data=b"", length=None):
    """A .npy file with this header, which claims to be `length` bytes long."""
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) if length is None else length) + text + data


def shaped(shape, data=b""):
    return npy("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n" % shape, data)


def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(begin, end, shape=None, dtype="F32"):
    return {"dtype": dtype, "shape": [(end - begin) // 4] if shape is None else shape, "data_offsets": [begin, end]}


class HostileTest(FailureTest):
    def check_file_fails(self, name, content, part):
        """Neither `list` nor a run takes the file, and both name it."""
        (self.folder / name).write_bytes(content)
        reference = f"{name}:bias" if name.endswith(".safetensors") else name
        self.check_failure(self.call("list", name), 1, f"{name}: {part}")
        self.check_run_fails(1, f"{name}: {part}", "--bias", reference)

    def run_with_bias(self, reference):
        self.assert_close(self.run_well("--bias", reference), self.expected(bias=BIAS)[0])


class TestNpy(HostileTest):
    def test_truncated_at_every_byte(self):
        np.save(self.folder / "bias.npy", BIAS)
        whole = (self.folder / "bias.npy").read_bytes()
        self.assertEqual(len(whole), 128 + 60)
        for length in range(len(whole)):
            (self.folder / "bias.npy").write_bytes(whole[:length])
            self.check_run_fails(1, "bias.npy: the file is too short", "--bias", "bias.npy")

    def test_swollen(self):
        """NumPy's own reader leaves what follows the array alone, so this one does."""
        np.save(self.folder / "bias.npy", BIAS)
        with open(self.folder / "bias.npy", "ab") as file:
            file.write(b"\xff" * 1000)
        self.run_with_bias("bias.npy")

    def test_headers_that_lie(self):
        whole = shaped("(3, 5)", BIAS.tobytes())
        self.check_file_fails("x.npy", whole[:8] + struct.pack("<H", 0xffff) + whole[10:], "the file is too short")
        for length in (0, 1, 20, 57):
            self.check_file_fails("x.npy", whole[:8] + struct.pack("<H", length) + whole[10:], "malformed")
        # One byte of the array counted to the header, too.
        self.check_file_fails("x.npy", whole[:8] + struct.pack("<H", len(whole) - 10 - 59) + whole[10:], "malformed")
        for shape, part in (("(-3, 5)", "malformed .npy header: 'shape' has a negative size"),
                            ("(3, -5)", "malformed .npy header: 'shape' has a negative size"),
                            ("(-3, -5)", "malformed .npy header: 'shape' has a negative size"),
                            ("(-0, 5)", "malformed .npy header: 'shape' has a negative size"),
                            ("(3, 6)", "the file is too short"), ("(2147483648, 2147483648)", "the shape is too large"),
                            ("(1099511627776,)", "the file is too short"),
                            ("(4611686018427387904, 4)", "the shape is too large"),
                            ("(0, 9223372036854775807, 9223372036854775807)", ""),
                            ("(99999999999999999999,)", "malformed .npy header: 'shape' has a size beyond 63 bits")):
            if part:
                self.check_file_fails("x.npy", shaped(shape, BIAS.tobytes()), part)
            else:  # it holds nothing, so it can be read; but as a bias it fits nowhere
                (self.folder / "x.npy").write_bytes(shaped(shape))
                self.check_run_fails(1, "x.npy", "--bias", "x.npy")

    def test_every_byte_of_the_header_changed(self):
        """Whatever comes of it, it is a result or one line, never a crash."""
        np.save(self.folder / "bias.npy", BIAS)
        whole = (self.folder / "bias.npy").read_bytes()
        endings = {0: 0, 1: 0}
        for place in range(80):
            for value in (0x39, 0xff):
                (self.folder / "bias.npy").write_bytes(whole[:place] + bytes([value]) + whole[place + 1:])
                done = self.call(*self.run_words("--bias", "bias.npy", context="other.npy"), errors="replace")
                self.assertIn(done.returncode, (0, 1))
                endings[done.returncode] += 1
                if done.returncode == 1:
                    self.check_failure(done, 1, "bias.npy")
        self.assertGreater(endings[1], 100)
        self.assertGreater(endings[0], 0)

    def test_pipe_that_claims_terabytes(self):
        """Of a pipe no size is known beforehand: memory or the end of it must stop the reading."""
        os.mkfifo(self.folder / "pipe.npy")
        # Open for both, so that the run finds a writer and what is in the pipe, which closes when the run is on.
        pipe = os.open(self.folder / "pipe.npy", os.O_RDWR)
        os.write(pipe, shaped("(1099511627776,)", BIAS.tobytes()))
        self.addCleanup(os.close, pipe)
        if not limit_memory():
            self.skipTest("NOT CHECKED: a sanitizer has its own words where memory is refused")
        self.check_run_fails(1, "pipe.npy: not enough memory", "--bias", "pipe.npy", **limit_memory())


class TestSafetensors(HostileTest):
    def test_truncated_at_every_byte(self):
        write_safetensors(self.folder / "x.safetensors", {"bias": ("F32", BIAS)})
        whole = (self.folder / "x.safetensors").read_bytes()
        for length in range(len(whole)):
            (self.folder / "x.safetensors").write_bytes(whole[:length])
            # Cut in its data the file is not too short for its header, but for its tensors.
            part = "the file is too short" if length < len(whole) - 60 else "the tensors take 60 bytes, the file has"
            self.check_run_fails(1, f"x.safetensors: {part}", "--bias", "x.safetensors:bias")

    def test_swollen(self):
        write_safetensors(self.folder / "x.safetensors", {"bias": ("F32", BIAS)})
        whole = (self.folder / "x.safetensors").read_bytes()
        self.check_file_fails("x.safetensors", whole + b"\0", "the tensors take 60 bytes, the file has 61")

    def test_order_of_data_is_not_that_of_names(self):
        header = {"last": tensor(68, 72), "bias": tensor(8, 68, [3, 5]), "first": tensor(0, 8),
                  "__metadata__": {"format": "pt"}}
        (self.folder / "x.safetensors").write_bytes(safetensors(header, bytes(8) + BIAS.tobytes() + bytes(4)))
        self.run_with_bias("x.safetensors:bias")

    def test_headers_that_lie(self):
        data = BIAS.tobytes()
        good = {"bias": tensor(0, 60, [3, 5])}
        for header, part in (
                ({"a": tensor(0, 60), "b": tensor(56, 60)}, "tensor 'b' begins at 56, which leaves an overlap"),
                ({"bias": tensor(0, 60, [3, 5]), "b": tensor(0, 60)}, "tensor '"),
                ({"a": tensor(0, 32), "bias": tensor(28, 60)}, "tensor 'bias' begins at 28, which leaves an overlap"),
                ({"a": tensor(0, 28), "bias": tensor(32, 60)}, "tensor 'bias' begins at 32, which leaves a gap"),
                ({"bias": tensor(4, 60)}, "tensor 'bias' begins at 4, which leaves a gap"),
                ({"bias": tensor(0, 56)}, "the tensors take 56 bytes"),
                ({"bias": tensor(0, 64)}, "the tensors take 64 bytes"),
                ({"bias": tensor(60, 0, [3, 5])}, "tensor 'bias' ends before it begins"),
                ({"bias": tensor(0, 60, [3, 6])}, "tensor 'bias' takes 60 bytes, which does not fit"),
                ({"bias": tensor(0, 60, [-3, -5])}, "the shape of tensor 'bias' must be whole numbers, none negative"),
                ({"bias": tensor(0, 60, [2 ** 62, 2 ** 62])}, "tensor 'bias' takes 60 bytes, which does not fit"),
                ({"bias": tensor(0, 60, [2 ** 64 + 15])}, "malformed"),
                ({"bias": tensor(0, 60, [3, 5], "F16")}, "tensor 'bias' takes 60 bytes, which does not fit"),
                ({"bias": {**tensor(0, 60), "data_offsets": [0, 2 ** 63 - 1]}}, "tensor 'bias' takes"),
                ({"bias": {**tensor(0, 60), "data_offsets": [-60, 0]}}, "tensor 'bias' has no data_offsets"),
                (good | {"a": []}, "tensor 'a' has no dtype")):
            self.check_file_fails("x.safetensors", safetensors(header, data), part)
        for length in (2 ** 64 - 1, 2 ** 63, 2 ** 63 - 1, 2 ** 40, 10 ** 6):
            self.check_file_fails("x.safetensors", safetensors(good, data, length), "the file is too short: the header")
        for length in (0, 1, 10):
            self.check_file_fails("x.safetensors", safetensors(good, data, length), "malformed")

    def test_names(self):
        """Twice the same, not UTF-8, half of a surrogate pair, a zero byte: none may be taken for another."""
        data = BIAS.tobytes()
        one = json.dumps(tensor(0, 60, [3, 5])).encode()
        for text in (b'{"bias": %s, "bias": %s}' % (one, one), b'{"bias": %s, "\\u0062ias": %s}' % (one, one),
                     b'{"b\xe9": %s}' % one, b'{"\xc0\xaf": %s}' % one, b'{"\xed\xa0\x80": %s}' % one,
                     b'{"\\ud800": %s}' % one, b'{"bias\\u0000": %s}' % one, b'{"bias\0": %s}' % one):
            self.check_file_fails("x.safetensors", safetensors(text, data), "malformed .safetensors header")
        name = "caf\u00e9 \u2713 \U0001f600"
        for text in (json.dumps({name: tensor(0, 60, [3, 5])}),
                     json.dumps({name: tensor(0, 60, [3, 5])}, ensure_ascii=False)):
            (self.folder / "x.safetensors").write_bytes(safetensors(text.encode(), data))
            self.run_with_bias(f"x.safetensors:{name}")

    def test_deep_and_enormous_headers(self):
        for start in (b"[", b'{"a":'):
            self.check_file_fails("x.safetensors", safetensors(start * 100000), "malformed")
        # A header beyond what the format allows, in a file that has room for it but takes none on the disk.
        with open(self.folder / "x.safetensors", "wb") as file:
            file.write(struct.pack("<Q", 100_000_001))
            file.truncate(200_000_000)
        self.check_run_fails(1, "x.safetensors: the header is 100000001 bytes long", "--bias", "x.safetensors:bias")

    def test_every_byte_of_the_header_changed(self):
        write_safetensors(self.folder / "x.safetensors", {"bias": ("F32", BIAS)})
        whole = (self.folder / "x.safetensors").read_bytes()
        failures = 0
        for place in range(len(whole) - 60):
            for value in (0x39, 0xff):
                (self.folder / "x.safetensors").write_bytes(whole[:place] + bytes([value]) + whole[place + 1:])
                words = self.run_words("--bias", "x.safetensors:bias", context="other.npy")
                done = self.call(*words, errors="replace")
                self.assertIn(done.returncode, (0, 1))
                if done.returncode == 1:
                    failures += 1
                    self.check_failure(done, 1, "x.safetensors")
        self.assertGreater(failures, 100)


class TestNoFiles(HostileTest):
    """Links, folders, pipes and devices in the place of inputs, and names in no text encoding."""

    def test_links(self):
        (self.folder / "there").mkdir()
        np.save(self.folder / "there" / "bias.npy", BIAS)
        for name, target in (("one.npy", "there/bias.npy"), ("two.npy", "one.npy"), ("folder", "there"),
                             ("astray.npy", "nowhere.npy"), ("loop.npy", "pool.npy"), ("pool.npy", "loop.npy"),
                             ("self.safetensors", "self.safetensors"), ("astray.safetensors", "nowhere")):
            (self.folder / name).symlink_to(target)
        for name in ("one.npy", "two.npy", "folder/bias.npy"):
            self.run_with_bias(name)
            (self.folder / "context.npy").write_text("old")
        self.check_run_fails(1, "astray.npy: No such file or directory", "--bias", "astray.npy")
        self.check_run_fails(1, "loop.npy: Too many levels of symbolic links", "--bias", "loop.npy")
        self.check_run_fails(1, "astray.safetensors: No such file", "--weights", "astray.safetensors")
        self.check_run_fails(1, "self.safetensors: Too many levels", "--bias", "self.safetensors:a")
        self.check_run_fails(1, "folder: Is a directory", "--bias", "folder")

    def test_what_is_no_file(self):
        (self.folder / "folder.safetensors").mkdir()
        os.mkfifo(self.folder / "pipe.safetensors")
        pipe = os.open(self.folder / "pipe.safetensors", os.O_RDWR)
        self.addCleanup(os.close, pipe)
        for option, reference, part in (
                ("--bias", ".", ".: Is a directory"), ("--weights", ".", ".: Is a directory"),
                ("--bias", "folder.safetensors:a", "folder.safetensors: Is a directory"),
                ("--weights", "pipe.safetensors", "pipe.safetensors: not a regular file"),
                ("--bias", "key.npy/bias.npy", "key.npy/bias.npy: Not a directory"),
                ("--bias", "/dev/null", "/dev/null: the file is too short"),
                ("--bias", "/dev/zero", "/dev/zero: not a .npy file"),
                ("--weights", "/dev/zero", "/dev/zero: not a regular file"),
                ("--key-labels", ".", ".: Is a directory")):
            self.check_run_fails(1, part, option, reference)

    def test_names_in_no_encoding(self):
        """A name is bytes: read, written and told as they are."""
        names = [b"caf\xe9.npy", b"\xff\xfe.npy", b"-.npy", b" .npy"]
        for name in names:
            path = os.path.join(os.fsencode(self.folder), name)
            try:
                with open(path, "wb") as file:
                    np.save(file, BIAS)
            except OSError as error:
                if error.errno == errno.EILSEQ:
                    self.skipTest("this file system takes names in UTF-8 alone")
                raise
            self.run_with_bias(os.fsdecode(name))
            done = self.call(*self.run_words(context=os.fsdecode(b"out-" + name)))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assert_close(np.load(path.replace(name, b"out-" + name)), self.expected()[0])
            (self.folder / "context.npy").write_text("old")
            missing = os.fsdecode(b"no-" + name)
            self.check_run_fails(1, f"{missing}: No such file", "--bias", missing, errors="surrogateescape")


if __name__ == "__main__":
    test_command.ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
