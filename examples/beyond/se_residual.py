"""The end of a block of SE-ResNet: batch norm, squeeze (the mean over the image), excitation (two
small linear layers), the channels scaled by it, the shortcut, ReLU.

Two regions over the image around the small products. BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
IMAGES, CHANNELS, SIDE = (2, 32, 8) if SMALL else (128, 256, 56)


class Model(nn.Module):
    def __init__(self, reduction=16):
        super().__init__()
        self.norm = nn.BatchNorm2d(CHANNELS)
        self.squeeze = nn.Linear(CHANNELS, CHANNELS // reduction)
        self.excite = nn.Linear(CHANNELS // reduction, CHANNELS)
        with torch.no_grad():
            self.norm.running_mean.normal_(std=0.1)
            self.norm.running_var.uniform_(0.5, 1.5)

    def forward(self, x, shortcut):
        x = self.norm(x)
        scale = x.mean(dim=(2, 3))
        scale = torch.sigmoid(self.excite(F.relu(self.squeeze(scale))))
        return F.relu(x * scale[:, :, None, None] + shortcut)


def get_inputs():
    shape = (IMAGES, CHANNELS, SIDE, SIDE)
    return [torch.randn(shape), torch.randn(shape)]


def get_init_inputs():
    return []
