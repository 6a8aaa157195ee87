"""Finds and loads the operator library."""

import functools
import os
import pathlib

import torch

from fact._fallback import warn


def library_path() -> pathlib.Path:
    """FACT_OPS if it is set, else where the repository's build puts it."""
    named = os.environ.get("FACT_OPS")
    if named:
        return pathlib.Path(named)
    root = pathlib.Path(__file__).resolve().parents[2]
    return root / "build" / "release" / "torch" / "libfact_ops.so"


@functools.cache
def ops():
    """torch.ops.fact, its library loaded."""
    path = library_path()
    if not path.exists():
        raise RuntimeError(
            f"FACT's operator library is not at {path}: build FACT with PyTorch, or set FACT_OPS"
        )
    torch.ops.load_library(str(path))
    _python_side().impl("fell_back", warn, "CompositeImplicitAutograd")
    return torch.ops.fact


@functools.cache
def _python_side():
    """What Python implements of the library's operators, for the life of the process."""
    return torch.library.Library("fact", "IMPL")
