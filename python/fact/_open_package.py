"""A package that is open in this process."""

import hashlib
import json
import os
import weakref

from torch.utils import _pytree as pytree

from ._call import Signature, decode
from ._ops import ops
from ._structure import Structure
from ._tree import load_spec
from ._weights import place


class OpenPackage:
    """What the modules of one package share; closed when the last of them is deleted.

    Copies share it. A pickle holds the name, which is the content's SHA-256 and the path, and opens
    the package again, in any process.
    """

    def __init__(self, name, allow):
        """`name` is open already, and is closed with this object. `allow`: as `fact.load` takes it."""
        # Not at exit: the GPU may not be usable any more.
        weakref.finalize(self, ops().close_package, name).atexit = False
        self.name = name
        self._allow = allow
        sha256, self.path = name.split(" ", 1)
        signature = json.loads(ops().package_signature(name))
        self.inputs = [{**entry, "place": place(entry["fqn"])} for entry in signature["inputs"]]
        self.outputs = signature["outputs"]
        for entry in (*self.inputs, *self.outputs):
            if "fixed" in entry:
                entry["fixed"] = decode(entry["fixed"])
        self.written = [place(name) for name in signature["written"]]
        self.weights = signature["weights"]
        package_manifest = manifest(self.path, sha256)
        # A bare archive declares no classes: those that this process knows already are allowed.
        classes = package_manifest.get("classes", pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE)
        self.arguments, self.results = (
            Structure(signature[spec], load_spec(signature[spec], classes, allow))
            for spec in ("in_spec", "out_spec")
        )
        self.training = bool(package_manifest.get("training"))
        self.original = package_manifest.get("original") or signature["original"] or {}
        self.signature, self.names = _traced_call(
            self.arguments.spec, self.original.get("parameters")
        )

    @classmethod
    def at(cls, path, allow=()):
        if isinstance(allow, str) or not all(isinstance(name, str) for name in allow):
            raise TypeError(f'allow is a list of names, such as ["torchvision"], got {allow!r}')
        if not (path := os.fspath(path)):
            raise ValueError("give the folder of a package, or an archive: the path is empty")
        allow = tuple(allow)
        return cls(ops().open_package(path, allow), allow)

    @classmethod
    def again(cls, name, allow):
        """Opens the package of this name once more, such as for a pickle."""
        ops().reopen_package(name, allow)
        return cls(name, allow)

    def __reduce__(self):
        return OpenPackage.again, (self.name, self._allow)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def manifest(path, sha256=None):
    """The manifest of a package; {} for a bare archive. `sha256` is the hash that its bytes must
    have, if any."""
    if not os.path.isdir(path):
        return {}
    with open(os.path.join(path, "manifest.json"), "rb") as file:
        text = file.read()
    if sha256 is not None and hashlib.sha256(text).hexdigest() != sha256:
        raise RuntimeError(f"{path} was rewritten while it was being loaded: load it again")
    return json.loads(text)


def _traced_call(in_spec, parameters):
    """The signature, where it is known, and a name for every leaf of the traced arguments."""
    args, kwargs = pytree.tree_unflatten([None] * in_spec.num_leaves, in_spec)
    signature = Signature(parameters, len(args)) if parameters and not kwargs else None
    names = []
    for path, _ in pytree.tree_flatten_with_path((args, kwargs))[0]:
        where, which, *inside = path
        if where.idx == 1:  # in kwargs
            name = f"'{which.key}'"
        else:
            name = signature.name(which.idx) if signature else f"argument {which.idx + 1}"
        names.append(name + pytree.keystr(tuple(inside)))
    return signature, names
