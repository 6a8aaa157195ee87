"""Buffers that kernels have built in: they may not hold anything else."""

import gc
import pathlib
import tempfile
import unittest

import torch
from built import needs_ops
from packages import Masked, write_package

CHANGED = "'mask' was changed.*optimize the module again"


@needs_ops
class BuiltIn(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x = torch.randn(2, 8, 32)

    def package(self, mask):
        folder = tempfile.TemporaryDirectory(prefix="fact-built-in-")
        self.addCleanup(folder.cleanup)
        write_package(pathlib.Path(folder.name), Masked(mask).eval(), self.x)
        return folder.name

    def load(self, mask=None):
        from fact.package import load

        return load(self.package(torch.ones(8, 8).tril() if mask is None else mask))

    def refuses(self, call, x=None):
        with self.assertRaisesRegex(RuntimeError, CHANGED):
            call(self.x if x is None else x)

    def test_the_same_values_may_be_written_again(self):
        packaged = self.load()
        want = packaged(self.x)
        packaged.mask.copy_(packaged.mask.clone())
        self.assertTrue(torch.equal(packaged(self.x), want))
        packaged.load_state_dict(packaged.state_dict())
        self.assertTrue(torch.equal(packaged(self.x), want))
        packaged.mask = packaged.mask.t().contiguous().t()  # lying otherwise
        self.assertTrue(torch.equal(packaged(self.x), want))
        packaged.double()
        torch.testing.assert_close(packaged(self.x.double()).float(), want, rtol=1e-5, atol=1e-6)

    def test_others_may_not(self):
        packaged = self.load()
        packaged(self.x)
        packaged.mask[0, 3] = 1
        self.refuses(packaged)
        packaged.mask[0, 3] = 0
        packaged(self.x)
        packaged.mask[1, 1] = -0.0
        self.refuses(packaged)
        packaged.mask = torch.ones(8, 8).tril()
        packaged(self.x)
        packaged.mask = torch.ones(8, 8)
        self.refuses(packaged)
        packaged.double()
        self.refuses(packaged, self.x.double())

    def test_refresh_looks_again(self):
        packaged = self.load()
        packaged(self.x)
        packaged.mask.data[0, 3] = 1  # not counted
        packaged(self.x)
        packaged.refresh()
        self.refuses(packaged)

    def test_weights_that_are_given(self):
        from fact.package import load

        folder = self.package(torch.ones(8, 8).tril())
        self.refuses(load(folder, weights=Masked(torch.ones(8, 8)).eval()))
        load(folder, weights=Masked(torch.ones(8, 8).tril()).eval())(self.x)

    def test_nan_is_a_value(self):
        mask = torch.ones(8, 8)
        mask[0, 1], mask[2, 2] = torch.nan, -torch.inf
        packaged = self.load(mask)
        packaged.mask.copy_(mask.clone())
        packaged(self.x)
        packaged.half()
        packaged.mask.copy_(mask)
        with torch.no_grad():
            packaged(self.x.half())
        packaged.float()
        packaged.mask[0, 1] = 0
        self.refuses(packaged)

    def test_where_torch_counts_no_changes(self):
        with torch.inference_mode():
            packaged = self.load()
            self.assertTrue(packaged.mask.is_inference())
            packaged(self.x)
            packaged.mask[0, 3] = 1
            self.refuses(packaged)
            packaged.mask[0, 3] = 0
            packaged(self.x)

    def test_another_tensor_at_the_same_address(self):
        packaged = self.load(torch.ones(512, 512).tril())
        packaged(self.x)
        address, version = packaged.mask.data_ptr(), packaged.mask._version
        packaged.mask = None
        gc.collect()
        others = []
        for _ in range(100):
            other = torch.empty(512, 512)
            others.append(other)
            if other.data_ptr() == address:
                break
        else:
            self.skipTest("the address did not come back")
        while other._version < version:
            other.fill_(1)
        packaged.mask = other
        self.assertEqual((packaged.mask.data_ptr(), packaged.mask._version), (address, version))
        self.refuses(packaged)

    def test_copies_of_the_module(self):
        import copy

        packaged = self.load()
        twin = copy.deepcopy(packaged)
        for _ in range(2):
            packaged(self.x)
            twin(self.x)
        twin.mask[0, 3] = 1
        packaged(self.x)
        self.refuses(twin)

    def test_compiled_and_exported(self):
        packaged = self.load()
        torch._dynamo.reset()
        compiled = torch.compile(packaged, backend="aot_eager", fullgraph=True)
        exported = torch.export.export(packaged, (self.x,)).module()
        compiled(self.x)
        exported(self.x)
        with torch.no_grad():
            packaged.mask[0, 3] = 1
            exported.mask[0, 3] = 1
        self.refuses(compiled)
        self.refuses(exported)


if __name__ == "__main__":
    unittest.main()
