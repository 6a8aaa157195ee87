"""How a module is called: stored with its package, so that the package accepts the same calls."""

import inspect
import json
import math

import torch

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_STAR_ARGS, _STAR_KWARGS = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


class _Unknown:
    """Stands for a default that JSON cannot represent."""


def describe(function):
    """A function's parameters as JSON; None if Python does not know them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    rows = []
    for parameter in parameters:
        row = {"name": parameter.name, "kind": parameter.kind.name.lower()}
        if parameter.default is not parameter.empty:
            row["optional"] = True
            coded = _encode(parameter.default)
            if coded is not None:
                row["default"] = coded
        rows.append(row)
    return rows


def check_value(name, value, traced):
    """A plain value is part of the trace: only the same value can be passed."""
    if not _same(value, traced):
        shown = "a tensor" if isinstance(value, torch.Tensor) else repr(value)
        raise ValueError(
            f"{name} was {traced!r} when the module was traced, got {shown}; "
            "trace it again with the other value"
        )


def _same(value, traced):
    """Equal and of the same type: 3, 3.0 and True give results of different types."""
    for kind in (bool, int, float, str, list, tuple, dict, torch.dtype, type(None)):
        if isinstance(traced, kind):
            break
    else:
        return False
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return False
    if kind in (list, tuple):
        return len(value) == len(traced) and all(map(_same, value, traced))
    return value == traced or (kind is float and value != value and traced != traced)


class Signature:
    """Brings a call to the form of the traced one, whose `count` arguments were all positional."""

    def __init__(self, rows, count):
        parameter = inspect.Parameter
        self._signature = inspect.Signature(
            parameter(
                row["name"],
                getattr(parameter, row["kind"].upper()),
                default=_default(row) if row.get("optional") else parameter.empty,
            )
            for row in rows
        )
        self._count = count
        self._parameters = tuple(
            (p.name, p.kind, p.default is not p.empty, p.default)
            for p in self._signature.parameters.values()
        )
        positional = [p.name for p in self._signature.parameters.values() if p.kind in _POSITIONAL]
        self._traced = positional[:count]
        self._num_extra = max(0, count - len(positional))  # values of *args

    def name(self, index):
        """The name of a positional argument of the traced call."""
        if index < len(self._traced):
            return f"'{self._traced[index]}'"
        return f"argument {index + 1}"

    def arrange(self, args, kwargs):
        """The arguments of the traced form; TypeError and ValueError name the parameter."""
        if not kwargs and len(args) == self._count:
            return args
        values = self._bound(args, kwargs)
        if values is None:
            self._signature.bind(*args, **kwargs)  # says what does not fit
        arranged = []
        for (name, kind, _, default), value in zip(self._parameters, values):
            self._check(name, kind, default, value)
            if kind in _POSITIONAL:
                arranged.append(value)
            elif kind is _STAR_ARGS:
                arranged.extend(value)
        return tuple(arranged[: self._count])

    def _bound(self, args, kwargs):
        """A value for every parameter, as Python binds a call; None where they do not fit. Not by
        inspect, which torch.compile cannot follow."""
        values, named, taken = [], dict(kwargs), 0
        for name, kind, optional, default in self._parameters:
            if kind is _STAR_ARGS:
                values.append(tuple(args[taken:]))
                taken = len(args)
            elif kind is _STAR_KWARGS:
                values.append(named)
                named = {}
            elif kind in _POSITIONAL and taken < len(args):
                if name in named and kind is not _POSITIONAL[0]:
                    return None
                values.append(args[taken])
                taken += 1
            elif kind is not _POSITIONAL[0] and name in named:
                values.append(named.pop(name))
            elif optional:
                values.append(default)
            else:
                return None
        return None if named or taken < len(args) else values

    def _check(self, name, kind, default, value):
        if kind is _STAR_ARGS:
            if len(value) != self._num_extra:
                raise TypeError(
                    f"'*{name}' held {self._num_extra} values when the module was traced, "
                    f"got {len(value)}"
                )
        elif kind is _STAR_KWARGS:
            if value:
                raise TypeError(f"'{next(iter(value))}' was not given when the module was traced")
        elif name in self._traced:
            if value is _Unknown:
                raise TypeError(f"'{name}' must be given: the package does not hold its default")
        elif value is not default:
            if default is _Unknown:
                raise TypeError(
                    f"'{name}' had its default when the module was traced, and cannot be given; "
                    "trace it again with the value"
                )
            check_value(f"'{name}'", value, default)


def _default(row):
    return decode(row["default"]) if "default" in row else _Unknown


def _encode(value):
    """Lists and values that JSON does not have become [kind, ...]; None for what cannot be stored."""
    if isinstance(value, (list, tuple)):
        inner = [_encode(one) for one in value]
        return None if None in inner else ["tuple" if isinstance(value, tuple) else "list", *inner]
    if isinstance(value, float) and not math.isfinite(value):
        return ["float", str(value)]
    if isinstance(value, torch.dtype):
        return ["dtype", str(value).removeprefix("torch.")]
    if value is None:
        return ["none"]
    if isinstance(value, dict):
        return ["json", value] if _plain(value) else None
    return value if _plain(value) else None


def decode(coded):
    """The inverse of _encode."""
    if not isinstance(coded, list):
        return coded
    kind, *rest = coded
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(decode(one) for one in rest)
    if kind == "float":
        return float(rest[0])
    if kind == "dtype":
        return getattr(torch, rest[0])
    return rest[0] if kind == "json" else None


def _plain(value):
    """Whether JSON preserves the value."""
    try:
        return json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError):
        return False
