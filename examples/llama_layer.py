"""One decoder layer of Hugging Face's Llama, in the size of Llama 3 8B, weights random.

Needs the package `transformers`. Environment: LLAMA_ATTENTION=eager (default sdpa), LLAMA_BATCH=1
(default 4); elsewhere than on a GPU, or with LLAMA_SMALL=1, the layer is small.
"""

import os

import torch
from torch import nn

try:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding
except ImportError as error:
    raise ImportError("examples/llama_layer.py needs the package transformers: pip install transformers") from error

WISH = os.environ.get("LLAMA_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH = int(os.environ.get("LLAMA_BATCH", "2" if SMALL else "4"))
TOKENS = 64 if SMALL else 2048
ATTENTION = os.environ.get("LLAMA_ATTENTION", "sdpa")


def config():
    size = (
        {"hidden_size": 128, "intermediate_size": 256, "num_attention_heads": 8, "num_key_value_heads": 2}
        if SMALL
        else {"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8}
    )
    return LlamaConfig(**size, num_hidden_layers=1, rope_theta=500000.0, attn_implementation=ATTENTION)


class Model(nn.Module):
    """The layer as its model calls it: hidden states, and the cosines and sines of all layers."""

    def __init__(self):
        super().__init__()
        self.layer = LlamaDecoderLayer(config(), layer_idx=0)
        # torch's operator is told that it is causal; written out, the layer is given a mask.
        if ATTENTION == "eager":
            hidden = torch.full((TOKENS, TOKENS), torch.finfo(torch.bfloat16).min).triu(1)
            self.register_buffer("mask", hidden[None, None])
        else:
            self.mask = None

    def forward(self, hidden_states, cos, sin):
        result = self.layer(hidden_states, attention_mask=self.mask, position_embeddings=(cos, sin))
        return result if isinstance(result, torch.Tensor) else result[0]


def get_inputs():
    states = torch.randn(BATCH, TOKENS, config().hidden_size)
    cos, sin = LlamaRotaryEmbedding(config())(states, torch.arange(TOKENS)[None])
    return [states, cos, sin]


def get_init_inputs():
    return []
