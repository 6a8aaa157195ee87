"""A module whose kernels keep what they make of its weights: f32 linears, split once."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(2048, 2048), nn.Linear(2048, 2048)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2048, 2048)]
