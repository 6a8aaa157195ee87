"""The last stage of an image decoder (the VAE of a latent diffusion model): the image is enlarged, three
residual blocks make half as many channels of it, and a last norm and convolution make pixels.

On a GPU 4 images that become 512 x 512 pixels, from 256 channels; small elsewhere, or with VAE_SMALL=1.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("VAE_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH, SIDE, BEFORE, CHANNELS, GROUPS = (1, 8, 32, 16, 8) if SMALL else (4, 256, 256, 128, 32)


class ResidualBlock(nn.Module):
    def __init__(self, before, channels):
        super().__init__()
        self.norm1 = nn.GroupNorm(GROUPS, before, eps=1e-6)
        self.conv1 = nn.Conv2d(before, channels, 3, padding=1)
        self.norm2 = nn.GroupNorm(GROUPS, channels, eps=1e-6)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.shortcut = nn.Conv2d(before, channels, 1) if before != channels else nn.Identity()

    def forward(self, x):
        h = self.conv1(F.silu(self.norm1(x)))
        h = self.conv2(F.silu(self.norm2(h)))
        return self.shortcut(x) + h


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enlarge = nn.Conv2d(BEFORE, BEFORE, 3, padding=1)
        self.blocks = nn.ModuleList([ResidualBlock(BEFORE, CHANNELS)] + [ResidualBlock(CHANNELS, CHANNELS) for _ in range(2)])
        self.norm = nn.GroupNorm(GROUPS, CHANNELS, eps=1e-6)
        self.out = nn.Conv2d(CHANNELS, 3, 3, padding=1)

    def forward(self, x):
        x = self.enlarge(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        for block in self.blocks:
            x = block(x)
        return self.out(F.silu(self.norm(x)))


def get_inputs():
    return [torch.randn(BATCH, BEFORE, SIDE, SIDE)]


def get_init_inputs():
    return []
