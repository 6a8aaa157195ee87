"""What TRL makes of a policy's logits in GRPO: the log-probability of each sampled token, the
entropy of its distribution, and the clipped loss with a divergence from the reference model.

The logits are given: rules leave all of it to torch. BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH, TOKENS, WORDS = (2, 32, 512) if SMALL else (8, 1024, 16384)


class Model(nn.Module):
    def __init__(self, temperature=0.9, epsilon=0.2, beta=0.04):
        super().__init__()
        self.temperature, self.epsilon, self.beta = temperature, epsilon, beta

    def forward(self, logits, tokens, old, reference, advantages, mask):
        every = F.log_softmax(logits.float() / self.temperature, dim=-1)
        chosen = every.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        entropy = -(torch.exp(every) * every).sum(dim=-1)

        ratio = torch.exp(chosen - old)
        clipped = torch.clamp(ratio, 1 - self.epsilon, 1 + self.epsilon)
        gain = torch.min(ratio * advantages[:, None], clipped * advantages[:, None])
        away = reference - chosen
        loss = self.beta * (torch.exp(away) - away - 1) - gain
        return (loss * mask).sum(-1) / mask.sum(-1).clamp(min=1.0), entropy


def get_inputs():
    logits = torch.randn(BATCH, TOKENS, WORDS) * 3
    tokens = torch.randint(WORDS, (BATCH, TOKENS))
    old, reference = -torch.rand(BATCH, TOKENS) * 9, -torch.rand(BATCH, TOKENS) * 9
    mask = (torch.rand(BATCH, TOKENS) < 0.9).float()
    return [logits, tokens, old, reference, torch.randn(BATCH), mask]


def get_init_inputs():
    return []
