"""Reductions across memory: `examples.across:every` runs them side by side.

What is reduced is not what is innermost, as in a softmax over the channels of images: lengths that
divide nothing, aligned or not, in several types. ACROSS_FULL=1 takes sizes of which a GPU is busy.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

FULL = os.environ.get("ACROSS_FULL") == "1"
BATCH = 640 if FULL else 2


def softmax(x):
    return F.softmax(x, dim=1)


def largest(x):
    return torch.tanh(x.amax(1))


def average_and_softmax(x):
    return F.softmax(x.view(x.shape[0], 8, -1, x.shape[2]).mean(2) + 1, dim=1) * 2


def norm(x):
    return (x - x.mean(1, keepdim=True)) * torch.rsqrt(x.var(1, keepdim=True, correction=0) + 1e-5)


def least(x):
    return x.argmin(1)


def logsumexp(x):
    return torch.relu(torch.logsumexp(x, 1))


ACROSS = (
    (softmax, (64, 1000), torch.float32),
    (softmax, (16, 1001), torch.float32),
    (largest, (64, 1002), torch.float32),
    (largest, (7, 4096), torch.bfloat16),
    (average_and_softmax, (128, 900), torch.float32),
    (norm, (48, 1024), torch.float32),
    (norm, (100, 777), torch.bfloat16),
    (least, (30, 1024), torch.float32),
    (logsumexp, (128, 513), torch.float32),
    (softmax, (600, 700), torch.float32),
)


class Every(nn.Module):
    def forward(self, *inputs):
        return tuple(one(x) for (one, _, _), x in zip(ACROSS, inputs))


def every():
    return Every(), [torch.randn(BATCH, *shape).to(dtype) for _, shape, dtype in ACROSS]
