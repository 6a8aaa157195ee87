"""Hugging Face's decoders whose layers look back a window only: `examples.windows:mistral`.

Needs the package `transformers`. Every factory returns two layers with random weights, and tokens:
Mistral's both have the window; of Gemma 2, Gemma 3 and Qwen 2 one has it and the other looks back to
the first token. Environment: WINDOWS_ATTENTION=eager (default sdpa); on a GPU, or with
WINDOWS_SMALL=0, the layers have the size of a model.
"""

import os

import torch
from torch import nn

try:
    import transformers
except ImportError as error:
    raise ImportError("examples/windows.py needs the package transformers: pip install transformers") from error

WISH = os.environ.get("WINDOWS_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
BATCH, TOKENS, WINDOW = (2, 48, 12) if SMALL else (4, 4096, 1024)
SIZE = (
    {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
    if SMALL
    else {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
    }
)
KINDS = ["sliding_attention", "full_attention"]


class Decoder(nn.Module):
    """Tokens in, the last layer's hidden states out."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(input_ids=tokens, use_cache=False).last_hidden_state


def decoder(kind, **more):
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        **SIZE,
        **more,
        sliding_window=WINDOW,
        num_hidden_layers=2,
        vocab_size=512,
        max_position_embeddings=2 * TOKENS,
        attn_implementation=os.environ.get("WINDOWS_ATTENTION", "sdpa"),
    )
    model = getattr(transformers, f"{kind}Model")(config).eval()
    return Decoder(model), [torch.randint(0, 512, (BATCH, TOKENS))]


def mistral():
    return decoder("Mistral")


def gemma2():
    return decoder("Gemma2", layer_types=KINDS, query_pre_attn_scalar=SIZE["head_dim"])


def gemma3():
    return decoder("Gemma3Text", layer_types=KINDS, query_pre_attn_scalar=SIZE["head_dim"])


def qwen2():
    return decoder("Qwen2", layer_types=KINDS, use_sliding_window=True)
