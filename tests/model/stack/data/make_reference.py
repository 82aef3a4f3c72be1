#!/usr/bin/env python3
"""Makes edge_rows.safetensors beside it from the reference fixture of that name.

usage: make_reference.py FIXTURE OUTPUT

Kept: the drafter's weights, the frozen table (the target is tied), the context feature, ids, loss mask, anchors and
metadata, as they are. References are reduced: scalars and accepted lengths as they are; tensors (drafter output of step 0,
gradients, parameters after the last step) to their L2 norm and 16 projections on fixed signs, in float64. A difference of
relative size r shows in a projection as r times the norm, give or take (its standard deviation over the signs).
"""
import array
import json
import math
import struct
import sys

PROJECTIONS = 16
MASK = (1 << 64) - 1
CODES = {"F32": "f", "F64": "d", "I64": "q", "U8": "B"}
KEPT = ("in.", "drafter.", "ref.losses", "ref.accuracies", "ref.grad_norms", "ref.context_feature")
REDUCED = ("ref.drafter_hidden", "ref.grad.", "ref.param_after.")


def sign(projection, index):
    """+1 or -1 (splitmix64's last bit)."""
    x = (index * PROJECTIONS + projection + 1) * 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return 1.0 if (x ^ x >> 31) & 1 else -1.0


def reduce(values):
    norm = math.sqrt(math.fsum(v * v for v in values))
    return [norm] + [math.fsum(sign(p, i) * v for i, v in enumerate(values)) for p in range(PROJECTIONS)]


def read(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["dtype"], entry["shape"], data[8 + length + begin:8 + length + end])
    return tensors, metadata


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tensors, metadata = read(sys.argv[1])
    out = {"table": tensors["target.model.embed_tokens.weight"]}
    for name, (dtype, shape, raw) in tensors.items():
        if name.startswith(REDUCED):
            values = array.array(CODES[dtype])
            values.frombytes(raw)
            reduced = array.array("d", reduce(values))
            out[name] = ("F64", [len(reduced)], reduced.tobytes())
        elif name.startswith(KEPT):
            out[name] = (dtype, shape, raw)
    header, offset = {"__metadata__": metadata}, 0
    order = sorted(out, key=lambda name: (-struct.calcsize(CODES[out[name][0]]), name))
    for name in order:
        dtype, shape, raw = out[name]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(sys.argv[2], "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(out[name][2] for name in order))


if __name__ == "__main__":
    main()
