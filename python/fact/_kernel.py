"""Calls a kernel that `fact kernel build` compiled from a kernel text."""

import os
import weakref

import torch

from fact._ops import ops


class Kernel:
    """Takes the text's parameters, in order or by name, and gives a new tensor for each output (a
    tuple where there are several). On CPU tensors the text is interpreted.

    A call is one operator, fact::run_kernel, which torch.compile and torch.export keep. Copies share
    the kernel; a pickle holds path and content hash of its folder, and opens it again.
    """

    def __init__(self, name):
        """`name` is open already, and is closed with this object."""
        # Not at exit: the GPU may no longer be usable.
        weakref.finalize(self, ops().close_kernel, name).atexit = False
        self._name = name
        self.params = tuple(ops().kernel_params(name))

    def __call__(self, *tensors, **named):
        if named:
            tensors = self._in_order(tensors, named)
        device = next((x.device for x in tensors if isinstance(x, torch.Tensor)), None)
        outputs = torch.ops.fact.run_kernel.default(
            self._name, [_as_tensor(x, device) for x in tensors]
        )
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _in_order(self, tensors, named):
        unknown = [name for name in named if name not in self.params[len(tensors) :]]
        if unknown:
            raise TypeError(f"the kernel takes {', '.join(self.params)}; got {unknown[0]!r} as well")
        missing = [name for name in self.params[len(tensors) :] if name not in named]
        if missing:
            raise TypeError(f"the kernel also takes {', '.join(missing)}")
        return tensors + tuple(named[name] for name in self.params[len(tensors) :])

    @classmethod
    def again(cls, name):
        """Opens the kernel of this name once more, such as for a pickle."""
        ops().reopen_kernel(name)
        return cls(name)

    def __reduce__(self):
        return Kernel.again, (self._name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def _as_tensor(value, device):
    """A number is a scalar of the text, in f32 like all arithmetic."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # Not torch.tensor: it copies from the host, which no CUDA graph can capture.
        return torch.full((), float(value), dtype=torch.float32, device=device)
    raise TypeError(f"a kernel takes tensors, and numbers for its scalars, got {type(value).__name__}")


def kernel(folder):
    """The kernel in a folder that `fact kernel build` wrote, as a function of tensors."""
    opened = Kernel(ops().open_kernel(os.fspath(folder)))
    # A call that is captured into a CUDA graph cannot load the kernel. Before CUDA is used nothing
    # is captured, and loading would keep the process from forking.
    if torch.cuda.is_initialized():
        ops().load_kernel_on(opened._name, torch.cuda.current_device())
    return opened
