"""A gate, whose results fall to nothing where it closes."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.sigmoid(x) * y


def get_init_inputs():
    return []


def get_inputs():
    rows = 4096 if torch.cuda.is_available() else 64
    return [torch.randn(rows, 2048), torch.randn(rows, 2048)]
