#!/usr/bin/env python3
"""Writes the seeds of the corpus: small inputs of each kind that a target should know, so that no fuzzer has to guess
them. Seeds are named seed-...; every other file is an input that once found something, which this script leaves alone.

    tests/fuzz/write_corpus.py
"""
import json
import struct
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def npy(descr, shape, data, version=1, fortran="False"):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    size = 10 if version == 1 else 12
    header += " " * (-(size + len(header) + 1) % 16) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data


def floats(count):
    return struct.pack(f"<{count}f", *[index / 4 for index in range(count)])


def npy_seeds():
    yield "float32", npy("<f4", "(2, 3)", floats(6))
    yield "float32_fortran", npy("<f4", "(2, 3)", floats(6), fortran="True")
    yield "float32_big_endian", npy(">f4", "(2,)", b"\x3f\x80\x00\x00\x40\x00\x00\x00")
    yield "float32_cube_fortran_version_2", npy("<f4", "(2, 1, 2)", floats(4), version=2, fortran="True")
    yield "float16_version_3", npy("<f2", "(3,)", bytes(6), version=3)
    yield "bool", npy("|b1", "(4,)", b"\0\1\2\377")
    yield "int32", npy("<i4", "(1, 1, 1, 1, 1, 1, 1, 2)", bytes(8))
    yield "int64_big_endian", npy(">i8", "(1,)", bytes(7) + b"\1")
    yield "number", npy("<f4", "()", floats(1))
    yield "empty", npy("<f4", "(0, 9223372036854775807)", b"")
    yield "trailing", npy("<f4", "(1,)", floats(3))
    yield "too_short", npy("<f4", "(4,)", floats(3))
    yield "overflow", npy("<f4", "(4294967296, 4294967296)", floats(1))
    yield "negative", npy("<f4", "(-1,)", floats(1))
    yield "beyond_63_bits", npy("<f4", "(9223372036854775808,)", floats(1))
    yield "nine_axes", npy("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", floats(1))
    yield "float64", npy("<f8", "(1,)", bytes(8))
    yield "object", npy("|O", "(1,)", bytes(8))
    yield "structured", npy("x", "(1,)", b"").replace(b"'x'", b"[('a', '<f4')]")
    yield "archive", b"PK\x03\x04" + bytes(12)
    yield "header_longer_than_file", b"\x93NUMPY\x01\x00\xff\xff{}"
    yield "header_of_gigabytes", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}"
    yield "python_2", npy("<f4", "(2L, 1L)", floats(2))


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header, ensure_ascii=False).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors_seeds():
    yield "one", safetensors({"weight": tensor("F32", [2, 2], 0, 16)}, floats(4))
    yield "many", safetensors({"b": tensor("I64", [1], 4, 12), "a": tensor("F16", [2], 0, 4),
                               "c": tensor("BF16", [], 12, 14), "d": tensor("BOOL", [1], 14, 15),
                               "e": tensor("I32", [1], 15, 19), "f": tensor("F64", [1], 19, 27),
                               "empty": tensor("F32", [0, 3], 27, 27)}, bytes(27))
    yield "metadata", safetensors({"__metadata__": {"format": "pt"}, "x": tensor("F32", [1], 0, 4)}, floats(1))
    yield "unknown_type", safetensors({"x": tensor("F8_E4M3", [4], 0, 4)}, bytes(4))
    yield "type_of_15_letters", safetensors({"x": tensor("F" * 15, [4], 0, 4)}, bytes(4))
    yield "type_of_16_letters", safetensors({"x": tensor("F" * 16, [4], 0, 4)}, bytes(4))
    yield "names", safetensors(b'{"caf\\u00e9 \xce\xb1\\n": {"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', floats(1))
    yield "not_utf8", safetensors(b'{"\xff": {"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', floats(1))
    yield "nothing", safetensors({})
    yield "overlap", safetensors({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [1], 4, 8)}, bytes(8))
    yield "gap", safetensors({"a": tensor("F32", [1], 0, 4), "b": tensor("F32", [1], 8, 12)}, bytes(12))
    yield "trailing", safetensors({"a": tensor("F32", [1], 0, 4)}, bytes(8))
    yield "short", safetensors({"a": tensor("F32", [2], 0, 8)}, bytes(4))
    yield "swapped_offsets", safetensors({"a": tensor("F32", [1], 4, 0)}, bytes(4))
    yield "overflow", safetensors({"a": tensor("F32", [1 << 62, 1 << 62], 0, 4)}, bytes(4))
    yield "negative", safetensors({"a": tensor("F32", [-1, -1], 0, 4)}, bytes(4))
    yield "nine_axes", safetensors({"a": tensor("F32", [1] * 9, 0, 4)}, bytes(4))
    yield "twice", safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],'
                               b'"data_offsets":[0,4]}}', bytes(4))
    yield "header_beyond_file", struct.pack("<Q", 1 << 40) + b"{}"
    yield "not_an_object", safetensors(b"[1]")


RUN = "run scaled_dot_product --query query.npy --key key.npy --value value.npy --context out.npy".split()
LAYER = "--query rows.npy --key rows.npy --value rows.npy --weights weights.safetensors --context out.npy".split()


def command_seeds():
    lines = {
        "list": ["list"],
        "list_file": ["list", "weights.safetensors"],
        "describe": ["describe", "multi_head"],
        "help": ["help", "run"],
        "version": ["--version"],
        "compare": ["compare", "query.npy", "key.npy"],
        "compare_same": ["compare", "query.npy", "query.npy", "--absolute-tolerance", "1e-5"],
        "run": RUN,
        "run_masked": RUN + "--causal --window -1,2 --mask mask.npy --bias bias.npy --alibi slopes.npy".split(),
        "run_lengths": RUN + "--key-lengths lengths.npy --query-lengths lengths.npy --align lengths".split(),
        "run_segments": RUN + "--segments segments.npy --query-offset 1 --threads 2".split(),
        "run_attention": RUN + "--attention=folder/a.npy --set scale=0.5 --set softcap=3".split(),
        "run_heat_map": RUN + "--heatmap heat.png --query-labels labels.txt".split(),
        "run_past": RUN + "--past-key key.npy --past-value value.npy".split(),
        "run_over_input": RUN[:-1] + ["query.npy"],
        "run_twice_one_file": RUN + ["--attention", "out.npy"],
        "run_layer": ["run", "multi_head", *LAYER, "--set", "num_heads=2", "--rename", "pos_proj.weight="],
        "run_state": ["run", "multi_head", *LAYER, "--set=num_heads=2", "--rename=pos_proj.weight=",
                      "--state-in", "state.safetensors", "--state-out", "state.safetensors"],
        "run_relative": ["run", "relative_multi_head", *LAYER, "--position", "table.npy", "--set", "num_heads=2"],
        "run_renamed": ["run", "multi_head", *LAYER, "--rename", "query_proj.weight[1/2]=query_proj.weight",
                        "--prefix", "layers."],
        "run_parts": ["run", "multi_head", *LAYER, "--rename", "pos*=", "--rename", "out*=out*",
                      "--rename", "query_proj.weight[0:4]=query_proj.weight"],
        "run_help": ["run", "additive", "--help"],
        "run_wrong_option": [*RUN, "--casual"],
        "nothing": [],
    }
    for name, words in lines.items():
        yield name, "".join(word + "\n" for word in words).encode()
    given = RUN[:3] + ["given.npy"] + RUN[4:]
    yield "run_given", "\n".join(given).encode() + b"\n\n" + npy("<f4", "(1, 2, 2, 4)", floats(16))
    yield "list_given", b"list\ngiven.safetensors\n\n" + safetensors({"weight": tensor("F32", [2, 2], 0, 16)}, floats(4))
    yield "run_labels", "\n".join(RUN + ["--heatmap", "h.png", "--key-labels", "given.txt"]).encode() + \
        b"\n\na\n\xce\xb1\nb\n\nlong long long long long\n"
    yield "run_labels_not_utf8", "\n".join(RUN + ["--heatmap", "h.png", "--key-labels", "given.txt"]).encode() + \
        b"\n\na\n\xff\n"


def calls_seeds():
    """The first bytes start the generator, the third is the mechanism; what is missing is drawn."""
    for kind, name in enumerate(["scaled_dot_product", "multi_head", "transformer_xl", "shaw", "additive",
                                 "location_aware"]):
        for start in range(4):
            yield f"{name}_{start}", bytes([start, 0, kind])
            yield f"{name}_{start}_longer", bytes([start, 1, kind]) + bytes(
                (start * 89 + place * 151 + place * place * 7) % 256 for place in range(160 + 40 * start))


def main():
    for target, seeds in {"npy": npy_seeds, "safetensors": safetensors_seeds, "command": command_seeds,
                          "calls": calls_seeds}.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("seed-*"):
            old.unlink()
        for name, data in seeds():
            (folder / f"seed-{name}").write_bytes(data)


if __name__ == "__main__":
    main()
