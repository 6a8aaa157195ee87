"""A block of an encoder as vision and speech models have it: attention with a bias for the distance
between positions and a mask for padding, heads of 64 features, and a feed-forward part.

On a GPU 32 sequences of 512 positions and 768 channels; small elsewhere, or with ENCODER_SMALL=1.
Both are added to the scores as one tensor, as models do that share it between layers.
ENCODER_ATTENTION=sdpa calls torch's operator (default: written out).
"""

import math
import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("ENCODER_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH, POSITIONS, CHANNELS = (2, 40, 128) if SMALL else (32, 512, 768)
FEATURES = 64  # of a head
OPERATOR = os.environ.get("ENCODER_ATTENTION") == "sdpa"


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = CHANNELS // FEATURES
        self.qkv = nn.Linear(CHANNELS, 3 * CHANNELS)
        self.out = nn.Linear(CHANNELS, CHANNELS)
        # One number a head for every distance from -(POSITIONS - 1) to POSITIONS - 1.
        self.by_distance = nn.Parameter(0.02 * torch.randn(2 * POSITIONS - 1, self.heads))
        place = torch.arange(POSITIONS)
        self.register_buffer("distance", place[:, None] - place[None, :] + POSITIONS - 1)

    def forward(self, x, present):
        shape = (x.shape[0], POSITIONS, self.heads, FEATURES)
        q, k, v = (part.reshape(shape).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        bias = self.by_distance[self.distance].permute(2, 0, 1)[None]
        bias = bias.masked_fill(~present[:, None, None, :], -math.inf)
        if OPERATOR:
            mixed = F.scaled_dot_product_attention(q, k, v, bias)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(FEATURES) + bias
            mixed = scores.softmax(dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(CHANNELS)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(CHANNELS)
        self.up = nn.Linear(CHANNELS, 4 * CHANNELS)
        self.down = nn.Linear(4 * CHANNELS, CHANNELS)

    def forward(self, x, present):
        x = x + self.attention(self.norm1(x), present)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def get_inputs():
    """Sequences of different lengths, each padded to the longest."""
    lengths = torch.linspace(POSITIONS // 2, POSITIONS, BATCH).long()
    return [torch.randn(BATCH, POSITIONS, CHANNELS), torch.arange(POSITIONS)[None] < lengths[:, None]]


def get_init_inputs():
    return []
