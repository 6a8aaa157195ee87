"""Mamba around its scan, as the reference in mamba-ssm writes it: the steps, the state's decay and
what is added to it for each channel and state before it; the skip and the gate after it (its
result given).

Broadcasts to four dimensions, no product. BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH, TOKENS, CHANNELS, STATES = (2, 16, 32, 4) if SMALL else (2, 2048, 2048, 16)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        states = torch.arange(1, STATES + 1, dtype=torch.float32)
        self.A_log = nn.Parameter(torch.log(states.repeat(CHANNELS, 1)))
        self.D = nn.Parameter(torch.ones(CHANNELS))
        self.dt_bias = nn.Parameter(torch.randn(CHANNELS) - 4)

    def forward(self, u, delta, b, z, y):
        A = -torch.exp(self.A_log.float())
        delta = F.softplus(delta.float() + self.dt_bias.float())
        decay = torch.exp(delta.unsqueeze(-1) * A)
        added = delta.unsqueeze(-1) * b.float().unsqueeze(2) * u.float().unsqueeze(-1)
        out = (y.float() + u.float() * self.D.float()) * F.silu(z.float())
        return decay.to(u.dtype), added.to(u.dtype), out.to(u.dtype)


def get_inputs():
    shape = (BATCH, TOKENS, CHANNELS)
    b = torch.randn(BATCH, TOKENS, STATES)
    return [torch.randn(shape), torch.randn(shape), b, torch.randn(shape), torch.randn(shape)]


def get_init_inputs():
    return []
