"""torch's precision settings, as a source leaves them: recorded with the trace, and followed by what
is discovered in it."""

import json
import unittest
import zipfile

import torch
from built import ROOT  # noqa: F401
from discovered import Discovered
from fact import _precision

SOURCE = """
import torch

{setting}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.points = torch.nn.Conv2d(48, 96, 1)
        self.wide = torch.nn.Linear(64, 128)

    def forward(self, x, y):
        return self.points(x), self.wide(y)


def get_inputs(): return [torch.randn(2, 48, 8, 8), torch.randn(32, 64)]
def get_init_inputs(): return []
"""
SETTINGS = {  # which rules compute in TF32, and what is said of the settings
    "": (["conv"], {"tf32_products": False, "tf32_convolutions": True}),
    "torch.backends.cudnn.allow_tf32 = False": ([], {"tf32_convolutions": False}),
    'torch.set_float32_matmul_precision("high")': (
        ["conv", "linear"],
        {"tf32_products": True, "float32_matmul_precision": "high"},
    ),
    "torch.backends.cuda.matmul.allow_tf32 = True; torch.backends.cudnn.allow_tf32 = False": (
        ["linear"],
        {"tf32_products": True, "tf32_convolutions": False},
    ),
    "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False": (
        ["conv"],
        {"reduced_bf16_sums": False},
    ),
}


class Followed(Discovered):
    def found(self, number, setting, *allowing):
        source = self.folder / f"source{number}.py"
        source.write_text(SOURCE.format(setting=setting))
        found = self.discover(str(source), f"run{number}", allowing=allowing)
        with zipfile.ZipFile(self.folder / f"run{number}.pt2") as archive:
            name = next(name for name in archive.namelist() if name.endswith("/extra/fact.json"))
            recorded = json.loads(archive.read(name))["precision"]
        patterns = found["patterns"]
        return sorted({p["rule"] for p in patterns if "precision: tf32" in p["kernel"]}), recorded

    def test_kernels_do_as_torch_does(self):
        for number, (setting, (rules, said)) in enumerate(SETTINGS.items()):
            with self.subTest(setting=setting):
                tf32, recorded = self.found(number, setting)
                self.assertEqual(tf32, rules)
                self.assertEqual({name: recorded[name] for name in said}, said)

    def test_the_option_allows_it_from_outside(self):
        tf32, recorded = self.found("allowed", "torch.backends.cudnn.allow_tf32 = False", "--allow-tf32")
        self.assertEqual(tf32, ["conv", "linear"])
        self.assertFalse(recorded["tf32_convolutions"])  # what the source itself says


class Recorded(unittest.TestCase):
    def test_whatever_is_set_is_as_it_was_afterwards(self):
        before = _precision.recorded()
        for code in (
            'torch.set_float32_matmul_precision("medium")',
            "torch.backends.cudnn.allow_tf32 = False",
            'torch.backends.cuda.matmul.fp32_precision = "tf32"',  # newer, which older ones object to
            "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False",
        ):
            with self.subTest(code=code), _precision.restored():
                exec(code, {"torch": torch})
                self.assertNotEqual(_precision.recorded(), before)
            after = _precision.recorded()
            for name in ("tf32_products", "tf32_convolutions", "reduced_fp16_sums"):
                self.assertEqual(after[name], before[name], code)


if __name__ == "__main__":
    unittest.main()
