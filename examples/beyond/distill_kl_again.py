"""The divergence of `distill_kl.py` with other extents and another surrounding: the student's
logits come from its head and go on to other losses, and each sequence has a loss of its own that
is weighted.

Rules take the head. BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH, TOKENS, WIDTH, WORDS = (2, 32, 64, 384) if SMALL else (24, 384, 512, 12288)


class Model(nn.Module):
    def __init__(self, temperature=2.0):
        super().__init__()
        self.temperature = temperature
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, hidden, teacher, mask, weight):
        student = self.head(hidden)
        found = F.log_softmax(student / self.temperature, dim=-1)
        wanted = F.softmax(teacher / self.temperature, dim=-1)
        apart = F.kl_div(found, wanted, reduction="none").sum(dim=-1)
        return (apart * mask).mean(dim=-1) * weight, student


def get_inputs():
    teacher = torch.randn(BATCH, TOKENS, WORDS) * 3
    mask = (torch.rand(BATCH, TOKENS) < 0.9).float()
    return [torch.randn(BATCH, TOKENS, WIDTH) * 4, teacher, mask, torch.rand(BATCH)]


def get_init_inputs():
    return []
