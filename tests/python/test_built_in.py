"""Buffers that kernels have built in: found in a package, and watched."""

import json
import pathlib
import tempfile
import unittest

import torch
from fact._built_in import BuiltIn, built_in_buffers


def call(read, given):
    return {
        "params": [{"tensor": "x", "value": name} for name in read],
        "original": {"inputs": [{"value": name, "kind": "user"} for name in given]},
    }


class Found(unittest.TestCase):
    def test_what_a_call_is_given_and_its_kernel_does_not_read(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "calls").mkdir()
            (folder / "calls" / "p00.json").write_text(json.dumps(call(["x", "w"], ["x", "w", "m"])))
            graph = {
                "inputs": [
                    {"value": "a", "kind": "user", "fqn": ""},
                    {"value": "b_scale", "kind": "buffer", "fqn": "scale"},
                    {"value": "b_mask", "kind": "buffer", "fqn": "block.mask"},
                ],
                "nodes": [
                    {"target": "aten.view.default", "inputs": []},
                    {
                        "target": "fact.call",
                        "inputs": [
                            {"name": "inputs", "value": {"values": ["a", "b_scale", "b_mask"]}},
                            {"name": "call", "value": {"string": "p00"}},
                        ],
                    },
                ],
            }
            (folder / "graph.json").write_text(json.dumps(graph))
            self.assertEqual(built_in_buffers(name), ["block.mask"])

    def test_a_bare_archive_has_none(self):
        self.assertEqual(built_in_buffers("model.pt2"), [])


class Watched(unittest.TestCase):
    def test_the_same_values_may_be_written_again(self):
        mask = torch.ones(4, 4).tril()
        known = BuiltIn(mask)
        mask.copy_(mask.clone())
        known.check("mask", mask)
        known.check("mask", mask.bfloat16())

    def test_others_may_not(self):
        mask = torch.ones(4, 4).tril()
        known = BuiltIn(mask)
        mask[0, 3] = 1
        with self.assertRaisesRegex(RuntimeError, "'mask' was changed.*optimize the module again"):
            known.check("mask", mask)


if __name__ == "__main__":
    unittest.main()
