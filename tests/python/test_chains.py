"""KernelBench's product problems, levels 1 and 2: what is found in their operator chains, whether the
kernel texts compute what torch does, and whether kernels of every shape of stages compile."""

import json
import sys
import unittest

from built import ROOT
from discovered import Discovered

# The widest pattern of each product in the order of the chains; the first of `l2_45` has two.
LEVEL1 = {
    "l1_01": "plain_matmul", "l1_02": "plain_matmul", "l1_03": "plain_matmul",
    "l1_04": "plain_matmul", "l1_06": "plain_matmul", "l1_07": "plain_matmul",
    "l1_08": "plain_matmul", "l1_09": "plain_matmul", "l1_10": "plain_matmul",
    "l1_11": "plain_matmul", "l1_13": "plain_matmul", "l1_14": "matmul_triu",
    "l1_15": "matmul_tril", "l1_16": "plain_matmul", "l1_17": "plain_matmul",
    "l1_18": "plain_matmul", "l1_97": "sdpa", "l1_87": "conv_add",
}  # fmt: skip
LEVEL2 = {
    "l2_09": "linear_bias_sub_scale_relu",
    "l2_12": "linear_bias_scale_leaky_relu",
    "l2_29": "linear_bias_mish",
    "l2_40": "linear_bias_scale_add",
    "l2_53": "linear_bias_scale_clamp_gelu",
    "l2_59": "linear_bias_silu_scale",
    "l2_63": "linear_bias_relu_scale",
    "l2_68": "linear_bias_min_sub",
    "l2_70": "linear_bias_sigmoid_scale_add",
    "l2_76": "linear_bias_relu",
    "l2_81": "linear_bias_silu_scale_clamp_etc",
    "l2_86": "linear_bias_scale_gelu",
    "l2_95": "linear_bias_sigmoid_bias_mul_etc",
    "l2_14": "linear_bias_scale_sum_scale",
    "l2_18": "linear_bias_logsumexp",
    "l2_22": "linear_bias_scale_add_clamp_etc",
    "l2_45": "linear_bias_logsumexp",
    "l2_51": "linear_bias_sub_logsumexp_gelu_add",
    "l2_55": "linear_bias_max_pool_sum_scale",
    "l2_56": "linear_bias_sigmoid_sum",
    "l2_64": "linear_bias_logsumexp_leaky_relu_gelu",
    "l2_66": "linear_bias",
    "l2_80": "linear_bias_mean_sub_gelu",
    "l2_98": "linear_bias_avg_pool_gelu_scale_max",
    "l2_99": "linear_bias_gelu_softmax",
    "l2_28": "linear_bias_instance_norm_residual_mul",
    "l2_30": "linear_bias_group_norm_clamp",
    "l2_37": "linear_bias_silu_bias_group_norm",
    "l2_62": "linear_bias_group_norm_leaky_relu_add",
    "l2_75": "linear_bias_group_norm_min_add_permuted",
    "l2_88": "linear_bias_group_norm_silu_mul_silu",
    "l2_94": "linear_bias_clamp_mish_group_norm",
    "l2_33": "linear_bias_mul_batch_norm",
    "l2_39": "linear_bias_mul_batch_norm",
    "l2_41": "linear_bias_batch_norm_gelu_relu",
    "l2_84": "linear_bias_batch_norm_scale_softmax",
    "l2_97": "linear_bias_batch_norm_shift_scale_silu",
}

# What stays with torch: the sum of a matrix and its transpose before a product, and dropout that drops.
LEFT = {
    "it combines a value with a reordering of itself": ["aten.add.Tensor"],
    "active dropout draws random numbers: it stays with torch": ["aten.native_dropout.default"],
}

# One of each kind of stages; the others differ in their expressions.
COMPILED = ["sdpa", "conv_add", "matmul_triu", "group_norm_min_add", "batch_norm_scale_softmax"]


class Chains(Discovered):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.found = {}
        for level in ("level1", "level2"):
            cls.fact("trace", f"examples.chains:{level}", "--training", "-o", f"{level}.pt2")
            cls.fact("discover", f"{level}.pt2", "-o", level)
            cls.found[level] = json.loads((cls.folder / level / "discovery.json").read_text())

    def names(self, level):
        """Of each product's widest pattern, by the part of the module it is in."""
        parts = {}
        for pattern in self.found[level]["patterns"]:
            number, name = pattern["id"].split("_", 1)
            if number.startswith("p") and not number.endswith("b"):
                parts[number] = name
        return [parts[number] for number in sorted(parts)]

    def test_every_chain_is_found_whole(self):
        self.assertEqual(self.names("level1"), list(LEVEL1.values()))
        expected = list(LEVEL2.values())
        expected.insert(list(LEVEL2).index("l2_45"), "linear_bias_sigmoid")
        self.assertEqual(self.names("level2"), expected)

    def test_the_table_covers_every_chain(self):
        sys.path.insert(0, str(ROOT))
        from examples.chains import CHAINS

        self.assertEqual(list(CHAINS), [*LEVEL1, *LEVEL2])

    def test_what_stays_with_torch_is_named(self):
        left = {}
        for level in self.found.values():
            for item in level["left_alone"]:
                left.setdefault(item["reason"], []).append(item["target"])
        self.assertEqual({reason: sorted(targets) for reason, targets in left.items()}, LEFT)

    def test_every_text_computes_what_torch_does(self):
        checked = set()
        for level, found in self.found.items():
            for pattern in found["patterns"]:
                if pattern["family"] in checked:
                    continue
                checked.add(pattern["family"])
                with self.subTest(level=level, pattern=pattern["id"]):
                    self.check(self.folder / level / "calls" / f"{pattern['id']}.json", pattern)
        self.assertGreater(len(checked), 55)

    def test_each_kind_of_stages_compiles(self):
        for level, found in self.found.items():
            wanted = [
                pattern["id"]
                for pattern in found["patterns"]
                if any(name in pattern["id"] for name in COMPILED)
            ]
            chosen = [argument for name in wanted for argument in ("--pattern", name)]
            said = self.fact("realize", level, *chosen)
            self.assertTrue(wanted)
            self.assertEqual(said.count(" 1 passed "), len(wanted), said)

    def test_running_statistics_follow_the_original(self):
        self.fact("optimize", "examples.chains:l2_41", "--training", "--no-bench", "-o", "norm")
        sys.path.insert(0, str(ROOT))
        import fact
        import torch
        from fact.trace import load_model

        module, inputs = load_model("examples.chains:l2_41", training=True)
        package = fact.load(str(self.folder / "norm"))
        with torch.no_grad():
            for scale in (1.0, 3.0):
                x = inputs[0] * scale
                torch.testing.assert_close(package(x), module(x), rtol=1e-5, atol=1e-5)
        own, other = module.state_dict(), package.state_dict()
        self.assertEqual(list(own), list(other))
        for name, value in own.items():
            torch.testing.assert_close(other[name], value, rtol=1e-5, atol=1e-6, msg=name)


if __name__ == "__main__":
    unittest.main()
