"""The original module, as it is run beside its package."""

import copy

import torch
from torch.utils import _pytree as pytree

from fact._blame import blame
from fact._errors import BadInput

# The interpreter that stands in for kernels on a CPU is no faster than this in a few minutes.
MOST_INTERPRETED_FLOPS = 2e10
# Weights times elements of the inputs: as many products take a CPU a moment.
FEW_PRODUCTS = 1e9


def tensors_of(result):
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def call(module, inputs, spec):
    """The module's results: torch.export takes modules that do not run."""
    try:
        with torch.no_grad():
            return module(*inputs)
    except Exception as error:  # any of torch's many
        raise BadInput(blame(spec, error, "the module itself fails")) from error


def try_out(module, inputs, spec):
    """Calls a small module once, so that one that cannot run is not optimized first."""
    weights = sum(parameter.numel() for parameter in module.parameters())
    if weights * sum(tensor.numel() for tensor in tensors_of(inputs)) > FEW_PRODUCTS:
        return
    buffers = Buffers(module)
    call(module, inputs, spec)
    buffers.restore()


class Buffers:
    """A module's buffers as they are: calls may change them, and each that is compared starts here."""

    def __init__(self, module):
        self._kept = [(buffer, buffer.clone()) for buffer in module.buffers()]

    @torch.no_grad()
    def restore(self):
        for buffer, kept in self._kept:
            if not torch.equal(buffer, kept):
                buffer.copy_(kept)


def repeats(work, buffers):
    """Whether two calls of the same state give the same."""
    results = []
    for _ in range(2):
        results.append(tensors_of(work()))
        buffers.restore()
    return all(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) for a, b in zip(*results))


def flops(module, inputs):
    """Of one call, counted without computing anything; 0 where that is not possible."""
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    try:
        shapes = copy.deepcopy(module).to("meta")
        with counter:
            shapes(*pytree.tree_map(_to_meta, inputs))
    except Exception:  # it does not run so, or not at all
        return 0
    return counter.get_total_flops()


def _to_meta(value):
    return value.to("meta") if isinstance(value, torch.Tensor) else value
