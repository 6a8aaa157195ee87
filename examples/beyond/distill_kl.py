"""The loss of a distilled language model as DistilBERT has it: the Kullback-Leibler divergence of
the student's words from the teacher's, both softened by a temperature, over the tokens of a mask.

Both logits are given, no product is near. BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH, TOKENS, WORDS = (2, 32, 512) if SMALL else (16, 512, 16384)


class Model(nn.Module):
    def __init__(self, temperature=2.0):
        super().__init__()
        self.temperature = temperature

    def forward(self, student, teacher, mask):
        found = F.log_softmax(student / self.temperature, dim=-1)
        wanted = F.softmax(teacher / self.temperature, dim=-1)
        apart = F.kl_div(found, wanted, reduction="none").sum(dim=-1)
        return (apart * mask).sum() / mask.sum() * self.temperature**2


def get_inputs():
    student = torch.randn(BATCH, TOKENS, WORDS) * 3
    teacher = torch.randn(BATCH, TOKENS, WORDS) * 3
    return [student, teacher, (torch.rand(BATCH, TOKENS) < 0.9).float()]


def get_init_inputs():
    return []
