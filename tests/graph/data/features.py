"""What is rare in exported programs: every kind of input, output and argument at once."""
import torch
from torch import nn


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4, bias=False)
        self.second = nn.Linear(4, 4, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("table", torch.arange(12.0).view(3, 4)[:, 1:3], persistent=False)
        self.shift = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x, scale: int, flag=None):
        self.count.add_(1)
        y = self.second(self.first(x)) * scale + self.shift
        top, _ = torch.topk(y, 2, dim=-1)
        left, _ = torch.split(y, 2, dim=-1)
        picked = self.table[:, torch.tensor([1, 0])]
        flat = y.reshape(-1)
        z = torch.full((x.shape[0], 2), float("inf"))
        named = {"top": top + left, "none": None, "flat": flat, "const": 3}
        return named, picked, torch.minimum(z, top), x.half().float(), torch.fft.rfft(y).abs()
