"""A package as an nn.Module with the original's signature and state_dict."""

import itertools
import json
import os
import warnings
import weakref

import torch
from torch.utils import _pytree as pytree

from ._built_in import BuiltIn, built_in_buffers
from ._call import Signature, check_value
from ._ops import ops
from ._status import Status, patterns
from ._tree import load_spec
from ._weights import Weights, find, kind


class _Handle:
    """An open package, closed when the last module that runs it goes; copies share it."""

    def __init__(self, path, allow):
        self.number = ops().open_package(path, list(allow))
        # Not at exit: the GPU may be gone by then.
        weakref.finalize(self, ops().close_package, self.number).atexit = False

    def __deepcopy__(self, memo):
        return self


class PackagedModule(torch.nn.Module):
    """Runs a package: the composed graph through FACT's executor.

    Weights are ordinary parameters and buffers under their original names, given to the executor
    on every call, so `to` a device, `load_state_dict` and sharing work as on any module. In another
    dtype than it was made for torch's own operators run, or refuse where the traced graph names the
    old one. Inference only.

    Kernels keep what they make of weights (f32 ones split, a norm's gain in them, those of several
    linears behind one another), and make it anew when a weight is another tensor or torch has counted
    a change of it. What torch does not count goes unseen until `refresh()`: a write through `.data`,
    by a replayed CUDA graph, a kernel of one's own, DLPack or a collective. A CUDA graph that was
    captured reads what is kept, too: after weights changed, call the module once, then replay.
    """

    def __init__(self, path, weights=None, partial=False, strict=False, allow=()):
        super().__init__()
        self.path = os.fspath(path)
        self._strict = strict
        self._handle = _Handle(self.path, allow)
        signature = json.loads(ops().package_signature(self._handle.number))
        self._inputs = signature["inputs"]
        self._outputs = signature["outputs"]
        manifest = _manifest(self.path)
        classes = _classes(manifest)
        self._in_spec = load_spec(signature["in_spec"], classes, allow)
        self._out_spec = load_spec(signature["out_spec"], classes, allow)
        # Older packages have none, and a bare archive has its own.
        original = manifest.get("original") or signature["original"] or {}
        self._signature, self._names = _traced_call(self._in_spec, original.get("parameters"))
        built_in = built_in_buffers(self.path)
        given = Weights(
            self.path,
            signature["weights"],
            original.get("state_dict", ()),
            weights,
            partial,
            original.get("without_weights", False),
        )
        stored = self._stored(signature["weights"], given.given() - set(built_in))
        self._sources = given.register(self, stored)
        # The archive's values are the ones the kernels were made for.
        self._built_in = {name: BuiltIn(stored[name]) for name in built_in}
        self._traced_in_training = bool(manifest.get("training"))
        for module in self.modules():
            module.training = self._traced_in_training
        self._load_kernels()
        if strict:
            self._refuse_what_cannot_run()

    def train(self, mode=True):
        """Only what was traced can be run: the mode of a package does not change."""
        if mode != self._traced_in_training:
            warnings.warn(
                f"this package was traced in {'training' if self._traced_in_training else 'eval'} "
                f"mode and stays in it; `fact optimize{'' if mode is False else ' --training'}` "
                "makes one of the other",
                stacklevel=2,
            )
        return self

    def forward(self, *args, **kwargs):
        if self._signature:
            args, kwargs = tuple(self._signature.arrange(args, kwargs)), {}
        flat, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise TypeError(
                f"this package was traced with the arguments {_describe(self._in_spec)}, "
                f"got {_describe(spec)}"
            )
        for name, known in self._built_in.items():
            known.check(name, find(self, name))
        tensors = self._tensors(flat)
        if torch.is_grad_enabled():
            for entry, tensor in tensors:
                if tensor.requires_grad:
                    raise RuntimeError(
                        f"{_name(entry)} requires a gradient and packages have no backward: "
                        "call under torch.no_grad() or detach it"
                    )
        given = [tensor for _, tensor in tensors]
        results = iter(ops().run_package(self._handle.number, given, self._strict))
        flat_results = [
            next(results) if entry["tensor"] else entry.get("fixed") for entry in self._outputs
        ]
        return pytree.tree_unflatten(flat_results, self._out_spec)

    def _stored(self, entries, without):
        """The archive's weights by name, but for some."""
        wanted = [i for i, entry in enumerate(entries) if entry["fqn"] not in without]
        tensors = ops().package_weights(self._handle.number, wanted)
        return {entries[i]["fqn"]: tensor for i, tensor in zip(wanted, tensors)}

    def status(self):
        """Of every pattern whether its kernel runs, and why not; of every weight whether it was given
        or is the package's own. Prints as a table."""
        device = self._device()
        calls = json.loads(ops().package_status(self._handle.number, device))
        return Status(self.path, str(device), patterns(calls), dict(self._sources))

    def refresh(self):
        """Makes anew, at the next call, what kernels keep of weights: after one was written in a way
        that torch does not count. CUDA graphs that were captured see it after that call, too."""
        ops().refresh_package(self._handle.number)

    def _device(self):
        """Where the weights are; else where one would put them."""
        first = next(itertools.chain(self.parameters(), self.buffers()), None)
        return _current_device() if first is None else first.device

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self._load_kernels()
        return self

    def _load_kernels(self):
        """Onto the GPUs that hold weights: a call that is captured into a CUDA graph cannot do it."""
        held = itertools.chain(self.parameters(), self.buffers())
        for index in {tensor.device.index for tensor in held if tensor.is_cuda}:
            ops().load_package_on(self._handle.number, index)

    def _refuse_what_cannot_run(self):
        device = self._device()
        if device.type == "cpu":  # to be moved later
            device = _current_device()
        found = patterns(json.loads(ops().package_status(self._handle.number, device)))
        for pattern in found:
            if not pattern.runs:
                raise RuntimeError(
                    f"{self.path} was loaded with strict=True, and the kernel of {pattern.name} cannot "
                    f"run: {pattern.reason}"
                )

    def extra_repr(self):
        return self.path

    def _tensors(self, flat):
        """The graph's tensor inputs in order, each with its entry of the signature."""
        given = iter(zip(flat, self._names))
        tensors = []
        for entry in self._inputs:
            if not entry["user"]:
                tensors.append((entry, find(self, entry["fqn"])))
                continue
            value, name = next(given)
            if "fixed" in entry:
                check_value(name, value, entry["fixed"])
            elif not isinstance(value, torch.Tensor):
                raise TypeError(
                    f"{name} was a tensor when the module was traced, got {type(value).__name__}"
                )
            else:
                _check_shape(name, entry, value)
                tensors.append((entry, value))
        return tensors


def load(path, weights=None, *, partial=False, strict=False, allow=()) -> PackagedModule:
    """Loads a package folder that `fact optimize` or `fact compose` wrote.

    `weights`, the original module or a state_dict, are shared with it, not copied. They have to be
    all of the package's, by name, element type and shape, and no others; with `partial` the package
    keeps its own values of those that are missing. One that was made `--without-weights` has none.
    `module.status()` says of each whether it was given or stored.

    Where a kernel cannot run, torch's operators do, with a `fact.FallbackWarning`. With `strict` that
    is an error: here, where a kernel cannot run on this machine's GPU at all, and at every call.

    A package is code (docs/packages.md): load those of people you trust. Every file is compared with
    the manifest. `allow` names what it may use beside torch's own operators and Python's own
    containers: namespaces of operators ("torchvision"), and Python packages that may be imported
    for the classes of its results.
    """
    return PackagedModule(path, weights, partial, strict, allow)


def declared_namespaces(path):
    """Of the operators that a package calls: what its maker allows it by running it."""
    return _manifest(os.fspath(path)).get("namespaces", [])


def needs_weights(path):
    """Whether the package was made without its own."""
    original = _manifest(os.fspath(path)).get("original") or {}
    return bool(original.get("without_weights"))


def _current_device():
    available = torch.cuda.is_available()
    return torch.device("cuda", torch.cuda.current_device()) if available else torch.device("cpu")


def _check_shape(name, entry, tensor):
    """Sizes are part of what was traced: the graph may hold numbers that follow from them."""
    if "sizes" in entry and list(tensor.shape) != entry["sizes"]:
        raise ValueError(
            f"{name} was {entry['dtype']}{entry['sizes']} when the module was traced, got "
            f"{kind(tensor)}; trace it again with the other shape"
        )


def _manifest(path):
    """Of a package; a bare archive has none."""
    if not os.path.isdir(path):
        return {}
    with open(os.path.join(path, "manifest.json"), encoding="utf-8") as file:
        return json.load(file)


def _classes(manifest):
    """Those a package may be made of; of an archive, those that this process knows already."""
    return manifest.get("classes", pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE)


def _traced_call(in_spec, parameters):
    """The signature, where it is known, and a name for every leaf of the traced arguments."""
    args, kwargs = pytree.tree_unflatten([None] * in_spec.num_leaves, in_spec)
    signature = Signature(parameters, len(args)) if parameters and not kwargs else None
    names = []
    for path, _ in pytree.tree_flatten_with_path((args, kwargs))[0]:
        where, which, *inside = path
        if where.idx == 1:
            name = f"'{which.key}'"
        else:
            name = signature.name(which.idx) if signature else f"argument {which.idx + 1}"
        names.append(name + pytree.keystr(tuple(inside)))
    return signature, names


def _name(entry):
    return entry["fqn"] or "an input"


def _describe(spec):
    return str(pytree.tree_unflatten(["*"] * spec.num_leaves, spec))
