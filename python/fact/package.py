"""A package as an nn.Module with the original's signature and state_dict."""

import itertools
import json
import os
import warnings

import torch

from ._call import check_value
from ._open_package import OpenPackage, manifest
from ._ops import ops
from ._status import Status, patterns
from ._structure import describe
from ._weights import Weights, find, kind


class PackagedModule(torch.nn.Module):
    """Runs a package: the composed graph through FACT's executor.

    Weights are ordinary parameters and buffers under their original names, given to the executor on
    every call, so `to` a device, `load_state_dict` and sharing work as on any module. Cast to
    another dtype, it runs torch's own operators, which fail if the traced graph names the old
    dtype. Inference only.

    What it computes is one operator, fact::run_package, which torch.compile, torch.export and
    torch.jit.trace keep as it is. Their programs, and pickles, name the package by its path and the
    SHA-256 of its manifest: it is opened again where they are used, and refused if it has changed.

    Kernels keep what they prepare from weights (f32 weights split into parts, weights times a
    norm's gain, the weights of several linears joined), and prepare it again when a weight is
    replaced or torch has counted a change of it. A change that torch does not count goes unnoticed
    until `refresh()`: a write through `.data`, or by a replayed CUDA graph, a kernel of your own,
    DLPack or a collective. A captured CUDA graph, too, reads what is kept: after weights have
    changed, call the module once, then replay.
    """

    def __init__(self, path, weights=None, partial=False, strict=False, allow=()):
        super().__init__()
        self._package = OpenPackage.at(path, allow)
        self._strict = strict
        self.path = self._package.path
        entries, original = self._package.weights, self._package.original
        given = Weights(
            self.path,
            entries,
            original.get("state_dict", ()),
            weights,
            partial,
            original.get("without_weights", False),
        )
        self._sources = given.register(self, self._stored(entries, given.given()))
        self._traced_in_training = self._package.training
        for module in self.modules():
            module.training = self._traced_in_training
        self._load_kernels()
        if strict:
            self._refuse_what_cannot_run()

    def train(self, mode=True):
        """Changes nothing: only the mode that was traced can be run. Warns if `mode` is the other
        one."""
        if mode != self._traced_in_training:
            warnings.warn(
                f"this package was traced in {'training' if self._traced_in_training else 'eval'} "
                f"mode and stays in it; `fact optimize{'' if mode is False else ' --training'}` "
                "makes one for the other mode",
                stacklevel=2,
            )
        return self

    def forward(self, *args, **kwargs):
        package = self._package
        if package.signature:
            args, kwargs = package.signature.arrange(args, kwargs), {}
        leaves = package.arguments.leaves((tuple(args), kwargs))
        if leaves is None:
            raise TypeError(
                f"this package was traced with the arguments {package.arguments.describe()}, "
                f"got {describe((args, kwargs))}"
            )
        results = torch.ops.fact.run_package.default(
            package.name, self._tensors(leaves), self._strict
        )
        first_written = len(results) - len(package.written)
        _write([find(self, place) for place in package.written], results[first_written:])
        next_result, flat = 0, []
        for entry in package.outputs:
            flat.append(results[next_result] if entry["tensor"] else entry.get("fixed"))
            next_result += entry["tensor"]
        return package.results.build(flat)

    def _stored(self, entries, without):
        """The archive's weights by name, except those in `without`."""
        wanted = [i for i, entry in enumerate(entries) if entry["fqn"] not in without]
        tensors = ops().package_weights(self._package.name, wanted)
        return {entries[i]["fqn"]: tensor for i, tensor in zip(wanted, tensors)}

    def status(self):
        """For every pattern whether its kernel runs, or why not; for every weight whether it was
        given or is the package's own. Prints as a table."""
        device = self._device()
        calls = json.loads(ops().package_status(self._package.name, device))
        return Status(self.path, str(device), patterns(calls), dict(self._sources))

    def refresh(self):
        """At the next call, kernels prepare again what they keep of weights: needed after a weight
        was written in a way that torch does not count. After that call, captured CUDA graphs also
        read what was prepared anew."""
        ops().refresh_package(self._package.name)

    def _device(self):
        """The device of the weights; without any, the default device."""
        first = next(itertools.chain(self.parameters(), self.buffers()), None)
        return _current_device() if first is None else first.device

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self._load_kernels()
        return self

    def _load_kernels(self):
        """Loads kernels onto the GPUs that hold weights: a call captured into a CUDA graph cannot do it."""
        held = itertools.chain(self.parameters(), self.buffers())
        for index in {tensor.device.index for tensor in held if tensor.is_cuda}:
            ops().load_package_on(self._package.name, index)

    def _refuse_what_cannot_run(self):
        device = self._device()
        if device.type == "cpu":  # the module may be moved to the GPU later
            device = _current_device()
        found = patterns(json.loads(ops().package_status(self._package.name, device)))
        for pattern in found:
            if not pattern.runs:
                raise RuntimeError(
                    f"{self.path} was loaded with strict=True, and the kernel of {pattern.name} cannot "
                    f"run: {pattern.reason}"
                )

    def extra_repr(self):
        return self.path

    def _tensors(self, leaves):
        """The graph's tensor inputs in order."""
        next_leaf, tensors = 0, []
        for entry in self._package.inputs:
            if not entry["user"]:
                tensors.append(find(self, entry["place"]))
                continue
            value, name = leaves[next_leaf], self._package.names[next_leaf]
            next_leaf += 1
            if "fixed" in entry:
                check_value(name, value, entry["fixed"])
            elif not isinstance(value, torch.Tensor):
                raise TypeError(
                    f"{name} was a tensor when the module was traced, got {type(value).__name__}"
                )
            else:
                _check_shape(name, entry, value)
                tensors.append(value)
        return tensors


def load(path, weights=None, *, partial=False, strict=False, allow=()) -> PackagedModule:
    """Loads a package folder that `fact optimize` or `fact compose` wrote.

    `weights`, the original module or a state_dict, are shared with the package, not copied. They
    have to match the package's weights exactly, by name, element type and shape; with `partial`
    some may be missing, and the package keeps its own values of them. A package made
    `--without-weights` has no values of its own. `module.status()` says for each weight whether it
    was given or stored.

    Where a kernel cannot run, torch's operators do, with a `fact.FallbackWarning`. With `strict` that
    is an error: at loading if a kernel cannot run on this machine's GPU at all, and at every call.

    A package is code (docs/packages.md): load those of people you trust. Every file is compared with
    the manifest. `allow` names what it may use beside torch's own operators and Python's own
    containers: namespaces of operators ("torchvision"), and Python packages that may be imported
    for the classes of its results.
    """
    return PackagedModule(path, weights, partial, strict, allow)


def declared_namespaces(path):
    """The namespaces of the operators that a package calls, for callers that made the package
    themselves and so trust it."""
    return manifest(os.fspath(path)).get("namespaces", [])


def needs_weights(path):
    """Whether the package was made without weights."""
    original = manifest(os.fspath(path)).get("original") or {}
    return bool(original.get("without_weights"))


def _write(buffers, values):
    """Gives buffers their new values: all of one type in one launch, as networks with batch norms have
    hundreds."""
    by_type = {}
    for buffer, value in zip(buffers, values):
        same = by_type.setdefault((buffer.device, buffer.dtype, value.dtype), ([], []))
        same[0].append(buffer)
        same[1].append(value)
    for all_buffers, all_values in by_type.values():
        torch._foreach_copy_(all_buffers, all_values)


def _current_device():
    available = torch.cuda.is_available()
    return torch.device("cuda", torch.cuda.current_device()) if available else torch.device("cpu")


def _check_shape(name, entry, tensor):
    """Sizes are part of what was traced: the graph may hold numbers that follow from them. The
    operator checks them too, but does not know what the caller calls the tensor."""
    if torch.jit.is_tracing():
        return
    if "sizes" in entry and list(tensor.shape) != entry["sizes"]:
        raise ValueError(
            f"{name} was {entry['dtype']}{entry['sizes']} when the module was traced, got "
            f"{kind(tensor)}; trace it again with the other shape"
        )
