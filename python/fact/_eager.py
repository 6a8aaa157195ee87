"""Runs the original module for comparison with its package."""

import copy

import torch
from torch.utils import _pytree as pytree

from fact._blame import blame
from fact._errors import BadInput

# What the interpreter, which replaces kernels on a CPU, can compute in a few minutes.
MOST_INTERPRETED_FLOPS = 2e10
# Weights times elements of the inputs, and these elements: a module with no more than both runs quickly
# on a CPU, one without weights too.
FEW_PRODUCTS = 1e9
FEW_ELEMENTS = 1e7


def tensors_of(result):
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def call(module, inputs, spec):
    """The module's results; needed because torch.export accepts modules that cannot run."""
    try:
        with torch.no_grad():
            return module(*inputs)
    except Exception as error:  # torch raises many kinds
        raise BadInput(blame(spec, error, "the module itself fails")) from error


def try_out(module, inputs, spec):
    """Calls a small module once, so that one that cannot run is found before optimizing."""
    weights = sum(parameter.numel() for parameter in module.parameters())
    elements = sum(tensor.numel() for tensor in tensors_of(inputs))
    if weights * elements > FEW_PRODUCTS or elements > FEW_ELEMENTS:
        return
    buffers = Buffers(module)
    call(module, inputs, spec)
    buffers.restore()


class Buffers:
    """A copy of a module's buffers: calls may change them, and each compared call starts from these."""

    def __init__(self, module):
        self._kept = [(buffer, buffer.clone()) for buffer in module.buffers()]

    @torch.no_grad()
    def restore(self):
        for buffer, kept in self._kept:
            if not torch.equal(buffer, kept):
                buffer.copy_(kept)


def repeats(work, buffers):
    """Whether two calls from the same state give the same results, up to rounding: sums may be added up
    in another order, as on CPUs, where it depends on how memory is aligned."""
    results = []
    for _ in range(2):
        results.append(tensors_of(work()))
        buffers.restore()
    return all(map(_same_up_to_rounding, *results))


def _same_up_to_rounding(a, b):
    a, b = torch.nan_to_num(a), torch.nan_to_num(b)
    if torch.equal(a, b) or not a.is_floating_point():
        return torch.equal(a, b)
    ulps = 16 * torch.finfo(a.dtype).eps
    return bool((a - b).abs().max() <= ulps * a.abs().max())


def flops(module, inputs):
    """The flops of one call, counted without computing; 0 if that is not possible."""
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    try:
        shapes = copy.deepcopy(module).to("meta")
        with counter:
            shapes(*pytree.tree_map(_to_meta, inputs))
    except Exception:  # it does not run on the meta device, or not at all
        return 0
    return counter.get_total_flops()


def _to_meta(value):
    return value.to("meta") if isinstance(value, torch.Tensor) else value
