"""The router of Switch Transformers after its product, for all layers at once: probabilities in
f32, the expert of each token and its weight, the z-loss, and the loss that balances the experts'
load.

Rows of experts, then means over tokens. BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
LAYERS, TOKENS, EXPERTS = (2, 64, 16) if SMALL else (24, 8192, 128)


class Model(nn.Module):
    def forward(self, logits, mask):
        logits = logits.float()
        probabilities = torch.softmax(logits, dim=-1)
        weight = probabilities.amax(dim=-1, keepdim=True)
        chosen = (probabilities == weight).float() * mask[..., None]
        dispatch = (chosen * weight).to(mask.dtype)

        z_loss = (torch.logsumexp(logits, dim=-1).pow(2) * mask).mean()
        load = chosen.mean(dim=1)
        importance = (probabilities * mask[..., None]).mean(dim=1)
        balance = (load * importance).sum(dim=-1).mean() * EXPERTS
        return dispatch, z_loss, balance


def get_inputs():
    logits = torch.randn(LAYERS, TOKENS, EXPERTS) * 2
    return [logits, (torch.rand(LAYERS, TOKENS) < 0.9).float()]


def get_init_inputs():
    return []
