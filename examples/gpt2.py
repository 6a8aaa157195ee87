"""Hugging Face's GPT-2 with its 12 layers in the size of GPT-2 small, weights random.

Needs the package `transformers`. Environment: GPT2_ATTENTION=eager (default sdpa), GPT2_BATCH=1
(default 8), GPT2_LAYERS=2 (default 12); elsewhere than on a GPU, or with GPT2_SMALL=1, the layers are
small.
"""

import os

import torch
from torch import nn

try:
    from transformers import GPT2Config, GPT2Model
except ImportError as error:
    raise ImportError("examples/gpt2.py needs the package transformers: pip install transformers") from error

WISH = os.environ.get("GPT2_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH = int(os.environ.get("GPT2_BATCH", "2" if SMALL else "8"))
LAYERS = int(os.environ.get("GPT2_LAYERS", "12"))
TOKENS = 64 if SMALL else 1024
SIZE = {"n_embd": 128, "n_head": 2, "vocab_size": 512} if SMALL else {}  # the defaults are GPT-2 small's


def config():
    return GPT2Config(
        **SIZE,
        n_layer=LAYERS,
        n_positions=TOKENS,
        attn_implementation=os.environ.get("GPT2_ATTENTION", "sdpa"),
    )


class Model(nn.Module):
    """Tokens in, the last layer's hidden states out."""

    def __init__(self):
        super().__init__()
        self.model = GPT2Model(config())

    def forward(self, tokens):
        return self.model(input_ids=tokens, use_cache=False).last_hidden_state


def get_inputs():
    return [torch.randint(0, config().vocab_size, (BATCH, TOKENS))]


def get_init_inputs():
    return []
