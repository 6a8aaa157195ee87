"""Hugging Face's Llama with a head, in the size of Llama 3 8B, in bf16, weights random.

Needs the package `transformers`. The weights are made where they are used: on the GPU where there is
one. Environment: LLAMA_ATTENTION=eager (default sdpa), LLAMA_BATCH=2 (default 1), LLAMA_LAYERS=2
(default 32, small 4); elsewhere than on a GPU, or with LLAMA_SMALL=1, the model is small.
"""

import os

import torch
from torch import nn

try:
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as error:
    raise ImportError("examples/llama_model.py needs the package transformers: pip install transformers") from error

WISH = os.environ.get("LLAMA_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH = int(os.environ.get("LLAMA_BATCH", "1"))
LAYERS = int(os.environ.get("LLAMA_LAYERS", "4" if SMALL else "32"))
TOKENS = 64 if SMALL else 2048
DTYPE = torch.bfloat16


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
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "vocab_size": 128256,
        }
    )
    return LlamaConfig(
        **size,
        num_hidden_layers=LAYERS,
        max_position_embeddings=8192,
        rope_theta=500000.0,
        attn_implementation=os.environ.get("LLAMA_ATTENTION", "sdpa"),
    )


class Model(nn.Module):
    """Tokens in, the logits of the next ones out."""

    def __init__(self):
        super().__init__()
        before = torch.get_default_dtype()
        torch.set_default_dtype(DTYPE)  # 8 billion weights are never held in 32 bits
        try:
            with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
                self.model = LlamaForCausalLM(config())
        finally:
            torch.set_default_dtype(before)

    def forward(self, tokens):
        return self.model(input_ids=tokens, use_cache=False).logits


def get_inputs():
    return [torch.randint(0, config().vocab_size, (BATCH, TOKENS))]


def get_init_inputs():
    return []
