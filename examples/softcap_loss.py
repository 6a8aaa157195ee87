"""What follows the head of Gemma 2 in training: capped logits, their log-probabilities, and a z-loss.

The logits are given, no matrix product is next to them: rules leave all of it to torch, and a
language model can find it (`fact optimize --agent`). SOFTCAP_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn

WISH = os.environ.get("SOFTCAP_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
TOKENS, WORDS = (64, 512) if SMALL else (8192, 16384)


class Model(nn.Module):
    def __init__(self, cap=30.0):
        super().__init__()
        self.cap = cap

    def forward(self, logits):
        capped = torch.tanh(logits / self.cap) * self.cap
        log_z = torch.logsumexp(capped, dim=-1, keepdim=True)
        return capped - log_z, log_z.pow(2).mul(1e-4).squeeze(-1)


def get_inputs():
    return [torch.randn(TOKENS, WORDS) * 4]


def get_init_inputs():
    return []
