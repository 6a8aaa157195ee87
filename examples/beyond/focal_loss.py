"""RetinaNet's classification loss as torchvision writes it (`sigmoid_focal_loss`): every anchor
against every class, easy ones weighed down, anchors between foreground and background left out.

Pointwise from the logits on, then summed. BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn
from torch.nn import functional as F

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
IMAGES, ANCHORS, CLASSES = (2, 48, 16) if SMALL else (16, 49104, 80)


class Model(nn.Module):
    def __init__(self, alpha=0.25, gamma=2.0):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma

    def forward(self, logits, targets, valid, foreground):
        p = torch.sigmoid(logits)
        ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        p_t = p * targets + (1 - p) * (1 - targets)
        loss = ce * ((1 - p_t) ** self.gamma)
        alpha_t = self.alpha * targets + (1 - self.alpha) * (1 - targets)
        loss = (alpha_t * loss).sum(dim=-1)
        return ((loss * valid).sum(dim=-1) / foreground.clamp(min=1.0)).mean()


def get_inputs():
    logits = torch.randn(IMAGES, ANCHORS, CLASSES) * 2 - 3
    targets = (torch.rand(IMAGES, ANCHORS, CLASSES) < 0.01).float()
    valid = (torch.rand(IMAGES, ANCHORS) < 0.95).float()
    return [logits, targets, valid, torch.full((IMAGES,), 100.0)]


def get_init_inputs():
    return []
