"""The norm of `adm_norm.py` with other extents and another surrounding: the lower level of the
network, where the block's shortcut is added and the sum is averaged over the image.

BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
IMAGES, CHANNELS, SIDE = (2, 96, 4) if SMALL else (192, 512, 16)
EMBEDDING = 2 * CHANNELS


class GroupNorm32(nn.GroupNorm):
    def forward(self, x):
        weight, bias = self.weight.float(), self.bias.float()
        return F.group_norm(x.float(), self.num_groups, weight, bias, self.eps).type(x.dtype)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(EMBEDDING, 2 * CHANNELS)
        self.norm = GroupNorm32(32, CHANNELS)

    def forward(self, h, embedding, shortcut):
        scale, shift = self.embed(F.silu(embedding))[:, :, None, None].chunk(2, dim=1)
        h = self.norm(h) * (1 + scale) + shift
        h = shortcut + F.silu(h)
        return h, h.mean(dim=(2, 3))


def get_inputs():
    return [torch.randn(IMAGES, CHANNELS, SIDE, SIDE), torch.randn(IMAGES, EMBEDDING),
            torch.randn(IMAGES, CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return []
