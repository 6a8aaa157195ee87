"""What stands between the convolutions of a residual block of ADM (guided-diffusion): a group norm
in f32, scaled and shifted by what the time's embedding says for each channel, then SiLU.

Rules take the small product, and know no group norm alone. BEYOND_SMALL=1: small, as without a
GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
IMAGES, CHANNELS, SIDE = (2, 64, 4) if SMALL else (128, 256, 32)
EMBEDDING = 4 * CHANNELS


class GroupNorm32(nn.GroupNorm):
    def forward(self, x):
        weight, bias = self.weight.float(), self.bias.float()
        return F.group_norm(x.float(), self.num_groups, weight, bias, self.eps).type(x.dtype)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(EMBEDDING, 2 * CHANNELS)
        self.norm = GroupNorm32(32, CHANNELS)

    def forward(self, h, embedding):
        scale, shift = self.embed(F.silu(embedding))[:, :, None, None].chunk(2, dim=1)
        h = self.norm(h) * (1 + scale) + shift
        return F.silu(h)


def get_inputs():
    return [torch.randn(IMAGES, CHANNELS, SIDE, SIDE), torch.randn(IMAGES, EMBEDDING)]


def get_init_inputs():
    return []
