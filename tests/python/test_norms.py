"""Norms before products in every spelling of examples/norms.py: that they are found alone and
folded, and whether the kernel texts compute what torch does; what they do where rows have a mean
far from zero."""

import unittest

from discovered import Discovered

# What stands beside the norm's own pattern and the product's.
FOLDED = {
    "layer_norm": "layer_norm_linear_bias_gelu",
    "layer_norm_without_weights": "layer_norm_linear",
    "layer_norm_written_out": "layer_norm_linear",
    "gpt2": "layer_norm_matmul_bias",
    "rms_norm": "rms_norm_linear",
    "llama": "rms_norm_linear",
    "gemma": "rms_norm_linear",
    "gated": "rms_norm_linear_silu_mul",
    "packed_gate": "rms_norm_linear_silu_mul",
    "rotated": "rms_norm_linear_rotary",
    "by_heads": "rms_norm_matmul",
    "read_twice": None,
}


class Norms(Discovered):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.found = cls.discover("examples.norms:every", "norms", "--dtype", "bf16")
        cls.folded = [p for p in cls.found["patterns"] if "norm_linear" in p["id"] or "norm_matmul" in p["id"]]

    def module(self, pattern):
        return pattern["where"]["module_path"].split(".")[0]

    def proven(self, pattern, text):
        call = self.folder / "norms" / "calls" / f"{pattern['id']}.json"
        return self.checks(call, text, weights=str(self.folder / "norms.pt2"))

    def test_each_is_folded_beside_its_two_patterns(self):
        found = {self.module(p): p["id"].split("_", 1)[1] for p in self.folded}
        self.assertEqual(found, {name: kind for name, kind in FOLDED.items() if kind})
        kinds = [p["id"][0] for p in self.found["patterns"]]
        self.assertEqual(kinds.count("n"), len(FOLDED))
        self.assertEqual(kinds.count("p"), 2 * len(FOLDED))

    def test_every_text_computes_what_torch_does(self):
        for pattern in self.found["patterns"]:
            with self.subTest(pattern["id"]):
                call = self.folder / "norms" / "calls" / f"{pattern['id']}.json"
                self.check(call, pattern, weights=str(self.folder / "norms.pt2"))

    def test_rows_are_shown_with_a_mean_far_from_zero(self):
        for pattern in self.folded:
            checks = self.proven(pattern, pattern["kernel"])
            self.assertEqual([check["distribution"] for check in checks][-1], "shifted")

    # A mean that is rounded is as good as any near zero.
    def test_lost_digits_of_the_statistics_are_refused(self):
        pattern = next(p for p in self.folded if self.module(p) == "layer_norm_without_weights")
        wrong = pattern["kernel"].replace("center  = sum(x, over: K) / extent(K)",
                                          "center  = bf16(sum(x, over: K) / extent(K))")
        self.assertNotEqual(wrong, pattern["kernel"])
        passed = {check["distribution"]: check["passed"] for check in self.proven(pattern, wrong)}
        self.assertTrue(passed["normal"])
        self.assertFalse(passed["shifted"])


if __name__ == "__main__":
    unittest.main()
