"""Convolutions and pooling with random arguments: found, and their texts agree with torch."""

import json
import unittest

from discovered import Discovered

MODEL = """
import random

import torch
import torch.nn.functional as F
from torch import nn

CONVS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
POOLS = ((F.max_pool1d, F.avg_pool1d), (F.max_pool2d, F.avg_pool2d), (F.max_pool3d, F.avg_pool3d))
SIZES = (23, 14, 9)


class Layer(nn.Module):
    # One random operator over one to three dimensions, with a little before and after it.
    def __init__(self, draw):
        super().__init__()
        self.rank = draw.choice((1, 2, 2, 3))
        self.channels = draw.choice((1, 3, 8))
        self.last = draw.random() < 0.4 and self.rank > 1
        kernel = [draw.choice((1, 2, 3)) for _ in range(self.rank)]
        stride = [draw.choice((1, 1, 2, 3)) for _ in range(self.rank)]
        self.kind = draw.choice(("dense", "dense", "depthwise", "max", "average"))
        if self.kind in ("dense", "depthwise"):
            depthwise = self.kind == "depthwise"
            self.convolution = CONVS[self.rank - 1](
                self.channels,
                self.channels if depthwise else draw.choice((1, 4, 16)),
                kernel,
                stride=stride,
                padding=[draw.choice((0, 1, 2)) for _ in range(self.rank)],
                dilation=[draw.choice((1, 1, 2)) for _ in range(self.rank)],
                groups=self.channels if depthwise else 1,
                bias=draw.random() < 0.7,
            )
        else:
            pads = [draw.randrange(k // 2 + 1) for k in kernel]
            function = POOLS[self.rank - 1][self.kind == "average"]
            rounds_up = draw.random() < 0.3 and self.kind == "max"
            self.pool = lambda x: function(x, kernel, stride, pads, ceil_mode=rounds_up)

    def shape(self):
        return (2, self.channels, *(size - 2 * self.rank for size in SIZES[: self.rank]))

    def forward(self, x):
        if self.last:
            form = torch.channels_last if self.rank == 2 else torch.channels_last_3d
            x = x.contiguous(memory_format=form)
        if hasattr(self, "pool"):
            return self.pool(x * 2 + 1)
        return torch.relu(self.convolution(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        draw = random.Random(SEED)
        torch.manual_seed(SEED)
        self.layers = nn.ModuleList(Layer(draw) for _ in range(COUNT))

    def forward(self, *xs):
        return [layer(x) for layer, x in zip(self.layers, xs)]


def get_inputs():
    return [torch.randn(layer.shape()) for layer in Model().layers]


def get_init_inputs():
    return []
"""

COUNT = 48


class Convolutions(Discovered):
    def check_all(self, seed, model, *options):
        text = model.replace("SEED", str(seed)).replace("COUNT", str(COUNT))
        (self.folder / f"layers{seed}.py").write_text(text)
        name = f"run{seed}"
        self.fact("trace", f"layers{seed}.py", *options, "-o", f"{name}.pt2")
        self.fact("discover", f"{name}.pt2", "-o", name)
        found = json.loads((self.folder / name / "discovery.json").read_text())
        kinds = {"conv": 0, "depthwise": 0, "max_pool": 0, "avg_pool": 0}
        for pattern in found["patterns"]:
            for kind in kinds:
                kinds[kind] += kind in pattern["id"]
            with self.subTest(pattern=pattern["id"]):
                call = self.folder / name / "calls" / f"{pattern['id']}.json"
                self.check(call, pattern, weights=str(self.folder / f"{name}.pt2"))
        self.assertTrue(all(kinds.values()), kinds)
        left = {
            item["reason"]
            for item in found["left_alone"]
            if "pool" in item["target"] or "conv" in item["target"]
        }
        self.assertLessEqual(left, {"its windows go over a part of a dimension, or only one fits"})

    def test_every_text_agrees_with_torch(self):
        self.check_all(1, MODEL)

    def test_bf16(self):
        # Torch has no average over three dimensions in bf16 on the CPU.
        self.check_all(2, MODEL.replace("F.avg_pool3d", "F.max_pool3d"), "--dtype", "bf16")


if __name__ == "__main__":
    unittest.main()
