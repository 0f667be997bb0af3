#!/usr/bin/env python3
"""Composes the capture cases/captures/decoder.json: one step of generation of a LLaMA-like model with a paged cache.

    scripts/capture_decoder.py [--out FILE] [--dtype float16] [--batch 8] [--cached 1024]

Each of the sequences has `cached` tokens in its pages, which lie in the cache in an order of their own; the step reads
the next token's embedding, stores its key and value, attends to all of them, and chooses the token after it. PyTorch
has no such functions, so the calls are written down here instead of being recorded.
"""
import argparse
import math
import pathlib

from capture.standard import functions
from capture.text import replace_file, to_text
import schema_rows

CAPTURES = pathlib.Path(__file__).resolve().parent.parent / "cases" / "captures"
BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "int32": 4, "int64": 8}
LAYERS, HIDDEN, HEADS, KEY_HEADS, HEAD, INNER, VOCABULARY, PAGE = 2, 1024, 16, 4, 64, 2816, 4096, 128
EPS = 1e-6


def normal(std):
    return {"kind": "normal", "mean": 0.0, "std": std}


def uniform(low, high):
    return {"kind": "uniform", "low": low, "high": high}


def dense(shape):
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return strides


class Composer:
    """The storages, tensors and calls, in the order in which they are made."""

    def __init__(self, dtype):
        self.dtype = dtype  # of tensors without another
        self.storages, self.tensors, self.calls, self.layer = {}, {}, [], ""

    def tensor(self, *shape, dtype=None, fill=None, label=None):
        """A tensor of a storage of its own."""
        dtype = dtype or self.dtype
        if fill:
            fill = {"kind": fill["kind"], "dtype": dtype, **fill}
        storage = f"s{len(self.storages)}"
        self.storages[storage] = {"nbytes": math.prod(shape) * BYTES[dtype], **({"fill": fill} if fill else {})}
        return self.add_tensor(storage, dtype, shape, dense(shape), 0, label)

    def view(self, tensor, *shape, strides=None, offset=0):
        base = self.tensors[tensor]
        return self.add_tensor(base["storage"], base["dtype"], shape, strides or dense(shape), offset)

    def add_tensor(self, storage, dtype, shape, strides, offset, label=None):
        name = f"t{len(self.tensors)}"
        self.tensors[name] = {"storage": storage, "dtype": dtype, "shape": list(shape), "strides": list(strides),
                              "offset": offset, **({"label": label} if label else {})}
        return name

    def weight(self, name, *shape, std=None):
        return self.tensor(*shape, fill=normal(std or round(1 / math.sqrt(shape[-1]), 6)), label=f"{self.layer}.{name}" if self.layer else name)

    def call(self, function, **args):
        """An argument that is left out is absent."""
        call = {"overload": schema_rows.rows()[function].op, "phase": "forward", "forward_id": len(self.calls)}
        if self.layer:
            call["layer"] = self.layer
        names = [parameter.name for parameter in functions()[function]]
        unknown = set(args) - set(names)
        assert not unknown, f"{function} has no {unknown}"
        self.calls.append({**call, "function": function, "args": {name: args.get(name) for name in names}})


def number(value, dtype):
    return {"dtype": dtype, "value": value}


class Decoder:
    def __init__(self, dtype, batch, cached):
        self.c, self.batch, self.cached = Composer(dtype), batch, cached
        self.pages = cached // PAGE + 1  # of each sequence, with the next token

    def map(self, function, x, *shape, dtype=None, **args):
        out = self.c.tensor(*shape, dtype=dtype)
        self.c.call(function, out=out, input=x, **args)
        return out

    def linear(self, x, name, inputs, outputs):
        return self.map("diopiLinear", x, self.batch, outputs, weight=self.c.weight(name, outputs, inputs))

    def norm(self, x, name):
        weight = self.c.tensor(HIDDEN, fill=uniform(0.5, 1.5), label=f"{self.c.layer}.{name}")
        return self.map("diopiRMSNorm", x, self.batch, HIDDEN, inv_rms=self.c.tensor(self.batch, 1),
                        normalized_shape=[HIDDEN], weight=weight, eps=EPS)

    def place_pages(self):
        """The page table, in which the pages of all sequences alternate from the last to the first, and the slot of the
        next token's key and value."""
        count = self.batch * self.pages
        table = self.c.tensor(count, dtype="int32")
        self.c.call("diopiArange", out=table, start=number(count - 1, "int64"), end=number(-1, "int64"),
                    step=number(-1, "int64"))
        self.table = self.c.view(table, self.batch, self.pages, strides=[1, self.batch])
        last = self.c.view(table, self.batch, offset=self.batch * (self.pages - 1))
        first_slot = self.map("diopiMulScalar", last, self.batch, dtype="int32", other=number(PAGE, "int64"))
        self.slot = self.map("diopiAddScalar", first_slot, self.batch, dtype="int32",
                             other=number(self.cached % PAGE, "int64"), alpha=number(1, "int64"))

    def rotate_by(self):
        """cos and sin of the angles of the next token, which the recipe draws."""
        angles = self.c.tensor(self.batch, 1, HEAD // 2, dtype="float32",
                               fill=uniform(0.0, float(self.cached)))
        wide = [self.map(f"diopi{name}", angles, self.batch, 1, HEAD // 2, dtype="float32") for name in ("Cos", "Sin")]
        self.cos, self.sin = (self.map("diopiCastDtype", x, self.batch, 1, HEAD // 2) for x in wide)

    def rotated(self, x, heads):
        shape = (1, self.batch, heads, HEAD)
        out = self.c.tensor(*shape)
        self.c.call("diopiRotaryEmbedding", out=out, x=self.c.view(x, *shape), cos=self.cos, sin=self.sin, conj=False,
                    interleaved=False)
        return out

    def cache(self, name, new):
        """The cache of a layer's keys or values, after the new ones are stored."""
        slots = self.batch * self.pages * PAGE
        cache = self.c.tensor(slots, KEY_HEADS, HEAD, fill=normal(1.0), label=f"{self.c.layer}.{name}")
        self.c.call("diopiDestIndexCopyKV", out=cache, k=self.c.view(new, self.batch, KEY_HEADS, HEAD),
                    dest_loc=self.slot)
        return self.c.view(cache, slots, KEY_HEADS * HEAD)

    def attention(self, x):
        q = self.rotated(self.linear(x, "wq", HIDDEN, HEADS * HEAD), HEADS)
        k = self.rotated(self.linear(x, "wk", HIDDEN, KEY_HEADS * HEAD), KEY_HEADS)
        v = self.linear(x, "wv", HIDDEN, KEY_HEADS * HEAD)
        out = self.c.tensor(self.batch, HIDDEN)
        self.c.call("diopiPagedAttention", out=out, q=self.c.view(q, self.batch, HIDDEN), k=self.cache("keys", k),
                    v=self.cache("values", v), actual_seq_lengths=[self.cached + 1] * self.batch, num_heads=HEADS,
                    num_kv_heads=KEY_HEADS, dim=HEAD, block_table=self.table, block_size=PAGE)
        return self.linear(out, "wo", HIDDEN, HIDDEN)

    def feed_forward(self, x):
        weights = {name: self.c.weight(name, *shape, std=0.03) for name, shape in
                   (("weight1", (HIDDEN, INNER)), ("weight2", (INNER, HIDDEN)), ("weight3", (HIDDEN, INNER)))}
        self.c.call("diopiFusedSiluFfnInp", inoutput=x, **weights, workspace_size=-1, fusion_level=0)
        return x

    def step(self):
        c = self.c
        self.place_pages()
        self.rotate_by()
        tokens = c.tensor(self.batch, dtype="int64", fill={"kind": "integers", "low": 0, "high": VOCABULARY})
        hidden = c.tensor(self.batch, HIDDEN)
        c.call("diopiEmbedding", out=hidden, weight=c.weight("embedding", VOCABULARY, HIDDEN, std=1.0), indices=tokens,
               padding_idx=-1, scale_grad_byfreq=False, sparse=False)
        for i in range(LAYERS):
            for part, name in ((self.attention, "attention"), (self.feed_forward, "ffn")):
                c.layer = f"layers.{i}.{name}"
                added = part(self.norm(hidden, "norm"))
                c.call("diopiAddInp", input=hidden, other=added, alpha=number(1, "int64"))
        c.layer = "head"
        logits = self.linear(self.norm(hidden, "norm"), "weight", HIDDEN, VOCABULARY)
        temperatures = c.tensor(self.batch, dtype="float32", fill=uniform(0.5, 1.5))
        c.call("diopiBatchApplyTemperaturePenaltyInp", logits=logits, temperatures=temperatures,
               batch_size=self.batch, vocab_size=VOCABULARY, vocab_size_padd=VOCABULARY)
        self.map("diopiArgmax", logits, self.batch, dtype="int64", dim=1, keepdim=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=CAPTURES / "decoder.json")
    parser.add_argument("--dtype", choices=("float16", "bfloat16", "float32"), default="float16")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--cached", type=int, default=1024)
    options = parser.parse_args()
    decoder = Decoder(options.dtype, options.batch, options.cached)
    decoder.step()
    members = {
        "diopi_capture": 1, "name": options.out.stem,
        "model": f"LLaMA-like, one step of generation: {LAYERS} blocks (RMSNorm, rotary attention of {HEADS} heads on "
                 f"{KEY_HEADS} key heads of {HEAD}, SwiGLU), dim {HIDDEN}, hidden {INNER}, vocabulary {VOCABULARY}, "
                 f"random weights, batch {options.batch}, {options.cached} cached tokens in pages of {PAGE}, {options.dtype}",
        "generator": "capture_decoder.py"}
    tables = {"storages": decoder.c.storages, "tensors": decoder.c.tensors, "calls": decoder.c.calls}
    replace_file(options.out, to_text(members, tables))


if __name__ == "__main__":
    main()
