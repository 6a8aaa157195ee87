"""Kernels write into the cats that join their results: packages of small modules give what torch gives."""

import importlib.util
import json
import unittest
import warnings

import torch
from built import needs_ops
from command_line import CommandLine

MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        {layers}
        self.eval()

    def forward(self, x):
        {body}

def get_inputs():
    torch.manual_seed(1)
    return [{inputs}]

def get_init_inputs():
    return []
"""

FIRE = {
    "layers": """self.squeeze = nn.Conv2d(32, 16, 1)
        self.one, self.three = nn.Conv2d(16, 32, 1), nn.Conv2d(16, 32, 3, padding=1)""",
    "body": """x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.one(x)), torch.relu(self.three(x))], 1)""",
    "inputs": "torch.randn(2, 32, 8, 8)",
}

DENSE = {
    "layers": """self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(n), nn.ReLU(), nn.Conv2d(n, 32, 3, padding=1, bias=False))
            for n in (32, 64, 96))""",
    "body": """features = [x]
        for layer in self.layers:
            features.append(layer(x))
            x = torch.cat(features, 1)
        return x""",
    "inputs": "torch.randn(2, 32, 8, 8)",
}

# Along the last dimension with a sorted tensor, along the first, as a new one; `a` is read elsewhere
# too, and `b` is a part of two.
LINEARS = {
    "layers": """self.a, self.b = nn.Linear(64, 96), nn.Linear(64, 96)
        self.c = nn.Linear(96, 64)""",
    "body": """a, b = torch.relu(self.a(x)), torch.tanh(self.b(x * 2))
        last = torch.cat([a, b, x.sort(-1).values], -1)
        first = torch.cat([b, torch.sigmoid(self.a(x * 3))])
        new = torch.stack([torch.sigmoid(self.b(x * 4)), torch.sigmoid(self.a(x * 5))], 1)
        return last, first, new, torch.relu(self.c(a))""",
    "inputs": "torch.randn(16, 64)",
}

# A kernel for which images and channels are one dimension, which they are not among other channels.
POOLS = {
    "layers": "",
    "body": "return torch.cat([torch.relu(nn.functional.max_pool2d(x, 3, 1, 1)), torch.tanh(x)], 1)",
    "inputs": "torch.randn(2, 3, 8, 8)",
}


@needs_ops
class Cats(CommandLine):
    def package_of(self, parts):
        """The module, its inputs, its package, the cats of the package's graph, and what is left alone."""
        source = self.write("model.py", MODEL.format(**parts))
        done = self.fact("optimize", source, "-o", "package", "--run-dir", "run", "--json", "--no-bench")
        self.assertEqual(done.returncode, 0, done.stderr)
        spec = importlib.util.spec_from_file_location("model", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        import fact

        cats = {}
        for node in json.loads((self.folder / "package" / "graph.json").read_text())["nodes"]:
            if node["target"] in ("fact.cat", "fact.stack"):
                arguments = {one["name"]: one["value"] for one in node["inputs"]}
                cats[node["name"]] = arguments["in_place"]["bools"]
        left = [one for one in json.loads(done.stdout)["left_alone"] if one["work"]]
        return module.Model(), module.get_inputs(), fact.load(self.folder / "package"), cats, left

    def agree(self, model, package, inputs, strides=True):
        with torch.no_grad():
            wanted, got = model(*inputs), package(*inputs)
        for a, b in zip(*(x if isinstance(x, (list, tuple)) else [x] for x in (wanted, got)), strict=True):
            torch.testing.assert_close(b, a, rtol=1e-3, atol=1e-4)
            if strides:
                self.assertEqual(b.stride(), a.stride())

    def test_of_convolutions(self):
        model, inputs, package, cats, left = self.package_of(FIRE)
        self.assertEqual(cats, {"cat": [True, True]})
        self.assertEqual(left, [])
        self.agree(model, package, inputs)
        # Results are laid out as they were traced.
        self.agree(model, package, [inputs[0].contiguous(memory_format=torch.channels_last)], strides=False)

    def test_of_a_growing_list(self):
        model, inputs, package, cats, left = self.package_of(DENSE)
        self.assertEqual(cats, {"cat": [True, True], "cat_1": [True, True], "cat_2": [True, True]})
        self.assertEqual({one["target"] for one in left}, {"aten.clone.default"})
        self.agree(model, package, inputs)

    def test_of_linears(self):
        model, inputs, package, cats, left = self.package_of(LINEARS)
        self.assertEqual(cats["cat"], [True, False, False])
        self.assertEqual(cats["cat_1"], [True, True])
        self.assertEqual(cats["stack"], [True, True])
        reasons = {one["node"]: one["reason"] for one in left}
        self.assertIn("1 of 3 parts is written in place", reasons["cat"])
        self.agree(model, package, inputs)
        # Of another type no kernel runs, and torch's operators do not write in place.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.agree(model.double(), package.double(), [x.double() for x in inputs])

    def test_where_a_kernel_cannot(self):
        model, inputs, package, cats, left = self.package_of(POOLS)
        self.assertFalse(cats.get("cat", [False])[0])
        self.assertIn("cannot be written there: dimensions 0, 1", left[0]["reason"])
        self.agree(model, package, inputs)


if __name__ == "__main__":
    unittest.main()
