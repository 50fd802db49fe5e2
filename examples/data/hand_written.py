"""How the scripts that write weights by hand store them."""
import json
import pathlib
import struct


def write_safetensors(path, arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        raw = array.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    # Padded, so that the numbers begin where a float may.
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
