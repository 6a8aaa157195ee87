"""Einsums: the steps that they are written as are torch's own, and the texts around them are right."""

import json
import unittest

import torch
from command_line import CommandLine

# (equation, the sizes of each operand): products, sums, views, several summed indices, vectors.
FORMULAS = [
    ("ij,jk->ik", "34 45"),
    ("ij,jk", "34 45"),
    ("bij->bji", "234"),
    ("bij->jb", "234"),
    ("bij->", "234"),
    ("bij,bjk->bki", "234 245"),
    ("bijk,bk->bij", "2345 25"),
    ("bhl,bhlp->bph", "234 2345"),
    ("bij,bij->b", "234 234"),
    ("i,j->ij", "3 4"),
    ("bi,bj->jib", "23 24"),
    ("bij,bi->bij", "234 23"),
    ("bi,bij->jib", "23 234"),
    ("bijk,bljk->bil", "2345 2645"),
    ("bijk,kjbl->bil", "2345 5426"),
    ("bijm,bjk->bik", "2346 245"),
    ("ij,jk,kl->il", "34 45 56"),
    ("bclhn,bcshn,bhcls,bcshp->bclhp", "23456 23756 25347 23758"),
    ("bclhn,bhcl,bclhp->bchpn", "23456 2534 23458"),
    ("bhzc,bchpn->bzhpn", "2343 23356"),
    ("bclhn,bchpn,bhcl->bclhp", "23456 23586 2534"),
]

MODEL = """
import torch

FORMULAS = FORMULAS_HERE

class Model(torch.nn.Module):
    def forward(self, *operands):
        rest = list(operands)
        return [torch.einsum(equation, *[rest.pop(0) for _ in sizes.split()]) for equation, sizes in FORMULAS]

def get_inputs():
    torch.manual_seed(0)
    return [torch.randn([int(size) for size in one]) for _, sizes in FORMULAS for one in sizes.split()]

def get_init_inputs():
    return []
"""

# A scan over blocks: masks and decays between products.
BLOCKS = """
import torch

class Model(torch.nn.Module):
    def forward(self, c, b, a, x):
        total = torch.cumsum(a, dim=-1)
        far = total[..., :, None] - total[..., None, :]
        hidden = ~torch.tril(torch.ones(32, 32, dtype=bool))
        decay = torch.exp(far.masked_fill(hidden, -torch.inf))
        inside = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", c, b, decay, x)
        states = torch.einsum("bclhn,bhcl,bclhp->bchpn", b, torch.exp(total[..., -1:] - total), x)
        states = torch.cat([torch.zeros_like(states[:, :1]), states], dim=1)[:, :-1]
        return inside + torch.einsum("bclhn,bchpn,bhcl->bclhp", c, states, torch.exp(total))

def get_inputs():
    sizes = [(2, 3, 32, 2, 16), (2, 3, 32, 2, 16), (2, 2, 3, 32), (2, 3, 32, 2, 8)]
    return [torch.rand(size) for size in sizes]

def get_init_inputs():
    return []
"""


def value_of(argument, values):
    kind, body = next(iter(argument.items()))
    if kind == "value":
        return values[body]
    return [values[name] for name in body] if kind == "values" else body


class Einsums(CommandLine):
    def test_steps_are_torchs(self):
        path = self.write("model.py", MODEL.replace("FORMULAS_HERE", repr(FORMULAS)))
        done = self.fact("trace", path, "-o", "model.pt2")
        self.assertEqual(done.returncode, 0, done.stderr)
        graph = json.loads(self.fact("graph", "model.pt2", "--json").stdout)
        namespace = {}
        exec(pathless(path), namespace)
        inputs = namespace["get_inputs"]()
        types = {one["name"]: one.get("type") for one in graph["values"]}
        values = dict(zip([one["value"] for one in graph["inputs"]], inputs))
        for node in graph["nodes"]:
            _, name, overload = node["target"].split(".")
            operator = getattr(getattr(torch.ops.aten, name), overload)
            made = operator(*[value_of(argument["value"], values) for argument in node["inputs"]])
            written = types[node["outputs"][0]]
            with self.subTest(node["name"]):
                self.assertEqual(list(made.shape), written["sizes"])
                strides = [s for s, size in zip(made.stride(), made.shape) if size > 1]
                self.assertEqual(strides, [s for s, size in zip(written["strides"], written["sizes"]) if size > 1])
            values[node["outputs"][0]] = made
        wanted = namespace["Model"]()(*inputs)
        for (equation, _), output, want in zip(FORMULAS, graph["outputs"], wanted):
            with self.subTest(equation):
                torch.testing.assert_close(values[output["value"]], want)
        left = [node for node in graph["nodes"] if node["target"] == "aten.einsum.default"]
        for node in left:  # two operands, of which an index is summed over
            equation = node["inputs"][0]["value"]["string"]
            operands, result = (equation.split("->") + [""])[:2]
            self.assertEqual(operands.count(","), 1, equation)

    def test_masks_and_decays_join_the_products(self):
        done = self.fact("optimize", self.write("model.py", BLOCKS), "--run-dir", "run", "--json", "--no-bench")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        for pattern in report["patterns"]:
            self.assertEqual(pattern["why"], "", pattern)
        self.assertEqual(report["statistics"]["texts_verified"], report["statistics"]["families"])
        left = {one["target"] for one in report["left_alone"] if one["work"]}
        self.assertLessEqual(left, {"aten.cat.default", "aten.sub.Tensor"})


def pathless(path):
    with open(path) as file:
        return file.read()


if __name__ == "__main__":
    unittest.main()
