"""A small package with one fused call, written by hand."""

import hashlib
import json

import torch
from built import KERNEL_TEXT, linear_gelu_call, tensor_type
from torch import nn
from torch.utils import _pytree as pytree


class Up(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(32, 48)

    def forward(self, x):
        return nn.functional.gelu(self.up(x), approximate="tanh")


class Scaled(Up):
    """The same graph with more ways to call it, and weights in another order than the alphabet's."""

    def forward(self, x, scale=1.0, *, mask=None):
        return super().forward(x) * scale if scale != 1.0 else super().forward(x)


class Masked(Up):
    """With a buffer that the package's kernel has built in."""

    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)


def write_package(folder, module, x, known=None):
    with torch.no_grad():
        program = torch.export.export(module, (x,)).run_decompositions({})
    torch.export.save(program, str(folder / "model.pt2"))
    signature = program.module_call_graph[0].signature
    call = linear_gelu_call(*x.shape, 48)
    names = {"w": "p_up_weight", "b": "p_up_bias", "x": "x"}

    def rename(text):
        return names.get(text, text)

    for binding in call["params"]:
        binding["value"] = rename(binding["value"])
    original = call["original"]
    for value in original["values"]:
        value["name"] = rename(value["name"])
    for entry in original["inputs"]:
        entry["value"] = rename(entry["value"])
    for argument in original["nodes"][0]["inputs"]:
        argument["value"]["value"] = rename(argument["value"]["value"])
    buffers = {f"b_{name}": name for name, _ in module.named_buffers()}
    for value, name in buffers.items():  # the call is given them, and its kernel does not read them
        sizes = list(module.get_buffer(name).shape)
        original["values"].append({"name": value, "type": tensor_type("f32", sizes)})
        original["inputs"].append({"value": value, "kind": "user"})
    graph = {
        "format": 1,
        "in_spec": pytree.treespec_dumps(signature.in_spec),
        "out_spec": pytree.treespec_dumps(signature.out_spec),
        "values": [v for v in original["values"] if v["name"] != "linear"],
        "inputs": [
            {"value": "p_up_weight", "kind": "parameter", "fqn": "up.weight"},
            {"value": "p_up_bias", "kind": "parameter", "fqn": "up.bias"},
            *({"value": value, "kind": "buffer", "fqn": name} for value, name in buffers.items()),
            {"value": "x", "kind": "user"},
        ],
        "nodes": [
            {
                "name": "p01",
                "target": "fact.call",
                "inputs": [
                    {"name": "inputs", "value": {"values": ["x", "p_up_weight", "p_up_bias", *buffers]}},
                    {"name": "call", "value": {"string": "p01_linear_gelu"}},
                ],
                "outputs": ["gelu"],
            }
        ],
        "outputs": [{"value": "gelu"}],
    }
    manifest = {"name": "up", "kernels": [{"family": "up"}], "calls": [call["id"]]}
    if known:
        manifest["original"] = known
    (folder / "calls").mkdir()
    (folder / "kernels" / "up").mkdir(parents=True)
    (folder / "kernels" / "up" / "kernel.fact").write_text(KERNEL_TEXT.format(dtype="f32"))
    (folder / "calls" / f"{call['id']}.json").write_text(json.dumps(call))
    (folder / "graph.json").write_text(json.dumps(graph))
    seal(folder, **manifest)


def seal(folder, **changes):
    """Writes a manifest of the files as they are now, like the one before but for changes."""
    path = folder / "manifest.json"
    manifest = {"kind": "fact package", "format": 2, "namespaces": ["aten"], "classes": []}
    if path.exists():
        manifest |= json.loads(path.read_text())
    manifest["files"] = {
        str(file.relative_to(folder)): {
            "size": file.stat().st_size,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        }
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file != path
    }
    path.write_text(json.dumps(manifest | changes))
