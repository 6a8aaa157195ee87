"""A chain of convolutions whose images come channels first: its package gives what torch gives."""

import importlib.util
import json
import unittest

import torch
from built import needs_ops
from command_line import CommandLine

MODEL = """
import torch
from torch import nn
from torch.nn import functional as F

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = (nn.Conv2d(32, 32, 3, padding=1) for _ in range(2))
        self.eval()

    def forward(self, x):
        for convolution in (self.first, self.second, self.first):
            x = torch.relu(convolution(x))
        return self.second(F.max_pool2d(x, 2)), x.flatten(1), x

def get_inputs():
    torch.manual_seed(1)
    return [torch.randn(2, 32, 12, 10)]

def get_init_inputs():
    return []
"""


@needs_ops
class ChannelsLast(CommandLine):
    def test_a_package_of_a_chain(self):
        source = self.write("chain.py", MODEL)
        done = self.fact("optimize", source, "-o", "package", "--run-dir", "run", "--json", "--no-bench")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["statistics"]["texts_verified"], report["statistics"]["families"])
        for pattern in json.loads((self.folder / "run" / "discovery.json").read_text())["patterns"]:
            if pattern["convolution"]:
                self.assertIn("x: f32[B, H, W, C]", pattern["kernel"])
        # Images are copied where they enter, and where two layouts of the same images are read.
        self.assertLessEqual({one["target"] for one in report["left_alone"]}, {"aten.clone.default"})

        spec = importlib.util.spec_from_file_location("chain", source)
        chain = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(chain)
        import fact

        x = chain.get_inputs()[0]
        package = fact.load(self.folder / "package")
        with torch.no_grad():
            expected = chain.Model()(x)
            for form in (torch.contiguous_format, torch.channels_last):
                results = package(x.contiguous(memory_format=form))
                for wanted, result in zip(expected, results, strict=True):
                    torch.testing.assert_close(result, wanted, rtol=1e-3, atol=1e-4)
                    self.assertEqual(result.stride(), wanted.stride())


if __name__ == "__main__":
    unittest.main()
