"""Transposed convolutions over a grid of arguments: found, and their texts agree with torch."""

import unittest

from discovered import Discovered

HEAD = """
import itertools

import torch
import torch.nn.functional as F
from torch import nn

CONVS = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def get_init_inputs():
    return []


class Many(nn.Module):
    def forward(self, *xs):
        return [layer(x) for layer, x in zip(self.layers, xs)]

"""

GRID = (
    HEAD
    + """
SIZES = ((11,), (7, 6), (5, 4, 4))


class Layer(nn.Module):
    def __init__(self, rank, kernel, stride, padding, output_padding, last, features=4, apart=1):
        super().__init__()
        self.rank, self.last = rank, last
        sizes = kernel, stride, padding, output_padding
        self.convolution = CONVS[rank - 1](3, features, *sizes, dilation=apart)

    def forward(self, x):
        if self.last:
            x = x.contiguous(memory_format=(torch.channels_last, torch.channels_last_3d)[self.rank - 2])
        return torch.relu(self.convolution(x))


def grid():
    for rank, kernel, stride in itertools.product((1, 2, 3), (2, 3, 4, 5), (1, 2, 3)):
        for padding in range(min(kernel, 3)):
            for output_padding in range(stride):
                # Every argument meets every other, if not in every rank.
                if (kernel + stride + padding + output_padding + rank) % 2 or rank == 2:
                    last = rank > 1 and (kernel + padding) % 2 == 0
                    yield rank, kernel, stride, padding, output_padding, last
    yield 2, (3, 4), (1, 2), (1, 0), (0, 1), True
    yield 2, (1, 3), (1, 2), (0, 1), 0, False
    yield 2, (2, 3), (2, 3), (0, 1), (0, 2), False
    yield 2, 3, 1, 1, 0, False, 1
    yield 2, 3, 2, 1, 0, False, 1
    # Taps that are apart.
    yield 1, 3, 2, 1, 0, False, 4, 2
    yield 1, 5, 1, 0, 0, False, 4, 3
    yield 2, 3, 5, 1, 0, False, 4, 2
    yield 2, 3, 1, 2, 0, True, 4, 3
    yield 2, (2, 3), (3, 2), 1, (1, 0), True, 4, 2
    yield 2, (1, 3), (1, 2), 0, 0, False, 4, (3, 2)
    yield 3, 3, 2, 1, 0, False, 4, 2


class Model(Many):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Layer(*arguments) for arguments in list(grid())[PART])


def get_inputs():
    return [torch.randn(2, 3, *SIZES[layer.rank - 1]) for layer in Model().layers]
"""
)

# With what often follows: further reductions, windows of the result, and operands of its shape.
CHAINS = (
    HEAD
    + """
def clamps(x, other):
    return torch.clamp(torch.clamp(x + 0.5, 0.0, 1.0) * 2.0, 0.0, 1.0) / 2.0


def normalizes(x, other):
    x = F.batch_norm(x, None, None, training=True)
    return x - torch.mean(x, dim=(2, 3, 4), keepdim=True)


CASES = (
    (2, 3, 2, 1, 1, clamps),
    (3, 3, 2, 1, 0, normalizes),
    (3, 3, 2, 1, 1, lambda x, other: torch.sigmoid(torch.softmax(x, 1))),
    (2, 4, 2, 1, 0, lambda x, other: torch.sigmoid((torch.softmax(x, 1) + 0.5) * 2)),
    (2, 3, 1, 1, 0, lambda x, other: torch.tanh(F.hardtanh(F.max_pool2d(x, 2)).mean((2, 3)))),
    (2, 3, 2, 1, 1, lambda x, other: F.max_pool2d(x, 2) * 3.0),
    (3, 3, 2, 1, 0, lambda x, other: F.max_pool3d(torch.relu(x), 3, 2)),
    (3, 3, 2, 1, 1, lambda x, other: (x + other) * F.hardswish(x + other)),
    (2, 3, 2, 1, 0, lambda x, other: torch.tanh(x - other)),
    (3, 3, 2, 1, 1, lambda x, other: torch.softmax(x.clamp(0, 1).flatten(2), 2).view_as(x) * 2),
    (3, 5, 2, 2, 1, lambda x, other: F.hardswish(torch.logsumexp(x, 1, keepdim=True))),
    (2, 3, 2, 1, 1, lambda x, other: F.group_norm(F.gelu(x), 4)),
    (1, 4, 2, 1, 0, lambda x, other: F.layer_norm(x + other, x.shape[2:])),
)


class Chain(nn.Module):
    def __init__(self, rank, kernel, stride, padding, output_padding, after):
        super().__init__()
        self.after = after
        self.convolution = CONVS[rank - 1](8, 16, kernel, stride, padding, output_padding)
        self.x = torch.randn(2, 8, *(8, 6, 5)[:rank])
        with torch.no_grad():
            self.other = torch.randn_like(self.convolution(self.x))

    def forward(self, both):
        return self.after(self.convolution(both[0]), both[1])


class Model(Many):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Chain(*case) for case in CASES)

    def forward(self, *xs):
        return super().forward(*zip(xs[::2], xs[1::2]))


def get_inputs():
    return [x for layer in Model().layers for x in (layer.x, layer.other)]
"""
)


class TransposedConvolutions(Discovered):
    def emit(self, pattern):
        """Kernels can be written for the text, with the sizes it was found with."""
        (self.folder / "emitted.fact").write_text(pattern["kernel"])
        sizes = [f"{name}={size}" for name, size in pattern["extents"].items() if name.isalnum()]
        sizes = [size for size in sizes if not size[0].isdigit()]
        self.fact("kernel", "emit", "emitted.fact", "--set", ",".join(sizes))

    def check_all(self, name, model, *options):
        (self.folder / f"{name}.py").write_text(model)
        found = self.discover(f"{name}.py", name, *options)
        for pattern in found["patterns"]:
            with self.subTest(pattern=pattern["id"]):
                self.emit(pattern)
                # Only a norm less its mean, offered without its convolution, is not compared: on rows
                # of equal numbers it cancels, and is refused.
                if pattern["convolution"] or not pattern["id"].endswith("batch_norm_mean_sub"):
                    call = self.folder / name / "calls" / f"{pattern['id']}.json"
                    self.check(call, pattern, weights=str(self.folder / f"{name}.pt2"))
        left = [item for item in found["left_alone"] if "conv" in item["target"]]
        self.assertEqual(left, [])
        return found["patterns"]

    def test_every_text_agrees_with_torch(self):
        self.check_all("grid", GRID.replace("[PART]", "[::2]"))

    def test_bf16(self):
        self.check_all("bf16", GRID.replace("[PART]", "[1::2]"), "--dtype", "bf16")

    def test_what_follows_is_taken_along(self):
        patterns = self.check_all("chains", CHAINS)
        self.assertGreater(len([p for p in patterns if len(p["nodes"]) > 1]), 8)


if __name__ == "__main__":
    unittest.main()
