"""A block of ConvNeXt V2 after its convolution: a norm, a linear layer, GELU, the global response
norm (each channel by its length over the image, relative to the mean over the channels), a linear
layer.

Rules take the norm and the products, and leave the response norm. BEYOND_SMALL=1: small, as
without a GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
IMAGES, SIDE, CHANNELS = (2, 4, 16) if SMALL else (64, 28, 192)


class ResponseNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gamma = nn.Parameter(torch.randn(1, 1, 1, channels) * 0.5)
        self.beta = nn.Parameter(torch.randn(1, 1, 1, channels) * 0.1)

    def forward(self, x):
        length = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        relative = length / (length.mean(dim=-1, keepdim=True) + 1e-6)
        return self.gamma * (x * relative) + self.beta + x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(CHANNELS, eps=1e-6)
        self.up = nn.Linear(CHANNELS, 4 * CHANNELS)
        self.response = ResponseNorm(4 * CHANNELS)
        self.down = nn.Linear(4 * CHANNELS, CHANNELS)

    def forward(self, x, shortcut):
        x = self.response(F.gelu(self.up(self.norm(x))))
        return shortcut + self.down(x)


def get_inputs():
    return [torch.randn(IMAGES, SIDE, SIDE, CHANNELS), torch.randn(IMAGES, SIDE, SIDE, CHANNELS)]


def get_init_inputs():
    return []
