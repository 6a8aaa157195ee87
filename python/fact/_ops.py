"""Finds and loads the operator library."""

import functools
import os
import pathlib
import threading

import torch

from fact._fallback import warn


def library_path() -> pathlib.Path:
    """FACT_OPS if it is set, else where the repository's build puts it."""
    named = os.environ.get("FACT_OPS")
    if named:
        return pathlib.Path(named)
    root = pathlib.Path(__file__).resolve().parents[2]
    return root / "build" / "release" / "torch" / "libfact_ops.so"


_loading = threading.Lock()


@functools.cache
def ops():
    """torch.ops.fact, with its library loaded."""
    with _loading:
        return _loaded()[0]


@functools.cache
def _loaded():
    """Loads the operators and registers their Python parts, for the life of the process."""
    path = library_path()
    if not path.exists():
        raise RuntimeError(
            f"FACT's operator library is not at {path}: build FACT with PyTorch, or set FACT_OPS"
        )
    torch.ops.load_library(str(path))
    python_side = torch.library.Library("fact", "IMPL")
    python_side.impl("fell_back", warn, "CompositeImplicitAutograd")
    return torch.ops.fact, python_side


def load_operators():
    """Makes torch know FACT's operators: before torch.export.load or torch.jit.load of a program that
    calls them. Packages and kernels are opened by the programs themselves."""
    ops()
