"""The experts of gpt-oss as Hugging Face's library runs them in parallel: gate and value lie side
by side in each expert's columns, with a bias, clamped; the results are weighed and summed.

Rules take the products; the gate stays. BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
EXPERTS, TOKENS, WIDTH = (2, 32, 64) if SMALL else (8, 4096, 2880)


class Model(nn.Module):
    def __init__(self, alpha=1.702, limit=7.0):
        super().__init__()
        self.alpha, self.limit = alpha, limit
        self.gate_up_proj = nn.Parameter(torch.randn(EXPERTS, WIDTH, 2 * WIDTH) / WIDTH**0.5)
        self.gate_up_proj_bias = nn.Parameter(torch.randn(EXPERTS, 2 * WIDTH))
        self.down_proj = nn.Parameter(torch.randn(EXPERTS, WIDTH, WIDTH) / WIDTH**0.5)
        self.down_proj_bias = nn.Parameter(torch.randn(EXPERTS, WIDTH))

    def forward(self, hidden, routing):
        hidden = hidden.expand(EXPERTS, TOKENS, WIDTH)
        gate_up = torch.bmm(hidden, self.gate_up_proj) + self.gate_up_proj_bias[..., None, :]
        gate, up = gate_up[..., ::2], gate_up[..., 1::2]
        gate = gate.clamp(min=None, max=self.limit)
        up = up.clamp(min=-self.limit, max=self.limit)
        glu = gate * torch.sigmoid(gate * self.alpha)
        states = torch.bmm((up + 1) * glu, self.down_proj) + self.down_proj_bias[..., None, :]
        return (states * routing.transpose(0, 1)[..., None]).sum(dim=0)


def get_inputs():
    routing = torch.softmax(torch.randn(TOKENS, EXPERTS), dim=-1)
    return [torch.randn(TOKENS, WIDTH), routing]


def get_init_inputs():
    return []
