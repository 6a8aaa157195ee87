"""Buffers whose values kernels have built in, such as a mask that was proved causal."""

import json
import os

import torch


def built_in_buffers(path):
    """Their names. A call is given them, for the original operators, but its kernel does not read
    them."""
    if not os.path.exists(os.path.join(path, "graph.json")):
        return []
    graph = _read(path, "graph.json")
    buffers = {entry["value"]: entry["fqn"] for entry in graph["inputs"] if entry["kind"] == "buffer"}
    names = set()
    for node in graph["nodes"]:
        arguments = {argument["name"]: argument["value"] for argument in node["inputs"]}
        if not node["target"].startswith("fact."):
            continue
        call = _read(path, "calls", arguments["call"]["string"] + ".json")
        read = {binding["value"] for binding in call["params"]}
        for entry, given in zip(call["original"]["inputs"], arguments["inputs"]["values"]):
            if entry["value"] not in read and given in buffers:
                names.add(buffers[given])
    return sorted(names)


class BuiltIn:
    """What a buffer held when its kernels were made."""

    def __init__(self, tensor):
        self._values = tensor.detach().cpu().clone()
        self._seen = _mark(tensor)

    def check(self, name, tensor):
        """Raises where it holds something else; compares only after it was written to or moved."""
        if _mark(tensor) == self._seen:
            return
        if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
            return  # comparing would wait for the GPU; the call before has compared
        if tensor.shape != self._values.shape or not torch.equal(
            tensor.detach().cpu(), self._values.to(tensor.dtype)
        ):
            raise RuntimeError(
                f"the buffer '{name}' was changed, but the kernels of this package were made for the "
                "values it had: optimize the module again with the new ones"
            )
        self._seen = _mark(tensor)


def _mark(tensor):
    return (tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version)


def _read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)
