"""Plain matrix products of awkward and easy shapes, each a factory: `examples.products:square`.

A factory returns (module, inputs). Without a GPU (or with PRODUCTS_SMALL=1) the extents shrink, but
keep what makes each case what it is.
"""

import os

import torch
from torch import nn


def _pick(full, small):
    wish = os.environ.get("PRODUCTS_SMALL")
    shrink = not torch.cuda.is_available() if wish is None else wish != "0"
    return small if shrink else full


class Product(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


class TransposedProduct(nn.Module):
    """Both operands are stored the other way round."""

    def forward(self, a, b):
        return torch.matmul(a.t(), b.t())


class BatchedTransposed(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b.transpose(1, 2))


class GradientProduct(nn.Module):
    """The product of a weight's gradient: both operands lie along the output's dimensions."""

    def forward(self, a, b):
        return torch.matmul(a.t(), b)


def _product(m, n, k):
    return Product(), [torch.randn(m, k), torch.randn(k, n)]


def square():
    side = _pick(4096, 256)
    return _product(side, side, side)


def wide():
    """A short left operand and large right one: 1024 x 8192 x 8192."""
    return _product(*_pick((1024, 8192, 8192), (64, 256, 256)))


def batched():
    batch, m, n, k = _pick((128, 512, 2048, 1024), (4, 64, 128, 96))
    return Product(), [torch.randn(batch, m, k), torch.randn(batch, k, n)]


def large_k():
    return _product(*_pick((256, 256, 524288), (64, 64, 8192)))


def transposed():
    m, n, k = _pick((2048, 4096, 8192), (128, 192, 256))
    return TransposedProduct(), [torch.randn(k, m), torch.randn(n, k)]


def gradient():
    m, n, k = _pick((2048, 4096, 8192), (128, 192, 256))
    return GradientProduct(), [torch.randn(k, m), torch.randn(k, n)]


def tailed():
    """No extent is a multiple of a tile, every pitch is one TMA can address."""
    return _product(*_pick((1000, 1032, 776), (100, 104, 72)))


# The shapes that results are compared on: M, N, K.
ANCHORS = [
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (65536, 3072, 768),
    (65536, 768, 3072),
    (65536, 2304, 768),
    (65536, 768, 768),
    (8192, 28672, 4096),
    (8192, 4096, 14336),
    (8192, 6144, 4096),
    (8192, 4096, 4096),
    (2048, 8192, 2048),
]


class Affine(nn.Module):
    """A linear layer whose weight is stored [K, N]."""

    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(k, n) * k**-0.5)
        self.bias = nn.Parameter(torch.randn(n))

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight)


def _anchors(module, batched):
    small = _pick(1, 64)
    parts = []
    for m, n, k in ANCHORS:
        m, n, k = (max(extent // small, 32) for extent in (m, n, k))
        parts.append((module(k, n), [torch.randn(m, k)]))
    return _several([*parts, batched])


def anchors_nk():
    """Weights stored [N, K], with bias; and the batched product with B stored [N, K]."""
    batch, m, n, k = _pick((128, 512, 2048, 1024), (4, 64, 128, 96))
    inputs = [torch.randn(batch, m, k), torch.randn(batch, n, k)]
    return _anchors(nn.Linear, (BatchedTransposed(), inputs))


def anchors_kn():
    """Weights stored [K, N], with bias; and the batched product with B stored [K, N]."""
    return _anchors(Affine, batched())


def gelu():
    """Linear layers with bias, each alone and with a GELU after it: what the GELU costs."""
    small = _pick(1, 64)
    parts = []
    for m, n, k in [ANCHORS[0], ANCHORS[2], ANCHORS[6], ANCHORS[10]]:
        m, n, k = (max(extent // small, 32) for extent in (m, n, k))
        parts.append((nn.Linear(k, n), [torch.randn(m, k)]))
        fused = nn.Sequential(nn.Linear(k, n), nn.GELU(approximate="tanh"))
        parts.append((fused, [torch.randn(m, k)]))
    return _several(parts)


def linear_square():
    """The square product with a weight, which is prepared once."""
    side = _pick(4096, 256)
    return nn.Linear(side, side, bias=False), [torch.randn(side, side)]


def linear_wide():
    rows, side = _pick((1024, 8192), (64, 256))
    return nn.Linear(side, side, bias=False), [torch.randn(rows, side)]


def odd():
    """Pitches of odd length: no tensor map can address them, so plain loads do."""
    return _product(*_pick((1001, 1001, 1001), (101, 101, 101)))


class Several(nn.Module):
    """Independent products in one module, so that one run covers them all."""

    def __init__(self, parts):
        super().__init__()
        self.parts = nn.ModuleList(module for module, _ in parts)
        self.counts = [len(inputs) for _, inputs in parts]

    def forward(self, *tensors):
        results, first = [], 0
        for part, count in zip(self.parts, self.counts):
            results.append(part(*tensors[first : first + count]))
            first += count
        return tuple(results)


def _several(parts):
    return Several(parts), [tensor for _, inputs in parts for tensor in inputs]


def shapes():
    """Every case of this file in one module."""
    plain = (square, wide, linear_square, linear_wide, batched, large_k)
    awkward = (transposed, gradient, tailed, odd)
    return _several([case() for case in plain + awkward])


class Scores(nn.Module):
    """q @ k^T where q and k are views of a packed projection."""

    def forward(self, packed):
        q, k, _ = packed.unbind(2)
        return q.transpose(1, 2) @ k.transpose(1, 2).transpose(-2, -1)


class Values(nn.Module):
    """Weights @ v with the heads folded back, v a view of a packed projection."""

    def forward(self, weights, packed):
        v = packed.unbind(2)[2].transpose(1, 2)
        return (weights @ v).transpose(1, 2).contiguous()


def minigpt():
    """The products of the MiniGPT block, each as torch's own call: bias, but nothing fused."""
    batch, tokens, heads, size = _pick((128, 512, 8, 96), (2, 64, 4, 32))
    width, rows = heads * size, batch * tokens
    packed = torch.randn(batch, tokens, 3, heads, size)
    weights = torch.softmax(torch.randn(batch, heads, tokens, tokens), -1)
    x, wide_x = torch.randn(rows, width), torch.randn(rows, 4 * width)
    return _several(
        [
            (nn.Linear(width, 3 * width), [x]),
            (nn.Linear(width, width), [x.clone()]),
            (nn.Linear(width, 4 * width), [x.clone()]),
            (nn.Linear(4 * width, width), [wide_x]),
            (Scores(), [packed]),
            (Values(), [weights, packed.clone()]),
        ]
    )
