"""One block of a GPT: causal self-attention and a feed-forward part, each behind a layer norm.

File convention: `Model`, `get_inputs()` and `get_init_inputs()`. The shapes are those of
KernelBench's MiniGPT block on a GPU, and small ones elsewhere (or with MINIGPT_SMALL=1).
"""

import math
import os

import torch
from torch import nn


def _small() -> bool:
    wish = os.environ.get("MINIGPT_SMALL")
    return not torch.cuda.is_available() if wish is None else wish != "0"


if _small():
    BATCH, TOKENS, CHANNELS, HEADS, MAX_LEN = 2, 64, 128, 4, 128
else:
    BATCH, TOKENS, CHANNELS, HEADS, MAX_LEN = 128, 512, 768, 8, 1024
DROPOUT = 0.0


def tanh_gelu(x):
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1.0 + torch.tanh(inner))


class Attention(nn.Module):
    """Causal self-attention written out: scores, mask, softmax, mix."""

    def __init__(self, channels, heads, max_len, dropout):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)
        self.drop_weights = nn.Dropout(dropout)
        self.drop_out = nn.Dropout(dropout)
        visible = torch.ones(max_len, max_len).tril()
        self.register_buffer("visible", visible.view(1, 1, max_len, max_len))

    def split_heads(self, x):
        batch, tokens, channels = x.shape
        return x.view(batch, tokens, self.heads, channels // self.heads).transpose(1, 2)

    def forward(self, x):
        batch, tokens, channels = x.shape
        q, k, v = (self.split_heads(part) for part in self.qkv(x).split(channels, dim=2))
        scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(k.shape[-1]))
        mask = self.visible[:, :, :tokens, :tokens]
        scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = self.drop_weights(torch.softmax(scores, dim=-1))
        mixed = (weights @ v).transpose(1, 2).contiguous().view(batch, tokens, channels)
        return self.drop_out(self.out(mixed))


class FeedForward(nn.Module):
    def __init__(self, channels, dropout):
        super().__init__()
        self.up = nn.Linear(channels, 4 * channels)
        self.down = nn.Linear(4 * channels, channels)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.drop(self.down(tanh_gelu(self.up(x))))


class Model(nn.Module):
    def __init__(self, channels, heads, max_len, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(channels)
        self.attention = Attention(channels, heads, max_len, dropout)
        self.norm2 = nn.LayerNorm(channels)
        self.mlp = FeedForward(channels, dropout)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def get_inputs():
    return [torch.randn(BATCH, TOKENS, CHANNELS)]


def get_init_inputs():
    return [CHANNELS, HEADS, MAX_LEN, DROPOUT]
