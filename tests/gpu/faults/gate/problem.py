"""A gate, whose results fall to nothing where it closes."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) / width**0.5)

    def forward(self, x):
        return torch.sigmoid(torch.matmul(x, self.weight))


def get_init_inputs():
    return [1024 if torch.cuda.is_available() else 128]


def get_inputs():
    rows, width = (2048, 1024) if torch.cuda.is_available() else (128, 128)
    return [torch.randn(rows, width)]
