"""The weights of a package: each is the caller's or the package's own, by name."""

from collections.abc import Mapping

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

GIVEN, STORED = "given", "stored"


class Weights:
    """The weights that a caller gave, checked against those of the package.

    `entries` describe the package's weights, `listed` are the names of the original's state_dict,
    and `hollow` says that the package was made without weights. Names that the package does not
    know are refused, and so is a missing weight, unless the caller passed `partial`.
    """

    def __init__(self, path, entries, listed=(), given=None, partial=False, hollow=False):
        self._path, self._entries, self._listed = path, entries, list(listed)
        self._names = {entry["fqn"] for entry in entries}
        self._module = given if isinstance(given, torch.nn.Module) else None
        self._given = self._by_name(given)
        if given is not None:
            self._check_known()
            self._follow_ties()
        if hollow:
            self._check_complete()
        if given is not None:
            self._check_names(partial)
        for entry in entries:
            if entry["fqn"] in self._given:
                _check_fits(entry, self._given[entry["fqn"]])

    def given(self):
        """The names of the weights that the caller gave."""
        return self._given.keys() & self._names

    def register(self, root, stored):
        """Makes the weights parameters and buffers of `root`, in the order of the original's
        state_dict; returns for each name whether it was GIVEN or STORED."""
        order = {name: position for position, name in enumerate(self._listed)}
        entries = sorted(self._entries, key=lambda e: order.get(e["fqn"], len(order)))
        if self._module is not None:
            for entry in entries:
                self._check_constant(entry, stored)
        parameters = {}  # by their memory: one parameter under two names stays one
        sources = {}
        device = self._given_device()
        for entry in entries:
            name = entry["fqn"]
            given = self._given.get(name)
            tensor = stored[name] if given is None else given
            memory = _memory_of(tensor)
            if given is None:
                tensor = tensor.to(device=device)
            if entry["parameter"]:
                fresh = torch.nn.Parameter(_plain(tensor), requires_grad=False)
                _register_parameter(root, name, parameters.setdefault(memory, fresh))
            else:
                _register_buffer(root, name, tensor, entry["persistent"])
            sources[name] = STORED if given is None else GIVEN
        return sources

    def _given_device(self):
        """The device of the given weights, to be used for the others; None if there are several."""
        devices = {self._given[name].device for name in self.given()}
        return devices.pop() if len(devices) == 1 else None

    def _by_name(self, given):
        if given is None:
            return {}
        if self._module is not None:
            found = {
                **dict(given.named_parameters(remove_duplicate=False)),
                **dict(given.named_buffers(remove_duplicate=False)),
            }
        elif isinstance(given, Mapping):
            found = dict(given)
        else:
            raise TypeError(
                f"weights are a module or a state_dict, got {type(given).__name__}; "
                "torch.load gives the state_dict of a file"
            )
        plain = {}
        for name, tensor in found.items():
            plain.update(self._taken_apart(name, tensor))
        return plain

    def _taken_apart(self, name, tensor):
        """A quantized weight is several plain tensors in a package, under the names that torch gives
        them when it exports one."""
        first = _part_name(name, 0)
        if first not in self._names or not is_traceable_wrapper_subclass(tensor):
            return {name: tensor}
        return {_part_name(name, i): part for i, part in enumerate(_parts(tensor))}

    def _check_known(self):
        """At least one given weight must be known: otherwise they are another module's, or renamed."""
        if self._given and self._names and not self.given():
            raise ValueError(
                f"none of the weights that were given are those of {self._path}: it has "
                f"{self._entries[0]['fqn']}, they have {next(iter(self._given))}"
            )

    def _follow_ties(self):
        """Adds a weight that has several names under all of them: checkpoints often contain only
        one."""
        groups = {}
        for entry in self._entries:
            groups.setdefault(entry.get("tied", entry["fqn"]), []).append(entry)
        for group in groups.values():
            given = [entry for entry in group if entry["fqn"] in self._given]
            if not given:
                continue
            for entry in given:
                _check_fits(entry, self._given[entry["fqn"]])
            first = given[0]["fqn"]
            for entry in given[1:]:
                if not _same(self._given[first], self._given[entry["fqn"]]):
                    raise ValueError(
                        f"{first} and {entry['fqn']} were one weight when the module was traced, "
                        f"and {self._path} reads only one of them; the two that were given differ"
                    )
            for entry in group:
                self._given[entry["fqn"]] = self._given[first]

    def _check_names(self, partial):
        expected = [entry["fqn"] for entry in self._entries if entry["persistent"]]
        missing = [] if partial else [name for name in expected if name not in self._given]
        skipped = _non_persistent(self._module) if self._module is not None else set()
        unknown = [name for name in self._given if self._is_unknown(name) and name not in skipped]
        if not missing and not unknown:
            return
        problems = []
        if missing:
            problems.append(f"{_some(missing)} of the package {_was(missing)} not given")
        if unknown:
            problems.append(f"the package does not know {_some(unknown)}")
        cure = "Give all weights of the module that the package was made from"
        if missing and not unknown:
            cure += ", or say partial=True to keep the package's own values for the rest"
        raise ValueError(
            f"the weights do not fit {self._path}: {'; '.join(problems)}. {cure}"
        )

    def _is_unknown(self, name):
        # State that is not a tensor (get_extra_state) is not a weight.
        extra = name in self._listed and not isinstance(self._given[name], torch.Tensor)
        return name not in self._names and not extra

    def _check_complete(self):
        missing = [e["fqn"] for e in self._entries if e["parameter"] and e["fqn"] not in self._given]
        if missing:
            raise ValueError(
                f"{self._path} was made without weights, and {_some(missing)} {_was(missing)} not "
                "given: fact.load(path, weights=module), with the original module or a state_dict"
            )

    def _check_constant(self, entry, stored):
        """Refuses other values of a tensor that is neither a parameter nor a buffer: it is part of
        the trace."""
        name = entry["fqn"]
        own = None if name in self._given or entry["persistent"] else _attribute(self._module, name)
        if isinstance(own, torch.Tensor) and not _same(own, stored[name]):
            raise ValueError(
                f"{name} of the module that was given has other values than when the module was "
                "traced, and it is neither a parameter nor a buffer: make it a buffer and optimize "
                "the module again"
            )


def place(name):
    """Where a weight lies in a packaged module, for `find`: the modules on the way, and its own name."""
    *owners, last = name.split(".")
    return tuple(owners), last


def find(root, place):
    """The weight at that place. Not by getattr, which takes ten times as long (this runs at every
    call for every weight) and finds attributes of the class that have the same name."""
    owners, last = place
    for owner in owners:
        root = root._modules[owner]
    parameter = root._parameters.get(last)
    return root._buffers[last] if parameter is None else parameter


def kind(tensor):
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _check_fits(entry, tensor):
    name, traced = entry["fqn"], f"{entry['dtype']}{entry['sizes']}"
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} is a weight, got {type(tensor).__name__}")
    if torch.nn.parameter.is_lazy(tensor):
        raise ValueError(f"{name} has no values yet: call the module once, then give it")
    if tensor.layout is not torch.strided or _has_own_operators(tensor):
        raise ValueError(
            f"{name} was a plain {traced} when the module was traced, got a "
            f"{type(tensor).__name__} ({str(tensor.layout).removeprefix('torch.')}), which computes "
            "in its own way: give a dense tensor, or optimize the module as it is now"
        )
    if tensor.is_meta:
        raise ValueError(f"{name} is on the meta device and has no values")
    if kind(tensor) != traced:
        raise ValueError(f"{name} was {traced} when the module was traced, got {kind(tensor)}")


def _has_own_operators(tensor):
    """Whether a tensor's memory does not hold its values: quantized, distributed or fake tensors."""
    return type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def _parts(tensor):
    """The plain tensors a wrapper is made of, in torch.export's order."""
    if not is_traceable_wrapper_subclass(tensor):
        return [tensor]
    names, _ = tensor.__tensor_flatten__()
    return [part for name in names for part in _parts(getattr(tensor, name))]


def _part_name(name, number):
    *path, last = name.split(".")
    return ".".join([*path, "parametrizations", last, f"original{number}"])


def _non_persistent(module):
    """The names of buffers that no state_dict holds."""
    return {
        f"{prefix}.{name}" if prefix else name
        for prefix, part in module.named_modules(remove_duplicate=False)
        for name in part._non_persistent_buffers_set
    }


def _attribute(root, name):
    for part in name.split("."):
        root = getattr(root, part, None)
    return root


def _plain(tensor):
    """Detached, and without a library's parameter class."""
    return tensor.detach().as_subclass(torch.Tensor)


def _memory_of(tensor):
    """Equal for one weight under two names, different for two weights."""
    if tensor.numel() == 0:
        return id(tensor)
    return (tensor.data_ptr(), tensor.device, tensor.dtype, tuple(tensor.shape), tensor.stride())


def _same(a, b):
    """Whether two weights have the same values; NaN equals NaN."""
    if a is b or _memory_of(a) == _memory_of(b):
        return True
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    a, b = a.detach().cpu(), b.detach().cpu()
    return torch.equal(a, b) or torch.equal(a.isnan(), b.isnan()) and torch.equal(
        a.nan_to_num(), b.nan_to_num()
    )


def _some(names):
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _was(names):
    return "was" if len(names) == 1 else "were"


# Not by the methods of nn.Module, which refuse names that the class has attributes of.
def _register_parameter(root, name, parameter):
    module, last = _owner(root, name)
    module._parameters[last] = parameter


def _register_buffer(root, name, tensor, persistent):
    module, last = _owner(root, name)
    module._buffers[last] = tensor
    if not persistent:
        module._non_persistent_buffers_set.add(last)


def _owner(root, name):
    *path, last = name.split(".")
    module = root
    for part in path:
        module = module._modules.setdefault(part, torch.nn.Module())
    return module, last
