"""Attention as models write it: every spelling is a factory, `examples.attentions:encoder`.

A factory returns (module, inputs). All project one input to packed or separate heads and mix the
heads afterwards; what lies between is written out, or torch's own operator. `ATTENTIONS` lists them
all, `every` is a module that runs them side by side. The extents are small; ATTENTIONS_FULL=1 takes
those of a model.
"""

import math
import os

import torch
import torch.nn.functional as F
from torch import nn

FULL = os.environ.get("ATTENTIONS_FULL") == "1"
BATCH, TOKENS, HEADS, DEPTH = (8, 2048, 16, 64) if FULL else (2, 48, 4, 16)
WINDOW = TOKENS // 4
ATTENTIONS = {}


class Attention(nn.Module):
    """Projections, heads, the attention in `core`, and a last projection."""

    def __init__(self, core, kv_heads=HEADS, **buffers):
        super().__init__()
        self.core, self.kv_heads = core, kv_heads
        self.q = nn.Linear(HEADS * DEPTH, HEADS * DEPTH)
        self.k = nn.Linear(HEADS * DEPTH, kv_heads * DEPTH)
        self.v = nn.Linear(HEADS * DEPTH, kv_heads * DEPTH)
        self.out = nn.Linear(HEADS * DEPTH, HEADS * DEPTH)
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)

    def forward(self, x, *more):
        heads = (layer(x).view(*x.shape[:2], -1, DEPTH).transpose(1, 2)
                 for layer in (self.q, self.k, self.v))  # fmt: skip
        mixed = self.core(self, *heads, *more)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


def attention(make):
    """Registers `make`, which gives what `Attention` takes and inputs beside the tokens."""

    def factory():
        parts, *more = make()
        return Attention(**parts), [torch.randn(BATCH, TOKENS, HEADS * DEPTH), *more]

    factory.__name__ = make.__name__
    ATTENTIONS[make.__name__] = factory
    return factory


def scores_of(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(DEPTH)


def lower_left(size=TOKENS):
    return torch.ones(size, size).tril()


@attention
def buffer():
    """A float buffer longer than the tokens, compared with 0."""

    def core(self, q, k, v):
        tokens = q.shape[-2]
        mask = self.mask[:, :, :tokens, :tokens]
        return torch.softmax(scores_of(q, k).masked_fill(mask == 0, -math.inf), -1) @ v

    return [{"core": core, "mask": lower_left(2 * TOKENS)[None, None]}]


def repeat(x):
    """Two heads of keys as many as those of queries."""
    x = x[:, :, None].expand(-1, -1, HEADS // 2, -1, -1)
    return x.reshape(BATCH, HEADS, TOKENS, DEPTH)


@attention
def decoder():
    """Fewer heads of keys, repeated; a mask of arithmetic; the softmax in f32."""

    def core(self, q, k, v):
        place = torch.arange(TOKENS, device=q.device)
        seen = place[None, :] <= place[:, None]
        mask = torch.where(seen, 0.0, torch.finfo(q.dtype).min).to(q.dtype)[None, None]
        scores = torch.matmul(q, repeat(k).transpose(2, 3)) * DEPTH**-0.5 + mask
        weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        return torch.matmul(F.dropout(weights, 0.0, self.training), repeat(v))

    return [{"core": core, "kv_heads": 2}]


@attention
def arithmetic():
    """The same without repeated heads."""

    def core(self, q, k, v):
        place = torch.arange(TOKENS, device=q.device)
        mask = torch.full((TOKENS, TOKENS), torch.finfo(q.dtype).min, device=q.device)
        mask = (mask * (place > place.view(-1, 1))).to(q.dtype)[None, None].expand(BATCH, 1, -1, -1)
        weights = F.softmax((q @ k.transpose(2, 3) * DEPTH**-0.5 + mask).float(), dim=-1)
        return weights.to(q.dtype) @ v

    return [{"core": core}]


@attention
def chosen():
    """A bool buffer that chooses between scores and a number that is a tensor."""

    def core(self, q, k, v):
        scores = q @ k.transpose(-1, -2)
        scores = scores / torch.full([], DEPTH**0.5, dtype=scores.dtype, device=scores.device)
        low = torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype, device=q.device)
        return F.softmax(torch.where(self.mask, scores, low), dim=-1) @ v

    return [{"core": core, "mask": lower_left().bool()[None, None]}]


@attention
def triangle():
    """What is above the diagonal, made on the fly, and a large negative number."""

    def core(self, q, k, v):
        hidden = torch.triu(torch.ones(TOKENS, TOKENS, device=q.device), diagonal=1).bool()
        return scores_of(q, k).masked_fill(hidden, -1e9).softmax(dim=-1) @ v

    return [{"core": core}]


def within_window(q):
    """Which keys a row sees: itself and the WINDOW - 1 before."""
    row = torch.arange(TOKENS, device=q.device)[:, None]
    column = torch.arange(TOKENS, device=q.device)[None, :]
    return (column <= row) & (column > row - WINDOW)


@attention
def window_added():
    """A sliding window of arithmetic, added as numbers; fewer heads of keys."""

    def core(self, q, k, v):
        mask = torch.where(within_window(q), 0.0, torch.finfo(q.dtype).min).to(q.dtype)[None, None]
        scores = torch.matmul(q, repeat(k).transpose(2, 3)) * DEPTH**-0.5 + mask
        return F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype) @ repeat(v)

    return [{"core": core, "kv_heads": 2}]


@attention
def window_buffer():
    """A sliding window as two triangles of a buffer, one within the other."""

    def core(self, q, k, v):
        return torch.softmax(scores_of(q, k).masked_fill(~self.band, -math.inf), -1) @ v

    return [{"core": core, "band": (lower_left() - lower_left().tril(-WINDOW)).bool()}]


@attention
def window_around():
    """A window on both sides, as encoders of long texts have it."""

    def core(self, q, k, v):
        place = torch.arange(TOKENS, device=q.device)
        far = (place[:, None] - place[None, :]).abs() >= WINDOW
        return scores_of(q, k).masked_fill(far, -math.inf).softmax(-1) @ v

    return [{"core": core}]


@attention
def encoder():
    """An additive mask from outside, the same for all heads and rows."""

    def core(self, q, k, v, mask):
        return F.softmax(scores_of(q, k) + mask, dim=-1) @ v

    return [{"core": core}, -10000.0 * (torch.rand(BATCH, 1, 1, TOKENS) < 0.2)]


@attention
def hidden_keys():
    """A boolean mask from outside: keys that nobody sees."""

    def core(self, q, k, v, hidden):
        scores = scores_of(q, k).masked_fill(hidden, -math.inf)
        return F.softmax(scores, dim=-1) @ v

    return [{"core": core}, torch.rand(BATCH, 1, 1, TOKENS) < 0.2]


@attention
def relative():
    """A learned bias for each head, no scale."""

    def core(self, q, k, v):
        scores = torch.matmul(q, k.transpose(3, 2))
        scores += self.bias
        return torch.matmul(F.softmax(scores.float(), dim=-1).type_as(scores), v)

    return [{"core": core, "bias": torch.randn(1, HEADS, TOKENS, TOKENS)}]


@attention
def padded():
    """A bias by head and distance, the heads innermost, and a mask of numbers for padding, added up."""

    def core(self, q, k, v, present):
        bias = self.by_distance[self.distance].permute(2, 0, 1)[None]
        bias = bias + (1.0 - present[:, None, None, :]) * torch.finfo(q.dtype).min
        scores = q @ k.transpose(3, 2)
        scores += bias
        return F.softmax(scores.float(), dim=-1).type_as(scores) @ v

    place = torch.arange(TOKENS)
    buffers = {
        "by_distance": torch.randn(2 * TOKENS - 1, HEADS),
        "distance": place[:, None] - place[None, :] + TOKENS - 1,
    }
    return [{"core": core, **buffers}, (torch.rand(BATCH, TOKENS) < 0.8).float()]


@attention
def apart():
    """A bias by head, and behind it a boolean mask for padding."""

    def core(self, q, k, v, absent):
        scores = (scores_of(q, k) + self.bias).masked_fill(absent[:, None, None, :], -math.inf)
        return scores.softmax(dim=-1) @ v

    return [{"core": core, "bias": torch.randn(HEADS, TOKENS, TOKENS)}, torch.rand(BATCH, TOKENS) < 0.2]


@attention
def capped():
    """Scores that approach a cap."""

    def core(self, q, k, v):
        scores = torch.matmul(q, k.transpose(2, 3)) * DEPTH**-0.5
        scores = torch.tanh(scores / 3.0) * 3.0 + self.mask
        return F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype) @ v

    return [{"core": core, "mask": torch.full((TOKENS, TOKENS), -math.inf).triu(1)[None, None]}]


@attention
def batched():
    """Products of one batch dimension, on copies in the order of the heads."""

    def core(self, q, k, v):
        q, k, v = (x.contiguous().view(BATCH * HEADS, -1, DEPTH) for x in (q * 0.25, k, v))
        scores = torch.bmm(q, k.transpose(1, 2)).view(BATCH, HEADS, TOKENS, TOKENS) + self.mask
        weights = F.softmax(scores.view(BATCH * HEADS, TOKENS, TOKENS), dim=-1)
        return torch.bmm(weights, v).view(BATCH, HEADS, TOKENS, DEPTH)

    mask = torch.full((TOKENS, TOKENS), -math.inf).triu(1)[None, None]
    return [{"core": core, "mask": mask}]


@attention
def letters():
    """Einsums over heads that were never transposed."""

    def core(self, q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        weights = torch.einsum("bqhd,bkhd->bhqk", q, k).mul(DEPTH**-0.5).softmax(-1)
        return torch.einsum("bhqk,bkhd->bqhd", weights, v).transpose(1, 2)

    return [{"core": core}]


@attention
def operator_with_mask():
    """Torch's operator with a causal mask given as a buffer."""

    def core(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask)

    return [{"core": core, "mask": lower_left().bool()}]


@attention
def operator_window():
    """Torch's operator with a sliding window given as a boolean mask."""

    def core(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=within_window(q)[None, None])

    return [{"core": core}]


@attention
def operator_shown():
    """Torch's operator with a boolean mask from outside, of which some rows may show nothing."""

    def core(self, q, k, v, shown):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=shown)

    return [{"core": core}, torch.rand(BATCH, 1, TOKENS, TOKENS) < 0.2]


@attention
def operator_joined():
    """Torch's operator with a bias by head in which padding is hidden."""

    def core(self, q, k, v, present):
        bias = self.bias.masked_fill(~present[:, None, None, :], -math.inf)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    bias = torch.randn(1, HEADS, TOKENS, TOKENS)
    return [{"core": core, "bias": bias}, torch.rand(BATCH, TOKENS) < 0.8]


@attention
def operator_grouped():
    """Torch's operator over fewer heads of keys."""

    def core(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    return [{"core": core, "kv_heads": 2}]


class SideBySide(nn.Module):
    """All of them, each on its own inputs."""

    def __init__(self, modules, counts):
        super().__init__()
        self.counts = counts
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, *inputs):
        results = []
        for part, count in zip(self.children(), self.counts):
            results.append(part(*inputs[:count]))
            inputs = inputs[count:]
        return results


def every():
    torch.manual_seed(0)
    made = {name: make() for name, make in ATTENTIONS.items()}
    inputs = [tensor for _, tensors in made.values() for tensor in tensors]
    modules = {name: module for name, (module, _) in made.items()}
    return SideBySide(modules, [len(tensors) for _, tensors in made.values()]), inputs


globals().update(ATTENTIONS)
