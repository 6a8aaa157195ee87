"""Rotary position embedding as models write it: every spelling is a factory,
`examples.rotaries:halves`.

A factory returns (module, inputs). All rotate the heads of one projection by cosines and sines that
are inputs, or (`alone` and those after it) heads that no product before them makes. `ROTARIES` lists
them all, `every` is a module that runs them side by side. The extents are small; ROTARIES_FULL=1
takes those of a model.
"""

import os

import torch
from torch import nn

FULL = os.environ.get("ROTARIES_FULL") == "1"
BATCH, TOKENS, HEADS, DEPTH = (4, 2048, 32, 128) if FULL else (2, 24, 4, 16)
ROTARIES = {}


class Rotary(nn.Module):
    """A projection to heads, their rotation in `rotate`; without `projects` the heads are given."""

    def __init__(self, rotate, whole=True, projects=True, bias=False):
        super().__init__()
        self.rotate, self.whole = rotate, whole
        self.project = nn.Linear(HEADS * DEPTH, HEADS * DEPTH, bias=bias) if projects else None

    def forward(self, x, cos, sin):
        if self.project:
            x = self.project(x)
        if not self.whole:
            cos, sin = cos[..., : DEPTH // 2], sin[..., : DEPTH // 2]
        return self.rotate(x.view(*x.shape[:2], -1, DEPTH), cos, sin)


def angles():
    """Cosines and sines of [tokens, depth], the second half as the first."""
    rate = 10000.0 ** (-torch.arange(0, DEPTH, 2) / DEPTH)
    turned = torch.arange(TOKENS)[:, None] * rate
    turned = torch.cat([turned, turned], -1)
    return turned.cos(), turned.sin()


def rotary(**parts):
    """Registers a function that rotates heads of [batch, tokens, heads, depth]."""

    def register(rotate):
        def factory():
            return Rotary(rotate, **parts), [torch.randn(BATCH, TOKENS, HEADS * DEPTH), *angles()]

        factory.__name__ = rotate.__name__
        ROTARIES[rotate.__name__] = factory
        return factory

    return register


def rotate_half(x):
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-second, first), dim=-1)


@rotary()
def halves(x, cos, sin):
    """The heads before the tokens, cosines of whole heads: Llama in Hugging Face's library."""
    x, cos, sin = x.transpose(1, 2), cos[None].unsqueeze(1), sin[None].unsqueeze(1)
    return (x * cos) + (rotate_half(x) * sin)


@rotary(bias=True)
def chunked(x, cos, sin):
    """Halves by chunk, after a bias; the result is copied to heads before tokens."""
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat([-second, first], dim=-1)
    return (x * cos[:, None] + turned * sin[:, None]).transpose(1, 2).contiguous()


@rotary(whole=False)
def separate(x, cos, sin):
    """Each half on its own, cosines of half a head: GPT-NeoX."""
    cos, sin = cos[None, :, None], sin[None, :, None]
    first, second = x[..., : DEPTH // 2], x[..., DEPTH // 2 :]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


@rotary(whole=False)
def unbound(x, cos, sin):
    """The same by a dimension of two, in f32."""
    pair = x.float().view(*x.shape[:-1], 2, -1)
    first, second = pair.unbind(-2)
    cos, sin = cos[:, None].float(), sin[:, None].float()
    turned = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-2)
    return turned.flatten(-2).type_as(x)


@rotary(whole=False)
def interleaved(x, cos, sin):
    """Neighbours are a pair, taken by steps: GPT-J."""
    cos, sin = cos[:, None], sin[:, None]
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1).flatten(-2)


@rotary()
def every_two(x, cos, sin):
    """Neighbours are a pair, and each has a cosine of its own."""
    turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
    return x * cos[:, None] + turned * sin[:, None]


@rotary(whole=False)
def pairs(x, cos, sin):
    """Neighbours are a pair, by a dimension of two."""
    pair = x.reshape(*x.shape[:-1], -1, 2)
    a, b = pair[..., 0], pair[..., 1]
    cos, sin = cos[:, None], sin[:, None]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)


@rotary(projects=False)
def alone(x, cos, sin):
    """No product before it."""
    x = x.transpose(1, 2)
    return (x * cos) + (rotate_half(x) * sin)


@rotary(projects=False, whole=False)
def alone_interleaved(x, cos, sin):
    cos, sin = cos[:, None], sin[:, None]
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1).flatten(-2)


@rotary(projects=False, whole=False)
def alone_in_f32(x, cos, sin):
    """Each half on its own, in f32."""
    cos, sin = cos[:, None].float(), sin[:, None].float()
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


@rotary()
def read_twice(x, cos, sin):
    """The heads are also a result: the product stays alone, and the rotation is a kernel."""
    return x, x * cos[:, None] + rotate_half(x) * sin[:, None]


@rotary()
def partial(x, cos, sin):
    """Only a half of each head turns: a kernel of its own, and torch puts the parts together."""
    turning, rest = x[..., : DEPTH // 2], x[..., DEPTH // 2 :]
    cos, sin = cos[:, None, : DEPTH // 2], sin[:, None, : DEPTH // 2]
    return torch.cat([turning * cos + rotate_half(turning) * sin, rest], -1)


class SideBySide(nn.Module):
    """All of them, on the same cosines and sines."""

    def __init__(self, modules):
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x, cos, sin):
        return [part(x, cos, sin) for part in self.children()]


def every():
    torch.manual_seed(0)
    made = {name: make() for name, make in ROTARIES.items()}
    return SideBySide({name: module for name, (module, _) in made.items()}), made["halves"][1]


globals().update(ROTARIES)
