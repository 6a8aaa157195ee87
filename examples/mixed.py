"""A block that FACT knows only in part: a Fourier transform over the positions, a sparse feed-forward
part that keeps the largest activations of each position (sorted, scattered back), and a running mean,
between norms and linear layers.

On a GPU 16 sequences of 1024 positions and 1024 channels; small elsewhere, or with MIXED_SMALL=1.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("MIXED_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH, POSITIONS, CHANNELS = (2, 32, 64) if SMALL else (16, 1024, 1024)
KEPT = CHANNELS // 4  # activations a position keeps


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(CHANNELS)
        self.mix = nn.Linear(CHANNELS, CHANNELS)
        self.norm2 = nn.LayerNorm(CHANNELS)
        self.up = nn.Linear(CHANNELS, 2 * CHANNELS)
        self.down = nn.Linear(2 * CHANNELS, CHANNELS)
        self.norm3 = nn.LayerNorm(CHANNELS)
        self.gate = nn.Linear(CHANNELS, CHANNELS)
        self.register_buffer("count", torch.arange(1, POSITIONS + 1)[:, None])

    def forward(self, x):
        waves = torch.fft.fft(self.norm1(x).float(), dim=1, norm="ortho").real.to(x.dtype)
        x = x + self.mix(waves)

        active = F.gelu(self.up(self.norm2(x)))
        largest, where = active.sort(dim=-1, descending=True)
        sparse = torch.zeros_like(active).scatter(-1, where[..., :KEPT], largest[..., :KEPT])
        x = x + self.down(sparse)

        running = (self.norm3(x).float().cumsum(dim=1) / self.count).to(x.dtype)
        return x + running * torch.sigmoid(self.gate(running))


def get_inputs():
    return [torch.randn(BATCH, POSITIONS, CHANNELS)]


def get_init_inputs():
    return []
