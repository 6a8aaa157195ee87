"""The original module, as it is run beside its package."""

import copy

import torch
from torch.utils import _pytree as pytree

from fact._errors import BadInput

# The interpreter that stands in for kernels on a CPU is no faster than this in a few minutes.
MOST_INTERPRETED_FLOPS = 2e10
# Of a module with few weights, a call on a CPU that takes a moment.
FEW_WEIGHTS, FEW_FLOPS = 2e7, 2e9


def tensors_of(result):
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def call(module, inputs, spec):
    """The module's results: torch.export takes modules that do not run."""
    try:
        with torch.no_grad():
            return module(*inputs)
    except Exception as error:  # any of torch's many
        reason = next(iter(str(error).splitlines()), "")
        raise BadInput(
            f"{spec}: the module itself fails: {type(error).__name__}: {reason}"
        ) from error


def try_out(module, inputs, spec):
    """Calls a small module once, so that one that cannot run is not optimized first."""
    if sum(parameter.numel() for parameter in module.parameters()) > FEW_WEIGHTS:
        return
    if flops(module, inputs) > FEW_FLOPS:
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
    first = tensors_of(work())
    buffers.restore()
    second = tensors_of(work())
    buffers.restore()
    same = lambda a, b: torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))  # noqa: E731
    return all(same(a, b) for a, b in zip(first, second))


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
