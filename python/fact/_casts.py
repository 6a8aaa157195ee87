"""Finds what a module cast to f64 still computes in a narrower type, because it casts itself."""

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode


class Narrower(TorchDispatchMode):
    """While active, records the floating types narrower than f64 in which something is computed."""

    def __init__(self):
        super().__init__()
        self.types = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for leaf in pytree.tree_leaves(result):
            # A single number is a constant of the module, not a rounding of its values.
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and leaf.dim() > 0:
                if leaf.dtype != torch.float64:
                    self.types.add(str(leaf.dtype).removeprefix("torch."))
        return result
