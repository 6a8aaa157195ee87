"""What the tests need of the build, and small fused calls written by hand."""

import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

OPS = os.environ.get("FACT_OPS", str(ROOT / "build" / "release" / "torch" / "libfact_ops.so"))
WORKER = os.environ.get("FACT_WORKER", str(ROOT / "build" / "release" / "torch" / "fact-worker"))

needs_ops = unittest.skipUnless(os.path.exists(OPS), f"{OPS} is not built")
needs_worker = unittest.skipUnless(os.path.exists(WORKER), f"{WORKER} is not built")

KERNEL_TEXT = """\
kernel up(x: {dtype}[M, K], w: {dtype}[N, K], b: {dtype}[N]) -> (y: {dtype}[M, N]) {{
  acc = x @ w.T
  y = gelu_tanh(acc + b)
}}
"""


def _strides(sizes):
    strides, next_ = [], 1
    for size in reversed(sizes):
        strides.insert(0, next_)
        next_ *= size
    return strides


def tensor_type(dtype, sizes):
    return {
        "dtype": dtype,
        "sizes": sizes,
        "strides": _strides(sizes),
        "offset": 0,
        "device": "cpu",
    }


def linear_gelu_call(batch, tokens, k, n, dtype="f32"):
    """gelu_tanh(linear(x, w, b)) as a fused call."""
    values = {
        "x": [batch, tokens, k],
        "w": [n, k],
        "b": [n],
        "linear": [batch, tokens, n],
        "gelu": [batch, tokens, n],
    }
    original = {
        "format": 1,
        "values": [{"name": v, "type": tensor_type(dtype, s)} for v, s in values.items()],
        "inputs": [{"value": v, "kind": "user"} for v in ("x", "w", "b")],
        "nodes": [
            {
                "name": "linear",
                "target": "aten.linear.default",
                "inputs": [
                    {"name": "input", "value": {"value": "x"}},
                    {"name": "weight", "value": {"value": "w"}},
                    {"name": "bias", "value": {"value": "b"}},
                ],
                "outputs": ["linear"],
            },
            {
                "name": "gelu",
                "target": "aten.gelu.default",
                "inputs": [
                    {"name": "self", "value": {"value": "linear"}},
                    {"name": "approximate", "value": {"string": "tanh"}, "keyword": True},
                ],
                "outputs": ["gelu"],
            },
        ],
        "outputs": [{"value": "gelu"}],
    }
    return {
        "id": "p01_linear_gelu",
        "kernel": "up",
        "params": [
            {"tensor": "x", "value": "x", "dims": [[0, 1], [2]], "constant": False},
            {"tensor": "w", "value": "w", "dims": [[0], [1]], "constant": True},
            {"tensor": "b", "value": "b", "dims": [[0]], "constant": True},
        ],
        "results": [{"tensor": "y", "value": "gelu", "dims": [[0, 1], [2]], "constant": False}],
        "original": original,
    }
