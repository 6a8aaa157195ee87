"""Flattens arguments into leaves and builds results from leaves, as torch.export recorded."""

import json

from torch.utils import _pytree as pytree

_LEAF = object()
_SEQUENCES = {"builtins.tuple": tuple, "builtins.list": list}


class Structure:
    """One structure of arguments or results.

    Structures of tuples, lists and dicts are taken apart here, by code that torch.compile can
    follow; those with other classes by torch's pytree.
    """

    def __init__(self, text, spec):
        self.spec = spec
        self._plan = _plan(json.loads(text)[1])

    def leaves(self, value):
        """The leaves in the traced order; None if the value has another structure."""
        if self._plan is None:
            leaves, spec = pytree.tree_flatten(value)
            return leaves if spec == self.spec else None
        leaves = []
        return leaves if _take_apart(value, self._plan, leaves) else None

    def build(self, leaves):
        if self._plan is None:
            return pytree.tree_unflatten(leaves, self.spec)
        return _put_together(list(leaves), self._plan)

    def describe(self):
        return str(pytree.tree_unflatten(["*"] * self.spec.num_leaves, self.spec))


def describe(value):
    return str(pytree.tree_map(lambda _: "*", value))


def _plan(node):
    """_LEAF, or (type, keys, plans of the children); None if another class is in it."""
    if node["type"] is None:
        return _LEAF
    children = tuple(_plan(child) for child in node["children_spec"])
    if any(child is None for child in children):
        return None
    if node["type"] in _SEQUENCES:
        return _SEQUENCES[node["type"]], tuple(range(len(children))), children
    if node["type"] == "builtins.dict":
        return dict, tuple(json.loads(node["context"])), children
    return None


def _take_apart(value, plan, leaves):
    if plan is _LEAF:
        leaves.append(value)
        return type(value) not in (tuple, list, dict)
    kind, keys, children = plan
    if type(value) is not kind or len(value) != len(keys):
        return False
    for key, child in zip(keys, children):
        if kind is dict and key not in value:
            return False
        if not _take_apart(value[key], child, leaves):
            return False
    return True


def _put_together(leaves, plan):
    """Takes the leaves it needs from the front."""
    if plan is _LEAF:
        return leaves.pop(0)
    kind, keys, children = plan
    values = [_put_together(leaves, child) for child in children]
    return dict(zip(keys, values)) if kind is dict else kind(values)
