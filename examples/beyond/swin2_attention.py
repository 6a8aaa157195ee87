"""Swin V2's attention over windows: queries and keys of length one, their cosines times a learned
scale a head, a bias of positions, softmax.

Rules take the products; the lengths are no norm that they know. BEYOND_SMALL=1: small, as without
a GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
WINDOWS, TOKENS, CHANNELS, HEADS = (2, 16, 64, 2) if SMALL else (1024, 256, 96, 3)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(CHANNELS, 3 * CHANNELS, bias=False)
        self.proj = nn.Linear(CHANNELS, CHANNELS)
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones(HEADS, 1, 1)))
        self.position = nn.Parameter(torch.randn(HEADS, TOKENS, TOKENS) * 0.5)

    def forward(self, x):
        windows, tokens, channels = x.shape
        qkv = self.qkv(x).reshape(windows, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        logit_scale = torch.clamp(self.logit_scale, max=4.6052).exp()
        bias = 16 * torch.sigmoid(self.position)
        attn = F.softmax(attn * logit_scale + bias.unsqueeze(0), dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(windows, tokens, channels))


def get_inputs():
    return [torch.randn(WINDOWS, TOKENS, CHANNELS)]


def get_init_inputs():
    return []
