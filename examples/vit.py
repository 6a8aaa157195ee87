"""Hugging Face's ViT in the size of ViT-L/16, two layers of it unless asked for more, weights random.

Needs the package `transformers`. Environment: VIT_LAYERS=24 (default 2), VIT_BATCH=1 (default 32);
elsewhere than on a GPU, or with VIT_SMALL=1, the model is small.
"""

import os

import torch
from torch import nn

try:
    from transformers import ViTConfig, ViTModel
except ImportError as error:
    raise ImportError("examples/vit.py needs the package transformers: pip install transformers") from error

WISH = os.environ.get("VIT_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH = int(os.environ.get("VIT_BATCH", "2" if SMALL else "32"))
LAYERS = int(os.environ.get("VIT_LAYERS", "2"))


def config():
    size = (
        {"hidden_size": 128, "intermediate_size": 256, "num_attention_heads": 2, "image_size": 64}
        if SMALL
        else {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16}
    )
    return ViTConfig(**size, num_hidden_layers=LAYERS, attn_implementation="sdpa")


class Model(nn.Module):
    """Images in, the last layer's hidden states out."""

    def __init__(self):
        super().__init__()
        self.model = ViTModel(config(), add_pooling_layer=False)

    def forward(self, images):
        return self.model(pixel_values=images).last_hidden_state


def get_inputs():
    side = config().image_size
    return [torch.randn(BATCH, 3, side, side)]


def get_init_inputs():
    return []
