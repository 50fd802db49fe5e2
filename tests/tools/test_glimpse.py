#!/usr/bin/env python3
"""Runs `attnzoo glimpse` from outside: what it makes of text, pictures and sound, against NumPy; what it draws; and what it
says of inputs that are broken, lie, or do not fit.

    test_glimpse.py PATH/TO/attnzoo [unittest options]
"""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import wave
import zlib

import numpy as np

import test_command
from test_command import limit_memory

WORDS = "Gr\u00fc\u00dfe, \u6f22\u5b57 \U0001f600"
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind, data, checksum=0):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data) ^ checksum)


def png(pixels, colour, bits=8, size=None, extra=b"", data=None):
    """A PNG of [H, W, bytes of a pixel], of PNG's colour type, with a header that may say another size."""
    height, width = pixels.shape[:2] if size is None else size
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)) + extra + \
        chunk(b"IDAT", zlib.compress(rows) if data is None else data) + chunk(b"IEND", b"")


def read_png(data):
    """The pixels of an RGB picture of 8 bits, as any libpng writes them."""
    place, found = len(SIGNATURE), {}
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        found[kind] = found.get(kind, b"") + data[place + 8:place + 8 + length]
        place += length + 12
    width, height, bits, colour = struct.unpack(">IIBB", found[b"IHDR"][:10])
    assert (bits, colour) == (8, 2)
    lines = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    out = np.zeros((height + 1, 3 * width + 3), np.int64)
    for y in range(height):
        for x in range(3 * width):
            left, up, corner = out[y + 1, x], out[y, x + 3], out[y, x]
            paeth = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))
            add = (0, left, up, (left + up) // 2, paeth[2])[lines[y, 0]]
            out[y + 1, x + 3] = (lines[y, 1 + x] + add) % 256
    return out[1:, 3:].reshape(height, width, 3)


def tiles_of(array, tile, step, pad=None):
    """By slices; [N, tile... , C] flattened."""
    array = array if array.ndim > len(tile) else array[..., None]
    if pad is not None:
        array = np.pad(array, [(0, t) for t in tile] + [(0, 0)], constant_values=pad)
    counts = []
    for size, t, s in zip(array.shape, tile, step):
        real = size - t if pad is not None else size
        count = 0
        for start in range(0, real, s):
            if pad is None and start + t > real or pad is not None and count and start - s + t >= real:
                break
            count += 1
        counts.append(count)
    return np.array([array[tuple(slice(i * s, i * s + t) for i, s, t in zip(place, step, tile))].ravel()
                     for place in np.ndindex(*counts)], np.float32)


class GlimpseTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.random = np.random.default_rng(1)
        self.pixels = self.random.integers(0, 256, (13, 18, 3), np.uint8)
        (self.folder / "p.png").write_bytes(png(self.pixels, 2))
        (self.folder / "words.txt").write_bytes(WORDS.encode())
        self.samples = self.random.integers(-32768, 32768, (1000, 2)).astype("<i2")
        self.write_sound("s.wav", self.samples)

    def write_sound(self, name, samples):
        with wave.open(str(self.folder / name), "wb") as file:
            file.setparams((samples.shape[1], 2, 16000, 0, "NONE", ""))
            file.writeframes(samples.tobytes())

    def call(self, *words, **options):
        return subprocess.run([test_command.ATTNZOO, "glimpse", *words], cwd=self.folder, timeout=120,
                              capture_output=True, **options)

    def make(self, *words, **options):
        done = self.call(*words, "--output", "out.npy", **options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), words)
        made = np.load(self.folder / "out.npy")
        self.assertEqual(made.dtype, np.float32)
        return made

    def check_fails(self, status, part, *words, output="old.npy", **options):
        """One line, and neither the old output nor anything else is touched."""
        (self.folder / output).write_text("old")
        before = sorted(os.listdir(self.folder))
        done = self.call(*words, "--output", output, **options)
        said = done.stderr.decode(errors="replace")
        self.assertEqual((done.returncode, done.stdout), (status, b""), said)
        self.assertRegex(said, r"\Aattnzoo: [^\n]+\n\Z")
        self.assertIn(part, said)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertEqual((self.folder / output).read_text(), "old")


class TestText(GlimpseTest):
    def test_one_hot(self):
        alphabet = "".join(sorted(set(WORDS)))
        made = self.make("text", "words.txt", "--alphabet", alphabet)
        np.testing.assert_array_equal(made, np.eye(len(alphabet), dtype=np.float32)[[alphabet.index(c) for c in WORDS]])

    def test_other_letters(self):
        self.check_fails(1, "words.txt: text has the letter U+0072 at byte 1", "text", "words.txt", "--alphabet", "G")
        zero = self.make("text", "words.txt", "--alphabet", "G", "--other", "zero")
        np.testing.assert_array_equal(zero, np.array([[c == "G"] for c in WORDS], np.float32))
        index = self.make("text", "words.txt", "--alphabet=G", "--other=3")
        self.assertEqual(index.shape, (len(WORDS), 4))
        self.assertEqual(index.argmax(1).tolist(), [0] + [3] * (len(WORDS) - 1))

    def test_table(self):
        table = self.random.standard_normal((3, 5)).astype(np.float16)
        np.save(self.folder / "table.npy", table)
        (self.folder / "words.txt").write_text("abcx")
        made = self.make("text", "words.txt", "--alphabet", "cab", "--other", "zero", "--table", "table.npy")
        np.testing.assert_array_equal(made, np.vstack([table[[1, 2, 0]], np.zeros((1, 5))]).astype(np.float32))
        self.check_fails(1, "table.npy: indices has 3 for glimpse 3", "text", "words.txt", "--alphabet", "cab", "--other",
                         "3", "--table", "table.npy")
        np.save(self.folder / "flat.npy", table[0])
        self.check_fails(1, "flat.npy: has shape [5]", "text", "words.txt", "--alphabet", "cab", "--table", "flat.npy")
        self.check_fails(1, "none.npy: No such file", "text", "words.txt", "--alphabet", "c", "--table", "none.npy")

    def test_ends_of_files(self):
        for content, letters in (("", 0), ("\n", 0), ("\r\n", 0), ("ab\n", 2), ("ab\r\n", 2), ("ab\n\n", 3), ("\ufeffab", 2),
                                 ("\ufeff\n", 0), ("a\r", 2), ("\ufeff", 0), ("a\0b", 3)):
            (self.folder / "words.txt").write_bytes(content.encode())
            made = self.make("text", "words.txt", "--alphabet", "ab", "--other", "zero")
            self.assertEqual(made.shape, (letters, 2), repr(content))

    def test_pipe(self):
        text = "ab" * 100000
        made = self.make("text", "/dev/stdin", "--alphabet", "ab", input=text.encode())
        self.assertEqual(made[:, 1].tolist(), [0, 1] * 100000)

    def test_not_utf8(self):
        for content, offset in ((b"\xff", 0), (b"abc\xe9", 3), (b"\xef\xbb\xbfa\xc0\x80", 4), (b"ab\xed\xa0\x80", 2),
                                (WORDS.encode()[:-1], len(WORDS.encode()) - 4)):
            (self.folder / "words.txt").write_bytes(content)
            self.check_fails(1, f"words.txt: text is not UTF-8 at byte {offset}:", "text", "words.txt", "--alphabet", "ab")
        self.check_fails(2, "alphabet is not UTF-8 at byte 1", "text", "words.txt", "--alphabet", b"a\xff")
        self.check_fails(2, "alphabet has the letter U+0061 twice", "text", "words.txt", "--alphabet", "aba")


class TestImage(GlimpseTest):
    def test_tiles(self):
        values = self.pixels.astype(np.float32) / np.float32(255)
        for tile, step in (((4, 4), (4, 4)), ((13, 18), (1, 1)), ((5, 2), (2, 7)), ((1, 1), (3, 3))):
            words = ["image", "p.png", "--tile", "%d,%d" % tile, "--step", "%d,%d" % step]
            np.testing.assert_array_equal(self.make(*words), tiles_of(values, tile, step))
            np.testing.assert_array_equal(self.make(*words, "--edge", "pad", "--padding", "-1.5"),
                                          tiles_of(values, tile, step, pad=-1.5))
        np.testing.assert_array_equal(self.make("image", "p.png", "--tile", "4,6"), tiles_of(values, (4, 6), (4, 6)))

    def test_kinds_of_pictures(self):
        grey = self.pixels[..., :1]
        (self.folder / "g.png").write_bytes(png(grey, 0))
        whole = ("--tile", "13,18")
        wanted = (grey.astype(np.float32) / np.float32(255)).reshape(1, -1)
        np.testing.assert_array_equal(self.make("image", "g.png", *whole, "--grey"), wanted)
        np.testing.assert_array_equal(self.make("image", "g.png", *whole), np.repeat(wanted, 3, axis=1))
        (self.folder / "bits.png").write_bytes(png(np.array([[[0b10100000]]], np.uint8), 0, bits=1, size=(1, 4)))
        self.assertEqual(self.make("image", "bits.png", "--tile", "1,4", "--grey").tolist(), [[1, 0, 1, 0]])
        colours = chunk(b"PLTE", bytes([255, 0, 0, 0, 0, 255]))
        (self.folder / "palette.png").write_bytes(png(np.array([[[1], [0]]], np.uint8), 3, extra=colours))
        self.assertEqual(self.make("image", "palette.png", "--tile", "1,1").tolist(), [[0, 0, 1], [1, 0, 0]])
        wide = self.pixels.astype(">u2") * 257
        (self.folder / "wide.png").write_bytes(png(wide, 2, bits=16))
        self.assertLessEqual(abs(self.make("image", "wide.png", *whole) - self.make("image", "p.png", *whole)).max(), 1 / 255)

    def test_what_is_transparent_lies_on_white(self):
        pixels = np.array([[[10, 20, 30, 0], [10, 20, 30, 255]]], np.uint8)
        (self.folder / "alpha.png").write_bytes(png(pixels, 6))
        made = self.make("image", "alpha.png", "--tile", "1,1")
        np.testing.assert_array_equal(made, np.array([[255] * 3, [10, 20, 30]], np.float32) / np.float32(255))

    def test_odd_chunks_are_nobodys_business(self):
        """libpng by itself would warn on standard error."""
        for extra in (chunk(b"tEXt", b"a\0b", checksum=1), chunk(b"gAMA", bytes(4)), chunk(b"xxxx", b"")):
            (self.folder / "odd.png").write_bytes(png(self.pixels, 2, extra=extra))
            self.assertEqual(self.make("image", "odd.png", "--tile", "4,4").shape, (12, 48))

    def test_truncated(self):
        whole = (self.folder / "p.png").read_bytes()
        for length in (0, 1, 7, 8, 20, 32, 33, 40, 60, len(whole) // 2, len(whole) - 17):
            (self.folder / "cut.png").write_bytes(whole[:length])
            self.check_fails(1, "cut.png: ", "image", "cut.png", "--tile", "4,4")

    def test_every_byte_changed(self):
        """Whatever comes of it, it is a result or one line."""
        whole = png(self.pixels[:3, :3], 2)
        for place in range(len(whole)):
            (self.folder / "odd.png").write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1:])
            done = self.call("image", "odd.png", "--tile", "1,1", "--output", "out.npy", **limit_memory())
            self.assertIn(done.returncode, (0, 1))
            self.assertRegex(done.stderr.decode(), r"\A(attnzoo: odd.png: [^\n]+\n)?\Z")

    def test_headers_that_lie(self):
        for size, part in (((0, 5), "no sound PNG"), ((1 << 31, 1), "no sound PNG"), ((900000, 900000), "the file is too short"),
                           ((30000, 30000), "the file is too short"), ((13, 19), "no sound PNG")):
            (self.folder / "lie.png").write_bytes(png(self.pixels, 2, size=size))
            self.check_fails(1, f"lie.png: {part}", "image", "lie.png", "--tile", "4,4", **limit_memory())
        (self.folder / "lie.png").write_bytes(png(self.pixels, 2, data=zlib.compress(b"")))
        self.check_fails(1, "lie.png: no sound PNG", "image", "lie.png", "--tile", "4,4")

    def test_huge_tiles(self):
        most = str(2**63 - 1)
        self.check_fails(1, "p.png: no tile of", "image", "p.png", "--tile", f"{most},{most}")
        self.check_fails(1, "p.png: the tiles are too large", "image", "p.png", "--tile", f"{most},{most}", "--edge", "pad")
        # A sanitizer has its own words where memory is refused.
        if limit_memory():
            self.check_fails(1, "p.png: not enough memory", "image", "p.png", "--tile", "100000,1000000", "--edge", "pad",
                             **limit_memory())
        self.check_fails(2, "--tile 9223372036854775808,1: must be", "image", "p.png", "--tile", "9223372036854775808,1")
        made = self.make("image", "p.png", "--tile", "2,2", "--step", f"{most},{most}")
        self.assertEqual(made.shape, (1, 12))

    def test_other_files(self):
        for name, part in (("words.txt", "no sound PNG"), ("s.wav", "no sound PNG"), (".", "Is a directory"),
                           ("none.png", "No such file")):
            self.check_fails(1, f"{name}: {part}", "image", name, "--tile", "4,4")


class TestAudio(GlimpseTest):
    def test_windows(self):
        values = self.samples.astype(np.float32) / np.float32(32768)
        for window, hop in ((400, 160), (1, 1), (1000, 3), (7, 100)):
            words = ["audio", "s.wav", "--window", str(window), "--hop", str(hop)]
            np.testing.assert_array_equal(self.make(*words), tiles_of(values, (window,), (hop,)))
            np.testing.assert_array_equal(self.make(*words, "--edge=pad"), tiles_of(values, (window,), (hop,), pad=0))
        mean = values.astype(np.float64).mean(1).astype(np.float32)
        np.testing.assert_array_equal(self.make("audio", "s.wav", "--window", "50", "--mono"), tiles_of(mean, (50,), (50,)))

    def test_headers_that_lie(self):
        """What is there is read, whatever is promised; nothing is made up, and no memory is taken for it."""
        whole = (self.folder / "s.wav").read_bytes()
        for size in (0xffffffff, 0x7fffffff, 0xfffffff0):
            (self.folder / "lie.wav").write_bytes(whole[:40] + struct.pack("<I", size) + whole[44:])
            done = self.call("audio", "lie.wav", "--window", "10", "--output", "out.npy", **limit_memory())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(np.load(self.folder / "out.npy").shape, (100, 20))
        (self.folder / "lie.wav").write_bytes(whole[:22] + struct.pack("<H", 0) + whole[24:])
        self.check_fails(1, "lie.wav: ", "audio", "lie.wav", "--window", "10")
        (self.folder / "lie.wav").write_bytes(whole[:22] + struct.pack("<H", 65535) + whole[24:])
        self.check_fails(1, "lie.wav: ", "audio", "lie.wav", "--window", "10", **limit_memory())

    def test_every_byte_of_the_header_changed(self):
        whole = (self.folder / "s.wav").read_bytes()[:144]
        for place in range(44):
            for change in (0x41, 0xff):
                (self.folder / "odd.wav").write_bytes(
                    whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1:])
                done = self.call("audio", "odd.wav", "--window", "1", "--output", "out.npy", **limit_memory())
                self.assertIn(done.returncode, (0, 1))
                self.assertRegex(done.stderr.decode(), r"\A(attnzoo: odd.wav: [^\n]+\n)?\Z")

    def test_truncated(self):
        whole = (self.folder / "s.wav").read_bytes()
        for length in (0, 4, 11, 20, 35, 43, 44):
            (self.folder / "cut.wav").write_bytes(whole[:length])
            self.check_fails(1, "cut.wav: ", "audio", "cut.wav", "--window", "4")

    def test_other_files(self):
        self.check_fails(1, "p.png: no sound that can be read", "audio", "p.png", "--window", "4")
        self.check_fails(1, ".: Is a directory", "audio", ".", "--window", "4")
        self.check_fails(1, "none.wav: No such file", "audio", "none.wav", "--window", "4")
        self.check_fails(1, "s.wav: no window of 1001 fits in 1000 samples; --edge pad", "audio", "s.wav", "--window",
                         "1001")
        self.write_sound("empty.wav", self.samples[:0])
        self.check_fails(1, "empty.wav: no window of 1 fits in 0 samples", "audio", "empty.wav", "--window", "1",
                         "--edge", "pad")


class TestDraw(GlimpseTest):
    def draw(self, attention, *words):
        np.save(self.folder / "attention.npy", attention)
        done = self.call("draw", "p.png", "--attention", "attention.npy", "--output", "drawn.png", *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        return read_png((self.folder / "drawn.png").read_bytes())

    def wanted(self, weights):
        """[H, W] weights over the picture: three fifths of the colour, two of the grey behind it."""
        grey = self.pixels @ np.array([0.2126, 0.7152, 0.0722])
        low, high = np.array([0x44, 0x01, 0x54]), np.array([0xfd, 0xe7, 0x25])
        colour = np.where((weights > 0)[..., None], high, low)
        return 0.6 * colour + 0.4 * grey[..., None]

    def check_drawn(self, drawn, weights):
        self.assertLessEqual(abs(drawn - self.wanted(weights)).max(), 0.51)

    def test_weights_lie_where_their_tiles_do(self):
        """Weights that are none or the highest, whose colours are the ends of the scale."""
        tile = 3 * 6 + 4  # of rows of 4 by 6 with tiles of 3 x 3
        attention = np.zeros(24, np.float32)
        attention[tile] = 0.25
        weights = np.zeros((13, 18))
        weights[9:12, 12:15] = 1
        self.check_drawn(self.draw(attention, "--tile", "3,3"), weights)
        # Padded, there is a fifth row of one line, which is all that is seen of it.
        attention = np.zeros(30, np.float32)
        attention[25] = 7
        weights[:] = 0
        weights[12:, 3:6] = 1
        self.check_drawn(self.draw(attention, "--tile", "3,3", "--edge", "pad"), weights)
        # Far apart: what no tile covers has no weight.
        weights[:] = 0
        weights[::4, ::6] = 1
        self.check_drawn(self.draw(np.ones(12, np.float32), "--tile", "1,1", "--step", "4,6"), weights)

    def test_queries_and_heads(self):
        attention = np.zeros((2, 3, 4, 24), np.float16)
        attention[:, 1, 2, 7] = 1
        attention[:, 2, 2, 8] = 1
        places = lambda *tiles: np.kron(np.isin(np.arange(24).reshape(4, 6), tiles), np.ones((3, 3)))
        def whole(*tiles):
            weights = np.zeros((13, 18))
            weights[:12] = places(*tiles)
            return weights
        words = ("--tile", "3,3")
        self.check_drawn(self.draw(attention, *words, "--query", "2", "--head", "1"), whole(7))
        self.check_drawn(self.draw(attention, *words, "--head", "2"), whole(8))
        self.check_drawn(self.draw(attention, *words), whole(7, 8))
        self.check_drawn(self.draw(attention[0, 1], *words, "--query=2"), whole(7))
        self.check_drawn(self.draw(attention[0, 1], *words, "--query=0"), whole())
        self.check_drawn(self.draw(attention[:, :, :0], *words), whole())

    def test_nan_is_seen(self):
        attention = np.ones(24, np.float32)
        attention[0] = np.nan
        drawn = self.draw(attention, "--tile", "3,3")
        grey = self.pixels[0, 0] @ np.array([0.2126, 0.7152, 0.0722])
        self.assertLessEqual(abs(drawn[0, 0] - (0.6 * np.array([0xe6, 0x19, 0x4b]) + 0.4 * grey)).max(), 0.51)

    def test_what_does_not_fit(self):
        np.save(self.folder / "a.npy", np.ones((2, 5, 24), np.float32))
        draw = lambda *words: ("draw", "p.png", "--attention", *words)
        for status, part, words in (
                (1, "a.npy: has shape [2, 5, 24], but p.png has 12 tiles", draw("a.npy", "--tile", "4,4")),
                (1, "none.npy: No such file", draw("none.npy", "--tile", "4,4")),
                (2, "--query 5: the attention has 5, counted from 0", draw("a.npy", "--tile", "3,3", "--query", "5")),
                (2, "--head 2: the attention has 2, counted from 0", draw("a.npy", "--tile", "3,3", "--head", "2")),
                (1, "p.png: no tile of 14 x 3 fits", draw("a.npy", "--tile", "14,3"))):
            self.check_fails(status, part, *words, output="old.png")
        np.save(self.folder / "a.npy", np.ones(24, np.float32))
        self.check_fails(2, "--query 0: the attention has no such axis", *draw("a.npy", "--tile", "3,3", "--query", "0"),
                         output="old.png")
        np.save(self.folder / "a.npy", np.ones(24, np.int64))
        self.check_fails(1, "a.npy: ", *draw("a.npy", "--tile", "3,3"), output="old.png")
        np.save(self.folder / "a.npy", np.ones((1, 1, 1, 1, 24), np.float32))
        self.check_fails(1, "must have 1 to 4 axes", *draw("a.npy", "--tile", "3,3"), output="old.png")


class TestCommandLine(GlimpseTest):
    def test_usage_errors(self):
        for part, *words in (
                ("glimpse: say what of",), ("imag: no such kind; did you mean image?", "imag", "p.png"),
                ("nope: no such kind; there are", "nope"), ("glimpse image: say which file", "image"),
                ("--tile is missing", "image", "p.png"), ("--window is missing", "audio", "s.wav"),
                ("--alphabet is missing", "text", "words.txt"), ("--attention is missing", "draw", "p.png", "--tile", "1,1"),
                ("--grey: glimpse audio does not take it", "audio", "s.wav", "--window", "3", "--grey"),
                ("--tiles: no such option; did you mean --tile?", "image", "p.png", "--tiles", "3"),
                ("--tile 3: must be H,W", "image", "p.png", "--tile", "3"),
                ("--tile 0,3: must be", "image", "p.png", "--tile", "0,3"),
                ("--tile 3,-3: must be", "image", "p.png", "--tile", "3,-3"),
                ("--step 3,3x: must be", "image", "p.png", "--tile", "3,3", "--step", "3,3x"),
                ("--window 3,3: must be a whole number", "audio", "s.wav", "--window", "3,3"),
                ("--hop 0: must be a whole number", "audio", "s.wav", "--window", "3", "--hop", "0"),
                ("--edge wrap: must be drop or pad", "image", "p.png", "--tile", "3,3", "--edge", "wrap"),
                ("--padding needs --edge pad", "image", "p.png", "--tile", "3,3", "--padding", "1"),
                ("--padding nan: must be a number", "image", "p.png", "--tile=3,3", "--edge=pad", "--padding=nan"),
                ("--padding 1e99: must be a number", "image", "p.png", "--tile=3,3", "--edge=pad", "--padding=1e99"),
                ("--other x: must be refuse, zero", "text", "words.txt", "--alphabet", "a", "--other", "x"),
                ("--query -1: must be a whole number", "draw", "p.png", "--tile=3,3", "--attention=a.npy", "--query=-1"),
                ("--tile: its value is missing", "image", "p.png", "--tile"),
                ("--grey: takes no value", "image", "p.png", "--tile", "3,3", "--grey=1"),
                ("x: not expected", "image", "p.png", "x")):
            with self.subTest(part):
                self.check_fails(2, part, *words)

    def test_missing_output(self):
        done = self.call("image", "p.png", "--tile", "3,3")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"--output is missing", done.stderr)

    def test_outputs_take_the_place_of_no_input(self):
        before = (self.folder / "p.png").read_bytes()
        os.symlink("p.png", self.folder / "link")
        np.save(self.folder / "a.npy", np.ones(24, np.float32))
        for name in ("p.png", "link"):
            done = self.call("draw", "p.png", "--tile", "3,3", "--attention", "a.npy", "--output", name)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"which is read", done.stderr)
        self.assertEqual((self.folder / "p.png").read_bytes(), before)
        self.check_fails(2, "a name that ends in .png says so", "draw", "p.png", "--tile=3,3", "--attention=a.npy")
        self.check_fails(2, "a name that ends in .npy says so", "image", "p.png", "--tile=3,3", output="x.png")

    def test_places_that_cannot_be_written(self):
        np.save(self.folder / "a.npy", np.ones(24, np.float32))
        for words in (("image", "p.png", "--tile", "3,3"), ("draw", "p.png", "--tile", "3,3", "--attention", "a.npy")):
            for name in ("/dev/full", "none/x", "."):
                done = self.call(*words, "--output", name)
                self.assertEqual((done.returncode, done.stdout), (1, b""), name)
                self.assertRegex(done.stderr.decode(), rf"\Aattnzoo: {name}: [^\n]+\n\Z")

    def test_minus_signs(self):
        """In a value, and in a file's name behind the end of the options."""
        (self.folder / "-x").write_bytes(b"-")
        done = self.call("text", "--alphabet", "-", "--output", "out.npy", "--", "-x")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(np.load(self.folder / "out.npy").tolist(), [[1]])


if __name__ == "__main__":
    test_command.ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
