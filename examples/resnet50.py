"""Hugging Face's ResNet-50, weights and batch statistics random.

Needs the package `transformers`. Environment: RESNET_BATCH=1 (default 64), RESNET_CHANNELS_LAST=1 for
weights and images in that layout; elsewhere than on a GPU, or with RESNET_SMALL=1, the model is small.
"""

import os

import torch
from torch import nn

try:
    from transformers import ResNetConfig, ResNetForImageClassification
except ImportError as error:
    raise ImportError("examples/resnet50.py needs the package transformers: pip install transformers") from error

WISH = os.environ.get("RESNET_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH = int(os.environ.get("RESNET_BATCH", "2" if SMALL else "64"))
SIDE = 64 if SMALL else 224
CHANNELS_LAST = os.environ.get("RESNET_CHANNELS_LAST", "0") != "0"


def config():
    if SMALL:
        return ResNetConfig(embedding_size=16, hidden_sizes=[32, 64], depths=[1, 2], num_labels=10)
    return ResNetConfig(num_labels=1000)  # the defaults are ResNet-50's


class Model(nn.Module):
    """Images in, the scores of classes out."""

    def __init__(self):
        super().__init__()
        self.model = ResNetForImageClassification(config())
        for norm in self.modules():
            if isinstance(norm, nn.BatchNorm2d):
                nn.init.normal_(norm.running_mean, std=0.1)
                nn.init.uniform_(norm.running_var, 0.5, 2.0)
        if CHANNELS_LAST:
            self.to(memory_format=torch.channels_last)

    def forward(self, images):
        return self.model(pixel_values=images).logits


def get_inputs():
    images = torch.randn(BATCH, 3, SIDE, SIDE)
    return [images.to(memory_format=torch.channels_last) if CHANNELS_LAST else images]


def get_init_inputs():
    return []
