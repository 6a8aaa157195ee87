"""Weights that are given to a package: all of them, by name, or none without a word."""

import contextlib
import importlib.util
import io
import pathlib
import tempfile
import unittest
import warnings

import torch
from built import needs_ops
from torch import nn

LINEARS = ("first", "second")


class Model(nn.Module):
    """Tied and unused weights, buffers that are saved or not, and names of a package's own."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 32)
        self.second = nn.Linear(32, 32)
        self.first = nn.Linear(32, 32)
        self.unused = nn.Linear(4, 4)
        self.head = nn.Linear(32, 16, bias=False)
        self.head.weight = self.embed.weight
        self.status = nn.Linear(32, 32)
        self.path = nn.Parameter(torch.randn(32))
        self.register_buffer("scale", torch.rand(32))
        self.register_buffer("shift", torch.rand(32), persistent=False)
        self.table = torch.arange(32.0)

    def forward(self, x):
        y = self.status(self.second(self.first(self.embed(x))) + self.shift) * self.scale
        return self.head(y + self.table * self.path)


def drawn(seed):
    torch.manual_seed(seed)
    return Model().eval()


@needs_ops
class Weights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fact-weights-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.x = torch.arange(4)
        cls.archive = cls.trace("model.pt2", drawn(0))
        cls.hollow = cls.trace("hollow.pt2", drawn(0), hollow=True)

    @classmethod
    def trace(cls, name, module, hollow=False):
        from fact.trace import export, save

        save(export(module, [cls.x]), cls.folder / name, module, hollow)
        return cls.folder / name

    def load(self, *arguments, **named):
        from fact.package import load

        return load(*arguments, **named)

    def same(self, package, module):
        with torch.no_grad():
            torch.testing.assert_close(package(self.x), module(self.x))

    def test_the_state_dict_is_the_originals(self):
        module, package = drawn(0), self.load(self.archive)
        self.assertEqual(list(package.state_dict()), list(module.state_dict()))
        for name, value in module.state_dict().items():
            self.assertTrue(torch.equal(package.state_dict()[name], value), name)
        self.assertIs(package.head.weight, package.embed.weight)
        self.assertEqual(
            [name for name, _ in package.named_parameters()],
            [name for name, _ in module.named_parameters()],
        )
        self.same(package, module)
        other = drawn(1)
        package.load_state_dict(other.state_dict())
        other.shift = module.shift  # which no state_dict holds
        self.same(package, other)

    def test_every_weight_is_given_or_stored_and_said(self):
        module = drawn(1)
        package = self.load(self.archive, weights=module)
        self.same(package, module)
        found = package.status().weights
        constants = {name for name, source in found.items() if source == "stored"}
        self.assertEqual(constants, {"table"})
        package = self.load(self.archive, weights=module.state_dict())
        self.assertEqual(package.status().weights["shift"], "stored")
        self.assertEqual(package.status().weights["scale"], "given")
        self.assertIs(package.head.weight, package.embed.weight)
        self.assertIn("weights stored: 2", str(package.status()))
        stored = set(self.load(self.archive).status().weights.values())
        self.assertEqual(stored, {"stored"})

    def test_part_of_them_is_refused_unless_it_is_said(self):
        module = drawn(1)
        part = {name: value for name, value in module.state_dict().items() if name in ("scale", "path")}
        with self.assertRaisesRegex(ValueError, r"embed.weight and \d more .*were not given.*partial=True"):
            self.load(self.archive, weights=part)
        package = self.load(self.archive, weights=part, partial=True)
        given = {name for name, source in package.status().weights.items() if source == "given"}
        self.assertEqual(given, {"scale", "path"})
        mixed = drawn(0)
        mixed.load_state_dict(part, strict=False)
        self.same(package, mixed)

    def test_names_that_the_package_does_not_know_are_refused(self):
        module = drawn(1)
        module.more = nn.Linear(2, 2)
        for weights in (module, module.state_dict()):
            for partial in (False, True):
                with self.assertRaisesRegex(ValueError, "does not know more.weight and 1 more"):
                    self.load(self.archive, weights=weights, partial=partial)
        # What no state_dict holds is nobody's weight.
        module = drawn(1)
        module.register_buffer("cache", torch.zeros(3), persistent=False)
        self.same(self.load(self.archive, weights=module), module)

    def test_what_does_not_fit_is_refused(self):
        for change, text in (
            ({"path": torch.zeros(31)}, r"path was float32\[32\].*got float32\[31\]"),
            ({"path": torch.zeros(32, dtype=torch.bfloat16)}, r"got bfloat16\[32\]"),
            ({"path": torch.zeros(32, device="meta")}, "meta device"),
            ({"path": torch.zeros(32).to_sparse()}, "sparse_coo"),
            ({"path": nn.UninitializedParameter()}, "no values yet"),
            ({"head.weight": torch.zeros(16, 32)}, "were one weight .* differ"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.load(self.archive, weights={**drawn(1).state_dict(), **change})
        with self.assertRaisesRegex(TypeError, "path is a weight, got int"):
            self.load(self.archive, weights={**drawn(1).state_dict(), "path": 3})
        module = drawn(1)
        module.table = torch.ones(32)
        with self.assertRaisesRegex(ValueError, "table of the module .* make it a buffer"):
            self.load(self.archive, weights=module)

    def test_a_tied_weight_is_given_by_either_name(self):
        module = drawn(1)
        for left_out in ("embed.weight", "head.weight"):
            weights = module.state_dict()
            del weights[left_out]
            package = self.load(self.archive, weights=weights)
            self.assertIs(package.head.weight, package.embed.weight)
            self.assertEqual(package.embed.weight.data_ptr(), module.embed.weight.data_ptr())
        equal = {name: value.clone() for name, value in module.state_dict().items()}
        package = self.load(self.archive, weights=equal)
        self.assertIs(package.head.weight, package.embed.weight)

    def test_one_without_weights_takes_all_of_them(self):
        module = drawn(1)
        with self.assertRaisesRegex(ValueError, "made without weights, and .* more were not given"):
            self.load(self.hollow)
        part = {"scale": module.scale}
        with self.assertRaisesRegex(ValueError, "made without weights, and .* more were not given"):
            self.load(self.hollow, weights=part, partial=True)
        self.same(self.load(self.hollow, weights=module), module)

    @unittest.skipUnless(importlib.util.find_spec("torchao"), "torchao is not installed")
    def test_quantized_weights(self):
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            from torchao.quantization import Int8WeightOnlyConfig, quantize_

        def quantized(seed):
            module = drawn(seed)
            quantize_(module, Int8WeightOnlyConfig(), lambda _, name: name in LINEARS)
            return module

        module = quantized(1)
        package = self.load(self.trace("quantized.pt2", quantized(0)), weights=module)
        self.same(package, module)
        stored = {name for name, source in package.status().weights.items() if source == "stored"}
        self.assertNotIn("first.parametrizations.weight.original0", stored)
        # Neither is a plain weight taken for a quantized one, nor the other way round.
        with self.assertRaisesRegex(ValueError, "parametrizations.*does not know .*first.weight|second.weight"):
            self.load(self.folder / "quantized.pt2", weights=drawn(1))
        with self.assertRaisesRegex(ValueError, r"was a plain float32\[32, 32\].*got a Int8Tensor"):
            self.load(self.archive, weights=module)


if __name__ == "__main__":
    unittest.main()
