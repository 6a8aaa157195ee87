"""A stage on the way down of a diffusion model's U-Net, in the sizes of Stable Diffusion XL's middle
stage: two residual blocks that know the time step, each followed by attention over the pixels, and a
convolution that halves the image.

On a GPU 8 images of 64 x 64 pixels and 640 channels; small elsewhere, or with UNET_SMALL=1.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("UNET_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH, SIDE, BEFORE, CHANNELS, TIME, HEAD, GROUPS = (
    (2, 8, 32, 64, 48, 16, 8) if SMALL else (8, 64, 320, 640, 1280, 64, 32)
)


class ResidualBlock(nn.Module):
    def __init__(self, before, channels):
        super().__init__()
        self.norm1 = nn.GroupNorm(GROUPS, before)
        self.conv1 = nn.Conv2d(before, channels, 3, padding=1)
        self.time = nn.Linear(TIME, channels)
        self.norm2 = nn.GroupNorm(GROUPS, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.shortcut = nn.Conv2d(before, channels, 1) if before != channels else nn.Identity()

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(F.silu(time))[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return self.shortcut(x) + h


class PixelAttention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, channels)
        self.q, self.k, self.v = (nn.Linear(channels, channels, bias=False) for _ in range(3))
        self.out = nn.Linear(channels, channels)

    def forward(self, x):
        batch, channels, height, width = x.shape
        h = self.norm(x).view(batch, channels, height * width).transpose(1, 2)
        q, k, v = (
            linear(h).view(batch, -1, channels // HEAD, HEAD).transpose(1, 2) for linear in (self.q, self.k, self.v)
        )
        h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, -1, channels)
        return x + self.out(h).transpose(1, 2).reshape(batch, channels, height, width)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([ResidualBlock(BEFORE, CHANNELS), ResidualBlock(CHANNELS, CHANNELS)])
        self.attentions = nn.ModuleList([PixelAttention(CHANNELS), PixelAttention(CHANNELS)])
        self.down = nn.Conv2d(CHANNELS, CHANNELS, 3, stride=2, padding=1)

    def forward(self, x, time):
        for block, attention in zip(self.blocks, self.attentions):
            x = attention(block(x, time))
        return self.down(x), x


def get_inputs():
    return [torch.randn(BATCH, BEFORE, SIDE, SIDE), torch.randn(BATCH, TIME)]


def get_init_inputs():
    return []
