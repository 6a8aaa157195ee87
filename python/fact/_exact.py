"""A module in f64, which the results of all others are compared with."""

import contextlib
import copy

import torch
from torch.utils import _pytree as pytree

from fact._eager import tensors_of


def fits_in_f64(module, free):
    """Whether a copy of the module in f64 takes at most two thirds of the free bytes, which leaves
    room for its intermediate results."""
    weights = {id(x): x for x in [*module.parameters(), *module.buffers()]}.values()
    return 8 * sum(x.numel() for x in weights if x.is_floating_point()) <= free * 2 / 3


def exact_results(module, inputs, narrower=None):
    """The results of the original in f64, on the same inputs; `narrower`, a Narrower, records the
    narrower types that the module casts to itself."""
    wide = copy.deepcopy(module).double()
    widened = pytree.tree_map(
        lambda x: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x, inputs
    )
    with narrower or contextlib.nullcontext():
        return tensors_of(wide(*widened))


def own_casts(narrower):
    """A note on what the module computes in less than f64 itself, which limits the comparison."""
    if not narrower.types:
        return ""
    return f" (but {' and '.join(sorted(narrower.types))} where the module itself says so)"
