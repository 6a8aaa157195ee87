"""Norms before a product as models write them: every spelling is a factory, `examples.norms:llama`.

A factory returns (module, inputs). Each normalises the rows of its input and multiplies them by a
weight: the norm is found alone, and folded into the product. `NORMS` lists them all, `every` is a
module that runs them side by side. The extents are small; NORMS_FULL=1 takes those of a model.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

FULL = os.environ.get("NORMS_FULL") == "1"
BATCH, TOKENS, WIDTH, INNER, HEAD = (4, 2048, 4096, 14336, 128) if FULL else (2, 24, 64, 96, 16)
NORMS = {}


class Normed(nn.Module):
    """`norm` of the rows by gain and shift, then `follow`, a product by `weight`."""

    def __init__(self, norm, follow):
        super().__init__()
        self.norm, self.follow = norm, follow
        self.gain, self.shift = nn.Parameter(torch.randn(WIDTH)), nn.Parameter(torch.randn(WIDTH))
        self.weight = nn.Parameter(torch.randn(INNER, WIDTH) / WIDTH**0.5)
        self.other = nn.Parameter(torch.randn(INNER, WIDTH) / WIDTH**0.5)
        self.columns = nn.Parameter(torch.randn(WIDTH, INNER) / WIDTH**0.5)
        self.bias = nn.Parameter(torch.randn(INNER))
        angles = torch.arange(TOKENS)[:, None] * 100.0 ** -torch.linspace(0, 1, HEAD // 2)
        self.register_buffer("cosine", torch.cat((angles, angles), dim=-1).cos())
        self.register_buffer("sine", torch.cat((angles, angles), dim=-1).sin())

    def forward(self, x):
        return self.follow(self, self.norm(self, x))


def inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH)]


def linear(m, rows):
    return F.linear(rows, m.weight)


def register(name, norm, follow):
    def factory():
        return Normed(norm, follow), inputs()

    factory.__name__ = name
    NORMS[name] = factory


def norm(follow=linear):
    """Registers a function that normalises rows, before `follow`."""
    return lambda function: register(function.__name__, function, follow)


def after(function):
    """Registers what is made of rows that torch's own RMSNorm normalises."""
    register(function.__name__, lambda m, x: F.rms_norm(x, (WIDTH,), m.gain, 1e-6), function)


@norm(lambda m, rows: F.gelu(F.linear(rows, m.weight, m.bias), approximate="tanh"))
def layer_norm(m, x):
    return F.layer_norm(x, (WIDTH,), m.gain, m.shift)


@norm()
def layer_norm_without_weights(m, x):
    return F.layer_norm(x, (WIDTH,))


@norm()
def layer_norm_written_out(m, x):
    centered = x - x.mean(-1, keepdim=True)
    variance = centered.pow(2).mean(-1, keepdim=True)
    return m.gain * (centered / torch.sqrt(variance + 1e-5)) + m.shift


@norm(lambda m, rows: torch.addmm(m.bias, rows.view(-1, WIDTH), m.columns))
def gpt2(m, x):
    """Hugging Face's Conv1D puts the rows together before it multiplies."""
    return F.layer_norm(x, (WIDTH,), m.gain, m.shift)


@norm()
def rms_norm(m, x):
    return F.rms_norm(x, (WIDTH,), m.gain)


@norm()
def llama(m, x):
    """Hugging Face's LlamaRMSNorm."""
    wide = x.to(torch.float32)
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return m.gain * wide.to(x.dtype)


@norm()
def gemma(m, x):
    """Hugging Face's GemmaRMSNorm: the gain is kept as its distance from one."""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return (wide * (1.0 + m.gain.float())).type_as(x)


@after
def gated(m, rows):
    """Both products of a gate read the norm."""
    return F.silu(F.linear(rows, m.weight)) * F.linear(rows, m.other)


@after
def packed_gate(m, rows):
    first, up = F.linear(rows, m.weight).chunk(2, dim=-1)
    return up * F.silu(first)


@after
def rotated(m, rows):
    """Heads that are rotated behind the product."""
    heads = F.linear(rows, m.weight).view(BATCH, TOKENS, -1, HEAD).transpose(1, 2)
    first, second = heads.chunk(2, dim=-1)
    return heads * m.cosine + torch.cat((-second, first), dim=-1) * m.sine


@after
def by_heads(m, rows):
    """The weight has a dimension of heads."""
    return torch.einsum("btk,hdk->bhtd", rows, m.weight.view(-1, HEAD, WIDTH))


@after
def read_twice(m, rows):
    """Two products that do not meet: the norm stays alone."""
    return F.linear(rows, m.weight), F.linear(rows, m.other)


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
    made = {name: make() for name, make in NORMS.items()}
    return SideBySide({name: module for name, (module, _) in made.items()}), inputs()


globals().update(NORMS)
