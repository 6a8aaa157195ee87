"""The response norm of `convnextv2_grn.py` with other extents and another surrounding: an
encoder's last stage, where SiLU comes before it and the block's result is gated.

BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
IMAGES, SIDE, CHANNELS = (2, 8, 32) if SMALL else (128, 14, 1536)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.randn(1, 1, 1, CHANNELS) * 0.5)
        self.beta = nn.Parameter(torch.randn(1, 1, 1, CHANNELS) * 0.1)
        self.down = nn.Linear(CHANNELS, CHANNELS // 4)
        self.scale = nn.Parameter(torch.rand(CHANNELS // 4))

    def response(self, x):
        length = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        relative = length / (length.mean(dim=-1, keepdim=True) + 1e-6)
        return self.gamma * (x * relative) + self.beta + x

    def forward(self, x, shortcut):
        return self.scale * (shortcut + self.down(self.response(F.silu(x))))


def get_inputs():
    return [torch.randn(IMAGES, SIDE, SIDE, CHANNELS), torch.randn(IMAGES, SIDE, SIDE, CHANNELS // 4)]


def get_init_inputs():
    return []
