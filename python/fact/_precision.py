"""torch's precision settings: recorded with a module, used by its kernels and its baseline."""

import contextlib


def recorded():
    """The current settings, for extra/fact.json (the core reads the booleans)."""
    import torch

    return {
        "tf32_products": _products() == "tf32",
        "tf32_convolutions": _convolutions() == "tf32",
        "reduced_bf16_sums": _flag("allow_bf16_reduced_precision_reduction", True),
        "reduced_fp16_sums": _flag("allow_fp16_reduced_precision_reduction", True),
        "fp16_accumulation": _flag("allow_fp16_accumulation", False),
        "matmul_fp32_precision": _products(),
        "cudnn_conv_fp32_precision": _convolutions(),
        "float32_matmul_precision": _or_none(torch.get_float32_matmul_precision),
    }


def allow_tf32():
    """Allows TF32 in products and convolutions, whatever the settings are."""
    _set_tf32(True, True)


@contextlib.contextmanager
def restored():
    """Restores the settings afterwards."""
    before = recorded()
    try:
        yield
    finally:
        _restore(before)


def _products():
    """"tf32", or another word for what cuBLAS computes fp32 products in."""
    from torch.backends import cuda

    # The older flag cannot be read if a newer one was set; torch 2.10 has both.
    if hasattr(cuda.matmul, "fp32_precision"):
        return cuda.matmul.fp32_precision
    return "tf32" if cuda.matmul.allow_tf32 else "ieee"


def _convolutions():
    from torch.backends import cudnn

    if hasattr(cudnn, "conv"):
        return cudnn.conv.fp32_precision
    return "tf32" if cudnn.allow_tf32 else "ieee"


def _flag(name, usual):
    import torch

    value = getattr(torch.backends.cuda.matmul, name, usual)
    return bool(value[0] if isinstance(value, tuple) else value)


def _or_none(read):
    try:
        return read()
    except RuntimeError:  # old and new settings that do not agree
        return None


def _set_tf32(products, convolutions):
    from torch.backends import cuda, cudnn

    # The older flags set the newer ones too.
    cuda.matmul.allow_tf32 = products
    cudnn.allow_tf32 = convolutions


def _restore(settings):
    import torch
    from torch.backends import cuda

    _set_tf32(settings["tf32_products"], settings["tf32_convolutions"])
    if settings["float32_matmul_precision"] is not None:
        torch.set_float32_matmul_precision(settings["float32_matmul_precision"])
    cuda.matmul.allow_bf16_reduced_precision_reduction = settings["reduced_bf16_sums"]
    cuda.matmul.allow_fp16_reduced_precision_reduction = settings["reduced_fp16_sums"]
    if hasattr(cuda.matmul, "allow_fp16_accumulation"):
        cuda.matmul.allow_fp16_accumulation = settings["fp16_accumulation"]
