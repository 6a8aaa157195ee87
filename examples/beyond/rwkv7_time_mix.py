"""The time mixing of RWKV-7 around its recurrence, whose result is given: six mixtures of each
token with the one before it, keys of length one a head, and after it a group norm, the bonus and
the gate.

Rules take the products; mixtures, lengths and group norm stay. BEYOND_SMALL=1: small, as without a
GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH, TOKENS, CHANNELS, HEADS = (2, 16, 128, 2) if SMALL else (8, 2048, 2048, 32)
LOW = CHANNELS // 16


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.ParameterList(torch.rand(1, 1, CHANNELS) for _ in "rwkvag")
        square = (nn.Linear(CHANNELS, CHANNELS, bias=False) for _ in "rkvo")
        self.r, self.k, self.v, self.o = square
        self.w1, self.a1, self.g1 = (nn.Linear(CHANNELS, LOW, bias=False) for _ in "wag")
        self.w2, self.a2 = (nn.Linear(LOW, CHANNELS) for _ in "wa")
        self.g2 = nn.Linear(LOW, CHANNELS, bias=False)
        self.k_k = nn.Parameter(torch.rand(1, 1, CHANNELS) + 0.5)
        self.k_a = nn.Parameter(torch.rand(1, 1, CHANNELS))
        self.r_k = nn.Parameter(torch.randn(HEADS, CHANNELS // HEADS) * 0.1)
        self.ln_x = nn.GroupNorm(HEADS, CHANNELS, eps=64e-5)

    def forward(self, x, before, mixed):
        batch, tokens, channels = x.shape
        away = before - x
        xr, xw, xk, xv, xa, xg = (x + away * mix for mix in self.mix)
        r, k, v = self.r(xr), self.k(xk), self.v(xv)
        w = -F.softplus(-self.w2(torch.tanh(self.w1(xw)))) - 0.5
        a = torch.sigmoid(self.a2(self.a1(xa)))
        g = self.g2(torch.sigmoid(self.g1(xg)))

        kk = F.normalize((k * self.k_k).view(batch, tokens, HEADS, -1), dim=-1, p=2.0)
        kk = kk.view(batch, tokens, channels)
        k = k * (1 + (a - 1) * self.k_a)

        y = self.ln_x(mixed.view(batch * tokens, channels)).view(batch, tokens, channels)
        r, k, v = (part.view(batch, tokens, HEADS, -1) for part in (r, k, v))
        bonus = (r * k * self.r_k).sum(dim=-1, keepdim=True) * v
        y = y + bonus.view(batch, tokens, channels)
        return self.o(y * g), w, -kk, kk * a


def get_inputs():
    return [torch.randn(BATCH, TOKENS, CHANNELS) for _ in range(3)]


def get_init_inputs():
    return []
