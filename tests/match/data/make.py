"""Writes the archives the discovery tests read: python3 tests/match/data/make.py (torch 2.13)."""
import math
import pathlib
import re

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, channels=16, heads=2, tokens=16):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.proj = nn.Linear(channels, channels)
        self.up = nn.Linear(channels, 4 * channels)
        self.down = nn.Linear(4 * channels, channels)
        self.heads, self.channels = heads, channels
        self.register_buffer("mask", torch.tril(torch.ones(tokens, tokens))[None, None])

    def gelu(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(self.channels, dim=2)
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(b, t, c)
        x = x + F.dropout(self.proj(y), 0.0)
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class Cases(nn.Module):
    def forward(self, x, w, bias, s, batched, other):
        transposed = torch.mm(x.t(), s)
        scaled = torch.addmm(bias, x, w.t(), beta=0.5, alpha=2.0)
        batch = torch.bmm(batched, other)
        shared = torch.relu(batched @ w.t())
        cast = (F.linear(x, w).float() * 0.1).to(torch.bfloat16).float().exp()
        chain = F.softplus(F.hardswish(F.leaky_relu(F.linear(x, w), 0.2)))
        gated = F.silu(F.linear(x, w)) * F.linear(x, w, bias)
        a = F.linear(x, w, bias)
        selfish = a + F.softmax(a, -1)
        view = torch.tanh(F.linear(batched, w, bias).view(-1, 96))
        odd = F.linear(x, w[:33])
        return transposed, scaled, batch, shared, cast, chain, gated, selfish, view, odd


HERE = pathlib.Path(__file__).parent


def save(module, inputs, name):
    program = torch.export.export(module.eval(), inputs).run_decompositions({})
    for node in program.graph.nodes:
        node.meta.pop("from_node", None)  # large, and holds addresses
        if trace := node.meta.get("stack_trace"):
            # The same text on every machine: files by their names, torch by its package.
            trace = re.sub(r'"[^"]*/site-packages/', '"site-packages/', trace)
            node.meta["stack_trace"] = trace.replace(f'"{HERE}/', '"')
    program._example_inputs = None
    torch.export.save(program, HERE / f"{name}.pt2")


def random(*sizes):
    return torch.randn(*sizes).bfloat16()


torch.manual_seed(0)
save(Block().bfloat16(), (random(2, 16, 16),), "block")
save(Cases(), (random(64, 48), random(96, 48), random(96), random(64, 96), random(4, 16, 48), random(4, 48, 32)), "cases")
