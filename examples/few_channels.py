"""Convolutions of images with few channels: `examples.few_channels:every` runs them side by side.

Sizes that divide nothing, padding, dilation, one to three dimensions. The images are small;
FEW_CHANNELS_FULL=1 takes so many that a GPU is busy, and the convolutions become products of patches.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

FULL = os.environ.get("FEW_CHANNELS_FULL") == "1"
# Channels, features, images' extents, taps, padding, dilation, images.
LAYERS = (
    (8, 64, (61, 130), (3, 3), (0, 0), (1, 1), 8),
    (8, 24, (77, 91), (3, 3), (1, 1), (1, 1), 6),
    (3, 16, (50, 51), (5, 5), (2, 2), (2, 1), 17),
    (5, 40, (30, 36), (3, 2), (1, 0), (1, 2), 40),
    (1, 8, (200, 177), (7, 3), (3, 1), (1, 1), 2),
    (4, 32, (9001,), (9,), (4,), (1,), 5),
    (3, 16, (13, 31, 32), (3, 3, 3), (0, 1, 1), (1, 1, 1), 4),
    (8, 64, (9, 30, 34), (3, 3, 3), (1, 0, 0), (1, 1, 1), 6),
    (16, 64, (66, 66), (3, 3), (1, 1), (1, 1), 12),
    (20, 48, (40, 44), (3, 3), (1, 0), (2, 1), 24),
    (32, 32, (11, 20, 22), (2, 3, 2), (0, 1, 0), (1, 1, 1), 11),
)


class Layer(nn.Module):
    def __init__(self, number):
        super().__init__()
        channels, features, extents, taps, padding, dilation, images = LAYERS[number]
        kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[len(taps) - 1]
        self.convolution = kind(channels, features, taps, padding=padding, dilation=dilation)
        self.shape = (images if FULL else 1, channels, *extents)
        self.ending = number % 3

    def forward(self, x):
        y = self.convolution(x)
        if self.ending == 0:
            return F.silu(y)
        return torch.relu(y) * 2 - 0.5 if self.ending == 1 else y


class Every(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(number) for number in range(len(LAYERS)))

    def forward(self, *images):
        return tuple(layer(x) for layer, x in zip(self.layers, images))


def every():
    module = Every()
    return module, [torch.randn(layer.shape) for layer in module.layers]
