"""A package as an nn.Module with the original's signature and state_dict."""

import json
import os
import warnings
import weakref
from collections.abc import Mapping

import torch
from torch.utils import _pytree as pytree

from ._built_in import BuiltIn, built_in_buffers
from ._call import Signature, check_value
from ._ops import ops


class _Handle:
    """An open package, closed when the last module that runs it goes; copies share it."""

    def __init__(self, path):
        self.number = ops().open_package(path)
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
    linears behind one another), made anew when torch says that a weight has changed. Two changes go
    unseen: one through `.data`, and one after a call was captured into a CUDA graph (capture again).
    """

    def __init__(self, path, weights=None):
        super().__init__()
        self.path = os.fspath(path)
        self._handle = _Handle(self.path)
        signature = json.loads(ops().package_signature(self._handle.number))
        self._inputs = signature["inputs"]
        self._outputs = signature["outputs"]
        self._in_spec = pytree.treespec_loads(signature["in_spec"])
        self._out_spec = pytree.treespec_loads(signature["out_spec"])
        manifest = _manifest(self.path)
        original = manifest.get("original") or {}  # older packages have none
        self._signature, self._names = _traced_call(self._in_spec, original.get("parameters"))
        built_in = built_in_buffers(self.path)
        given = _given(weights)
        _check_known(self.path, signature["weights"], given)
        if original.get("without_weights"):
            _check_complete(self.path, signature["weights"], given)
        stored = self._stored(signature["weights"], set(given) - set(built_in))
        weights = []
        for entry in signature["weights"]:
            if entry["fqn"] in given:
                _check_fits(entry, given[entry["fqn"]])
            weights.append((entry, given.get(entry["fqn"], stored.get(entry["fqn"]))))
        order = {name: position for position, name in enumerate(original.get("state_dict", []))}
        weights.sort(key=lambda weight: order.get(weight[0]["fqn"], len(order)))
        parameters = {}  # aliased weights come as one tensor and must become one parameter
        for entry, tensor in weights:
            if entry["parameter"]:
                fresh = torch.nn.Parameter(tensor.detach(), requires_grad=False)
                _register(self, entry["fqn"], parameters.setdefault(id(tensor), fresh))
            else:
                _register(self, entry["fqn"], tensor, entry["persistent"])
        # The archive's values are the ones the kernels were made for.
        self._built_in = {name: BuiltIn(stored[name]) for name in built_in}
        self._traced_in_training = bool(manifest.get("training"))
        for module in self.modules():
            module.training = self._traced_in_training

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
            known.check(name, _attribute(self, name))
        tensors = self._tensors(flat)
        if torch.is_grad_enabled():
            for entry, tensor in tensors:
                if tensor.requires_grad:
                    raise RuntimeError(
                        f"{_name(entry)} requires a gradient and packages have no backward: "
                        "call under torch.no_grad() or detach it"
                    )
        results = iter(ops().run_package(self._handle.number, [tensor for _, tensor in tensors]))
        flat_results = [
            next(results) if entry["tensor"] else entry.get("fixed") for entry in self._outputs
        ]
        return pytree.tree_unflatten(flat_results, self._out_spec)

    def _stored(self, entries, without):
        """The archive's weights by name, but for some."""
        wanted = [i for i, entry in enumerate(entries) if entry["fqn"] not in without]
        tensors = ops().package_weights(self._handle.number, wanted)
        return {entries[i]["fqn"]: tensor for i, tensor in zip(wanted, tensors)}

    def extra_repr(self):
        return self.path

    def _tensors(self, flat):
        """The graph's tensor inputs in order, each with its entry of the signature."""
        given = iter(zip(flat, self._names))
        tensors = []
        for entry in self._inputs:
            if not entry["user"]:
                tensors.append((entry, _attribute(self, entry["fqn"])))
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


def load(path, weights=None) -> PackagedModule:
    """Loads a package folder that `fact optimize` or `fact compose` wrote.

    `weights`, the original module or a state_dict, are shared with it, not copied; what they do not
    hold comes from the package. One that was made `--without-weights` needs them.
    """
    return PackagedModule(path, weights)


def needs_weights(path):
    """Whether the package was made without its own."""
    original = _manifest(os.fspath(path)).get("original") or {}
    return bool(original.get("without_weights"))


def _check_shape(name, entry, tensor):
    """Sizes are part of what was traced: the graph may hold numbers that follow from them."""
    if "sizes" in entry and list(tensor.shape) != entry["sizes"]:
        raise ValueError(
            f"{name} was {entry['dtype']}{entry['sizes']} when the module was traced, got "
            f"{_kind(tensor)}; trace it again with the other shape"
        )


def _kind(tensor):
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _given(weights):
    """Parameters and buffers by name."""
    if weights is None:
        return {}
    if isinstance(weights, torch.nn.Module):
        return {
            **dict(weights.named_parameters(remove_duplicate=False)),
            **dict(weights.named_buffers(remove_duplicate=False)),
        }
    if not isinstance(weights, Mapping):
        raise TypeError(
            f"weights are a module or a state_dict, got {type(weights).__name__}; "
            "torch.load gives the state_dict of a file"
        )
    return dict(weights)


def _check_known(path, entries, given):
    """Some of what was given must be the module's: else it is another's, or has other names."""
    names = [entry["fqn"] for entry in entries]
    if given and names and not any(name in given for name in names):
        raise ValueError(
            f"none of the weights that were given are those of {path}: it has {names[0]}, "
            f"they have {next(iter(given))}"
        )


def _check_complete(path, entries, given):
    missing = [entry["fqn"] for entry in entries if entry["parameter"] and entry["fqn"] not in given]
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ValueError(
            f"{path} was made without weights, and {missing[0]}{others} was not given: "
            "fact.load(path, weights=module), with the original module or a state_dict"
        )


def _check_fits(entry, tensor):
    if _kind(tensor) != f"{entry['dtype']}{entry['sizes']}":
        raise ValueError(
            f"{entry['fqn']} was {entry['dtype']}{entry['sizes']} when the module was traced, "
            f"got {_kind(tensor)}"
        )


def _manifest(path):
    """Of a package; a bare archive has none."""
    if not os.path.isdir(path):
        return {}
    with open(os.path.join(path, "manifest.json"), encoding="utf-8") as file:
        return json.load(file)


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


def _register(root, fqn, tensor, persistent=True):
    *path, name = fqn.split(".")
    module = root
    for part in path:
        if part not in module._modules:
            module.add_module(part, torch.nn.Module())
        module = module._modules[part]
    if isinstance(tensor, torch.nn.Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor, persistent=persistent)


def _attribute(root, fqn):
    value = root
    for part in fqn.split("."):
        value = getattr(value, part)
    return value
