"""Operators without a product: found, written, checked against torch, composed."""

import json
import unittest

from command_line import CommandLine

MODEL = """
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.groups = torch.nn.GroupNorm(8, 32)
        self.channels = torch.nn.InstanceNorm2d(32, affine=True)

    def forward(self, x, y, image):
        losses = F.mse_loss(x, y) + F.l1_loss(x, y, reduction="sum") + F.smooth_l1_loss(x, y, beta=0.5)
        losses = losses + F.huber_loss(x, y, delta=2.0) + F.binary_cross_entropy_with_logits(x, y.sigmoid())
        shares = F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="sum")
        logs = F.kl_div(x.log_softmax(-1), y.log_softmax(-1), reduction="mean", log_target=True)
        unit = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
        flat = torch.linalg.vector_norm(x, ord=1, dim=0) + torch.linalg.vector_norm(y, ord=float("inf"), dim=0)
        columns = torch.softmax(x, dim=0) * torch.logsumexp(y, dim=0)
        picture = F.silu(self.groups(image)) + self.channels(image)
        spread = x.var(dim=1) + y.std(dim=1, correction=0) + x.std(dim=1, unbiased=True)
        alike = F.cosine_similarity(x, y, dim=1) * 2
        flat = flat + x.var() * 0.5
        chain = F.celu(F.logsigmoid(x), 2.0) + torch.addcdiv(x, y, y.exp()).abs().log1p().expm1()
        chain = chain * F.threshold(torch.addcmul(x, x, y, value=0.5).lerp(y, 0.7).lerp(x, 0.2), 0.1, 2.0)
        directions = F.normalize(x, dim=1) + torch.clamp(y, x, x.abs()) * x.abs().pow(y.sigmoid())
        chain = chain * directions
        return losses, shares, logs, unit, flat, columns, picture, picture.amax(dim=(1, 3)), spread, alike, chain

def get_inputs():
    return [torch.randn(48, 96), torch.randn(48, 96), torch.randn(2, 32, 6, 10)]

def get_init_inputs():
    return []
"""

LONG = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1), (x * x).mean(), torch.nn.functional.layer_norm(x, x.shape[1:])

def get_inputs():
    return [torch.randn(4, 20480)]

def get_init_inputs():
    return []
"""


class Rows(CommandLine):
    def optimized(self, source):
        done = self.fact("optimize", self.write("model.py", source), "--run-dir", "run", "--json", "--no-bench")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_what_no_product_is_near(self):
        report = self.optimized(MODEL)
        for pattern in report["patterns"]:
            self.assertEqual(pattern["why"], "", pattern)
        self.assertEqual(report["statistics"]["texts_verified"], report["statistics"]["families"])
        left = {one["target"] for one in report["left_alone"]}
        self.assertLessEqual(left, {"aten.add.Tensor", "aten.sigmoid.default", "aten.broadcast_tensors.default"})

    def test_long_rows(self):
        report = self.optimized(LONG)
        self.assertEqual(report["operators"]["left_alone"], 0)
        self.assertEqual(report["statistics"]["texts_verified"], report["statistics"]["families"])


if __name__ == "__main__":
    unittest.main()
