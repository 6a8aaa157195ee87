"""Gated linear units as models write them: every spelling is a factory, `examples.gates:chunked`.

A factory returns (module, inputs). Each gates the columns of one input's projection by those of
another, with two weights or with one that holds both. `GATES` lists them all, `every` is a module
that runs them side by side. The extents are small; GATES_FULL=1 takes those of a model.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

FULL = os.environ.get("GATES_FULL") == "1"
BATCH, TOKENS, WIDTH, INNER = (4, 2048, 4096, 14336) if FULL else (2, 24, 64, 96)
GATES = {}


class Gate(nn.Module):
    """Both projections by one weight, gated in `gate`."""

    def __init__(self, gate, bias=False):
        super().__init__()
        self.gate = gate
        self.project = nn.Linear(WIDTH, 2 * INNER, bias=bias)

    def forward(self, x):
        return self.gate(self.project(x))


class TwoWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, INNER, bias=False), nn.Linear(WIDTH, INNER, bias=False)

    def forward(self, x):
        return F.silu(self.gate(x)) * self.up(x)


def inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH)]


def gate(**parts):
    """Registers a function that gates what the projection gives."""

    def register(function):
        def factory():
            return Gate(function, **parts), inputs()

        factory.__name__ = function.__name__
        GATES[function.__name__] = factory
        return factory

    return register


def two_weights():
    """Llama in Hugging Face's library."""
    return TwoWeights(), inputs()


GATES["two_weights"] = two_weights


@gate()
def chunked(y):
    """Phi-3 in Hugging Face's library."""
    first, up = y.chunk(2, dim=-1)
    return up * F.silu(first)


@gate(bias=True)
def split(y):
    first, up = y.split(INNER, dim=-1)
    return F.gelu(first, approximate="tanh") * up


@gate()
def sliced(y):
    return F.gelu(y[..., :INNER]) * y[..., INNER:]


@gate()
def every_other(y):
    """Gate and value are neighbours, and clamped: gpt-oss has it so, with a bias, which would lie
    apart in memory and keep the product alone."""
    first, up = y[..., ::2].clamp(max=7.0), y[..., 1::2].clamp(-7.0, 7.0)
    return (up + 1) * (first * torch.sigmoid(1.702 * first))


@gate(bias=True)
def glu(y):
    """Torch's own operator; the gate is the second half."""
    return F.glu(y)


@gate()
def read_twice(y):
    """The gate is also a result: the product stays alone."""
    first, up = y.chunk(2, dim=-1)
    return first, up * F.silu(first)


class SideBySide(nn.Module):
    """All of them, on the same input."""

    def __init__(self, modules):
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x):
        return [part(x) for part in self.children()]


def every():
    torch.manual_seed(0)
    made = {name: make() for name, make in GATES.items()}
    return SideBySide({name: module for name, (module, _) in made.items()}), inputs()


globals().update(GATES)
