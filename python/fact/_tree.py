"""How the arguments and results of a call are nested: pytree descriptions, read without trust.

torch's own reader imports whatever module a description names (a default factory, an enum). This
one builds only Python's containers and classes that the package declares. To find such a class it
imports nothing but _TRUSTED_LIBRARIES and the Python packages that the caller allows.
"""

import dataclasses
import importlib
import json

from torch.utils import _pytree as pytree

_PROTOCOL = 1
_PLAIN = (str, int, float, bool, type(None))
_FACTORIES = ("bool", "dict", "float", "int", "list", "set", "str", "tuple")
_TRUSTED_LIBRARIES = ("diffusers", "transformers")  # their models return classes of their own


class _Refused(ValueError):
    pass


def load_spec(text, declared=(), allow=()):
    """The TreeSpec of a description. `declared` are full names of classes it may hold, `allow`
    Python packages that may be imported for them."""
    try:
        protocol, root = json.loads(text)
        if protocol != _PROTOCOL:
            raise _Refused(
                f"the package's structures are in protocol {protocol}, unknown to this version of FACT"
            )
        _Checker(set(declared), (*_TRUSTED_LIBRARIES, *allow)).check(root)
    except _Refused as refused:
        raise ValueError(str(refused)) from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"the description of a call's arguments is damaged: {error!r}") from None
    return pytree.treespec_loads(text)


class _Checker:
    def __init__(self, declared, importable):
        self._declared = declared
        self._importable = importable

    def check(self, node):
        kind, context, children = node["type"], node["context"], node["children_spec"]
        if kind is None:
            if context is not None or children:
                raise _Refused("the package describes a leaf with something in it")
            return
        if kind in _CONTAINERS:
            getattr(self, "_" + kind.replace(".", "_"))(context, children)
        else:
            self._class(kind, context)
        for child in children:
            self.check(child)

    def _builtins_list(self, context, children):
        if json.loads(context) is not None:
            raise _Refused("the package describes a list or tuple with more than its elements")

    _builtins_tuple = _builtins_list

    def _builtins_dict(self, context, children):
        _check_keys(json.loads(context), children)

    _collections_OrderedDict = _builtins_dict

    def _collections_deque(self, context, children):
        if not isinstance(json.loads(context), (int, type(None))):
            raise _Refused("the package describes a deque whose length is not a number")

    def _collections_defaultdict(self, context, children):
        module, name = context["default_factory_module"], context["default_factory_name"]
        if module != "builtins" or name not in _FACTORIES:
            raise _Refused(
                f"the package describes a defaultdict of {module}.{name}: only those of "
                f"{', '.join(_FACTORIES)} are built"
            )
        _check_keys(context["dict_context"], children)

    def _collections_namedtuple(self, context, children):
        if not pytree.is_namedtuple_class(self._find(context)):
            raise _Refused(f"{context} is not a namedtuple")

    def _class(self, name, context):
        found = self._find(name)
        if pytree.is_namedtuple_class(found):
            self._find(context)
        # A class without a reader for its context gets torch's, which imports what objects name.
        elif pytree.SUPPORTED_SERIALIZED_TYPES[found].from_dumpable_context is None:
            _check_plain(json.loads(context))

    def _find(self, name):
        """The class of that name; it is imported only if the package declares it."""
        if not isinstance(name, str) or name not in self._declared:
            raise _Refused(f"{name} is a class that the package does not declare")
        known = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE
        if name not in known:
            module, _, attribute = name.rpartition(".")
            top = module.partition(".")[0]
            if top not in self._importable:
                raise _Refused(
                    f"results of this package are of the class {name}, which torch does not know "
                    f"in this process: import {module or name} before loading the package and "
                    "register the class with torch (torch.export.register_dataclass), or load with "
                    f'allow=["{top}"] if importing {module or name} registers the class'
                )
            found = getattr(_imported(module, name), attribute, None)
            if not _is_plain_class(found) or name not in known:
                raise _Refused(
                    f"{name} is not a class of results that torch knows: it must be a dataclass or "
                    f"a namedtuple, and {module} must register it with torch.utils._pytree when it "
                    "is imported"
                )
        return known[name]


_CONTAINERS = {
    "builtins.dict",
    "builtins.list",
    "builtins.tuple",
    "collections.OrderedDict",
    "collections.defaultdict",
    "collections.deque",
    "collections.namedtuple",
}


def _imported(module, name):
    try:
        return importlib.import_module(module)
    except Exception as error:  # whatever a library does while it is imported
        raise _Refused(
            f"results of this package are of the class {name}, and {module} cannot be imported "
            f"({error}): install it, in the version the package was made with"
        ) from None


def _is_plain_class(value):
    return isinstance(value, type) and (
        dataclasses.is_dataclass(value) or pytree.is_namedtuple_class(value)
    )


def _check_keys(keys, children):
    _check_plain(keys)
    if not isinstance(keys, list) or len(keys) != len(children):
        raise _Refused("the package describes a dict without a key for each value")


def _check_plain(value):
    """Refuses all but numbers, strings, None and lists of them: torch's reader imports what other
    objects name."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, list):
            _check_plain(item)
        elif not isinstance(item, _PLAIN):
            raise _Refused(
                f"{item!r} in the package describes a class, where only plain values are allowed"
            )
