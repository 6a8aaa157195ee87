"""The product the hostile kernels pretend to compute: whole tiles, and deep enough that the least
time it can take is far above a launch's own."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_init_inputs():
    return []


def get_inputs():
    m, n, k = (2048, 2048, 4096) if torch.cuda.is_available() else (128, 128, 64)
    return [torch.randn(m, k), torch.randn(k, n)]
