"""The executor against torch itself: archives run without kernels."""

import pathlib
import tempfile
import unittest

import torch
from built import ROOT, needs_ops
from torch import nn


def export(module, inputs, path):
    with torch.no_grad():
        program = torch.export.export(module.eval(), tuple(inputs)).run_decompositions({})
    torch.export.save(program, str(path))


class Mixture(nn.Module):
    """Operators whose arguments cover the schema's types."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.conv = nn.Conv1d(4, 4, 3, padding=1)
        self.embed = nn.Embedding(10, 16)
        self.register_buffer("scale", torch.rand(16), persistent=False)

    def forward(self, x, index, options):
        a, b = self.norm(x).chunk(2, dim=-1)
        y = torch.cat([a * 2, b.pow(2), a.float().mean(dim=-1, keepdim=True).expand(-1, -1, 8)], -1)
        y = self.conv(y[..., :16]) + self.embed(index).sum(dim=(1,), dtype=torch.float32)[:, None]
        y = torch.where(y > 0.5, y, torch.full_like(y, -1.0)) * self.scale
        grid = torch.arange(16, device=x.device) % 3 == 0
        y = y.masked_fill(grid, float("-inf")).softmax(-1).to(torch.float64)
        top, places = torch.topk(y, 3)
        picked = y[:, torch.tensor([0, 2], device=x.device)]
        return {"top": top, "places": places, "rest": (picked.clamp(min=0.01), options["gain"] * y)}


class OtherTypes(nn.Module):
    """Casts to types that no kernel has."""

    def forward(self, x):
        rounded = x.to(torch.float8_e4m3fn).to(x.dtype)
        packed = (x * 3).to(torch.uint8).view(torch.float8_e5m2).to(x.dtype)
        return rounded, packed.nan_to_num(), x.to(torch.complex64).abs()


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen.add_(1)
        return x + self.seen


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8, bias=False)
        self.second = nn.Linear(8, 8, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x).relu())


@needs_ops
class Executor(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.folder = tempfile.TemporaryDirectory(prefix="fact-executor-")
        self.addCleanup(self.folder.cleanup)

    def packaged(self, module, *inputs):
        from fact.package import load

        path = pathlib.Path(self.folder.name) / "model.pt2"
        export(module, inputs, path)
        return load(path)

    def test_gpt_block(self):
        from fact.trace import load_model

        module, inputs = load_model(str(ROOT / "examples" / "minigpt_block.py"))
        inputs = [x[:2, :32] for x in inputs] if inputs[0].numel() > 1 << 20 else inputs
        for dtype in (torch.float32, torch.bfloat16):
            module, inputs = module.to(dtype), [x.to(dtype) for x in inputs]
            packaged = self.packaged(module, *inputs)
            with torch.no_grad():
                torch.testing.assert_close(packaged(*inputs), module(*inputs), rtol=0, atol=0)

    def test_mixture_of_operators_and_structured_results(self):
        module = Mixture()
        inputs = (torch.randn(2, 4, 16), torch.randint(10, (2, 3)), {"gain": torch.rand(1)})
        packaged = self.packaged(module, *inputs)
        with torch.no_grad():
            want, got = module(*inputs), packaged(*inputs)
        self.assertEqual(list(want), list(got))
        torch.testing.assert_close(got, want, rtol=0, atol=0)
        self.assertEqual(set(packaged.state_dict()), set(module.state_dict()))
        self.assertIn("scale", dict(packaged.named_buffers()))

    def test_types_that_no_kernel_has(self):
        module, x = OtherTypes(), torch.randn(3, 8).abs()
        packaged = self.packaged(module, x)
        torch.testing.assert_close(packaged(x), module(x), rtol=0, atol=0)

    def test_weights_are_the_modules_own(self):
        module = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))
        x = torch.randn(3, 8)
        packaged = self.packaged(module, x)
        other = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))
        packaged.load_state_dict(other.state_dict())
        torch.testing.assert_close(packaged(x), other(x).detach())
        packaged.double()
        torch.testing.assert_close(packaged(x.double()), other.double()(x.double()).detach())

    def test_tied_weights_stay_tied(self):
        module, x = Tied(), torch.randn(3, 8)
        packaged = self.packaged(module, x)
        torch.testing.assert_close(packaged(x), module(x).detach())
        self.assertEqual(set(packaged.state_dict()), set(module.state_dict()))
        self.assertIs(packaged.first.weight, packaged.second.weight)

    def test_buffers_are_written_back(self):
        packaged = self.packaged(Counter(), torch.zeros(2))
        self.assertEqual(packaged(torch.zeros(2)).tolist(), [1.0, 1.0])
        self.assertEqual(packaged(torch.zeros(2)).tolist(), [2.0, 2.0])
        self.assertEqual(packaged.seen.item(), 2.0)

    def test_misuse_is_explained(self):
        x = torch.randn(3, 8)
        packaged = self.packaged(nn.Linear(8, 8), x)
        with self.assertRaisesRegex(TypeError, "traced with the arguments"):
            packaged(x, x)
        with self.assertRaisesRegex(TypeError, "was a tensor"):
            packaged(3)
        with self.assertRaisesRegex(RuntimeError, "no backward"):
            packaged(x.clone().requires_grad_())
        with torch.no_grad():
            packaged(x.clone().requires_grad_())
        with self.assertRaisesRegex(RuntimeError, r"linear.*\n?.*test_executor|linear"):
            packaged(x.double())

    def test_missing_package(self):
        from fact.package import load

        with self.assertRaisesRegex(RuntimeError, "is not a package"):
            load(self.folder.name)


if __name__ == "__main__":
    unittest.main()
