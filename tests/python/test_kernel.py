"""Kernels built from a text and called from Python; without a GPU the text is interpreted."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

import torch
from built import OPS, ROOT, needs_ops

TEXT = """\
kernel linear_softmax(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N], largest: f32[M]) {
  acc = x @ w.T
  y = softmax(acc, over: N)
  largest = max(acc, over: N)
}
"""

SCALED = """\
kernel scaled(x: f32[M, N], alpha: f32) -> (y: f32[M, N]) {
  y = x * alpha
}
"""

ATTENTION = """\
kernel attend(q: bf16[B, M, H, 16], k: bf16[B, N, H, 16], v: bf16[B, N, H, 24])
    -> (y: bf16[B, H, M, 24], sums: f32[B, H, M]) {
  y = attention(q.permute(B, H, M, 16), k.permute(B, H, N, 16), v.permute(B, H, N, 24), mask: causal, window: 4)
  sums = scores_logsumexp(y)
}
"""


@needs_ops
class Kernels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-kernel-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "kernel.fact").write_text(TEXT)
        os.environ.setdefault("FACT_OPS", OPS)
        import fact

        self.kernel = fact.kernel(self.folder)

    def test_interprets_on_the_cpu(self):
        x, w = torch.randn(5, 16).bfloat16(), torch.randn(7, 16).bfloat16()
        y, largest = self.kernel(x, w=w)
        scores = x.double() @ w.double().t()
        torch.testing.assert_close(y.double(), scores.softmax(-1), rtol=0, atol=4e-3)
        torch.testing.assert_close(largest.double(), scores.amax(-1), rtol=1e-6, atol=1e-6)

    def test_attention_gives_the_logarithms_of_its_sums(self):
        import fact

        (self.folder / "kernel.fact").write_text(ATTENTION)
        q, k = (torch.randn(2, 9, 3, 16).bfloat16() for _ in range(2))
        v = torch.randn(2, 9, 3, 24).bfloat16()
        y, sums = fact.kernel(self.folder)(q, k, v)
        q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
        apart = torch.arange(9)[:, None] - torch.arange(9)
        scores = (q @ k.mT / 4).masked_fill((apart < 0) | (apart >= 4), -torch.inf)
        torch.testing.assert_close(y.double(), scores.softmax(-1) @ v, rtol=0, atol=2e-2)
        torch.testing.assert_close(sums.double(), scores.logsumexp(-1), rtol=1e-6, atol=1e-6)

    def test_numbers_are_scalars(self):
        import fact

        (self.folder / "kernel.fact").write_text(SCALED)
        scaled, x = fact.kernel(self.folder), torch.randn(3, 4)
        for alpha in (2, 0.5, torch.tensor(0.25)):
            torch.testing.assert_close(scaled(x, alpha=alpha), x * alpha)
        # f32 whatever torch's default is, and no copy from the host.
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)
        with mock.patch.object(torch, "tensor", side_effect=AssertionError):
            torch.testing.assert_close(scaled(x, 3), x * 3)
        with self.assertRaisesRegex(TypeError, "numbers for its scalars, got str"):
            scaled(x, "2")

    def test_says_what_does_not_fit(self):
        x, w = torch.randn(5, 16).bfloat16(), torch.randn(7, 12).bfloat16()
        with self.assertRaisesRegex(RuntimeError, "dimension K is 12 in w and 16 elsewhere"):
            self.kernel(x, w)
        with self.assertRaisesRegex(RuntimeError, "takes 2 tensors"):
            self.kernel(x)
        with self.assertRaisesRegex(TypeError, "also takes w"):
            self.kernel(x=x)
        with self.assertRaisesRegex(TypeError, "'v'"):
            self.kernel(x, w, v=w)
        with self.assertRaisesRegex(RuntimeError, "element type is f32, not bf16"):
            self.kernel(x.float(), w[:, :16].float().new_zeros(7, 16))

    def test_a_missing_folder_is_named(self):
        import fact

        with self.assertRaisesRegex(RuntimeError, "kernel.fact"):
            fact.kernel(self.folder / "none")


if __name__ == "__main__":
    unittest.main()
