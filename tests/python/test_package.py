"""A package with a fused call, written by hand, on the CPU: the interpreter runs the kernel."""

import copy
import gc
import pathlib
import tempfile
import unittest

import torch
from built import needs_ops
from packages import Up, write_package


@needs_ops
class Package(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory(prefix="fact-package-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.module, self.x = Up().eval(), torch.randn(2, 8, 32)
        write_package(self.folder, self.module, self.x)

    def load(self):
        from fact.package import load

        return load(self.folder)

    def test_the_kernel_text_computes_the_call(self):
        packaged = self.load()
        with torch.no_grad():
            want, exact = self.module(self.x), self.module.double()(self.x.double())
        got = packaged(self.x)
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
        # The interpreter computes in f64 and rounds once: eager is not that exact.
        self.assertLess((got - exact).abs().max(), 2e-7)

    def test_new_weights_and_other_shapes(self):
        packaged = self.load()
        other = Up().eval()
        packaged.load_state_dict(other.state_dict())
        with torch.no_grad():
            torch.testing.assert_close(packaged(self.x), other(self.x), rtol=1e-5, atol=1e-6)
            longer = torch.randn(3, 5, 32)  # not what was traced: the original operators
            torch.testing.assert_close(packaged(longer), other(longer))
            turned = torch.randn(8, 2, 32).transpose(0, 1)  # rows do not lie behind one another
            torch.testing.assert_close(packaged(turned), other(turned), rtol=1e-5, atol=1e-6)

    def test_a_copy_outlives_the_original(self):
        packaged = self.load()
        twin = copy.deepcopy(packaged)
        want = packaged(self.x)
        del packaged
        gc.collect()
        torch.testing.assert_close(twin(self.x), want)

    def test_damage_is_reported(self):
        (self.folder / "kernels" / "up" / "kernel.fact").write_text("kernel up(")
        with self.assertRaisesRegex(RuntimeError, "kernel.fact"):
            self.load()
        (self.folder / "manifest.json").write_text('{"format": 99, "calls": []}')
        with self.assertRaisesRegex(RuntimeError, "another version"):
            self.load()
        (self.folder / "manifest.json").write_text("{")
        with self.assertRaisesRegex(RuntimeError, "damaged"):
            self.load()


if __name__ == "__main__":
    unittest.main()
