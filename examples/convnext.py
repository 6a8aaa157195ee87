"""Hugging Face's ConvNeXt-B, weights random.

Needs the package `transformers`. Environment: CONVNEXT_BATCH=1 (default 64), CONVNEXT_CHANNELS_LAST=1 for
weights and images in that layout; elsewhere than on a GPU, or with CONVNEXT_SMALL=1, the model is small.
"""

import os

import torch
from torch import nn

try:
    from transformers import ConvNextConfig, ConvNextForImageClassification
except ImportError as error:
    raise ImportError("examples/convnext.py needs the package transformers: pip install transformers") from error

WISH = os.environ.get("CONVNEXT_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH = int(os.environ.get("CONVNEXT_BATCH", "2" if SMALL else "64"))
SIDE = 64 if SMALL else 224
CHANNELS_LAST = os.environ.get("CONVNEXT_CHANNELS_LAST", "0") != "0"


def config():
    size = (
        {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 2, 1], "num_labels": 10}
        if SMALL
        else {"hidden_sizes": [128, 256, 512, 1024], "depths": [3, 3, 27, 3], "num_labels": 1000}
    )
    # A scale of 1e-6, as for training from scratch, would leave each block with nothing to add.
    return ConvNextConfig(**size, layer_scale_init_value=0.5)


class Model(nn.Module):
    """Images in, the scores of classes out."""

    def __init__(self):
        super().__init__()
        self.model = ConvNextForImageClassification(config())
        if CHANNELS_LAST:
            self.to(memory_format=torch.channels_last)

    def forward(self, images):
        return self.model(pixel_values=images).logits


def get_inputs():
    images = torch.randn(BATCH, 3, SIDE, SIDE)
    return [images.to(memory_format=torch.channels_last) if CHANNELS_LAST else images]


def get_init_inputs():
    return []
