"""Writes the archives the graph tests read: python3 tests/graph/data/make.py (torch 2.13)."""
import pathlib
import re

import torch

from features import Features
from gpt_block import Block

HERE = pathlib.Path(__file__).parent


def save(module, inputs, name, **options):
    program = torch.export.export(module.eval(), inputs, **options).run_decompositions({})
    for node in program.graph.nodes:
        node.meta.pop("from_node", None)  # large, and holds addresses
        if trace := node.meta.get("stack_trace"):
            # The same text on every machine: files by their names, torch by its package.
            trace = re.sub(r'"[^"]*/site-packages/', '"site-packages/', trace)
            node.meta["stack_trace"] = trace.replace(f'"{HERE}/', '"')
    torch.export.save(program, HERE / f"{name}.pt2")


torch.manual_seed(0)
save(torch.nn.Sequential(Block(8, 2, 4)), (torch.randn(2, 4, 8),), "gpt_block")
shapes = {"x": {0: torch.export.Dim("batch", min=2, max=64)}, "scale": None, "flag": None}
save(Features(), (torch.randn(3, 4), 2), "features", kwargs={"flag": None}, dynamic_shapes=shapes)
