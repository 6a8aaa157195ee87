"""Hugging Face's Qwen2 in the size of Qwen2 0.5B, four layers of it unless asked for more, weights
random.

Needs the package `transformers`. Environment: QWEN2_LAYERS=24 (default 4), QWEN2_BATCH=1 (default 4);
elsewhere than on a GPU, or with QWEN2_SMALL=1, the model is small.
"""

import os

import torch
from torch import nn

try:
    from transformers import Qwen2Config, Qwen2Model
except ImportError as error:
    raise ImportError("examples/qwen2.py needs the package transformers: pip install transformers") from error

WISH = os.environ.get("QWEN2_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH = int(os.environ.get("QWEN2_BATCH", "2" if SMALL else "4"))
LAYERS = int(os.environ.get("QWEN2_LAYERS", "4"))
TOKENS = 64 if SMALL else 1024


def config():
    size = (
        {
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "vocab_size": 512,
        }
        if SMALL
        else {
            "hidden_size": 896,
            "intermediate_size": 4864,
            "num_attention_heads": 14,
            "num_key_value_heads": 2,
            "vocab_size": 151936,
        }
    )
    return Qwen2Config(**size, num_hidden_layers=LAYERS, attn_implementation="sdpa")


class Model(nn.Module):
    """Tokens in, the last layer's hidden states out."""

    def __init__(self):
        super().__init__()
        self.model = Qwen2Model(config())

    def forward(self, tokens):
        return self.model(input_ids=tokens, use_cache=False).last_hidden_state


def get_inputs():
    return [torch.randint(0, config().vocab_size, (BATCH, TOKENS))]


def get_init_inputs():
    return []
