"""Attention in every spelling of examples/attentions.py: what it is found as, and whether the
kernel texts compute what torch does."""

import unittest

from discovered import Discovered

FOUND = {
    "buffer": "sdpa_causal",
    "decoder": "sdpa_causal",
    "arithmetic": "sdpa_causal",
    "chosen": "sdpa_causal",
    "triangle": "sdpa_causal",
    "window_added": "sdpa_causal_window",
    "window_buffer": "sdpa_causal_window",
    "window_around": "sdpa_window",
    "encoder": "sdpa_bias",
    "hidden_keys": "sdpa_bias",
    "relative": "sdpa_bias",
    "padded": "sdpa_bias",
    "apart": "sdpa_bias",
    "capped": "sdpa_causal_cap",
    "batched": "sdpa_causal",
    "letters": "sdpa",
    "operator_with_mask": "sdpa_causal",
    "operator_window": "sdpa_causal_window",
    "operator_shown": "sdpa_bias",
    "operator_joined": "sdpa_bias",
    "operator_grouped": "sdpa_causal",
}


class Attentions(Discovered):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        spec = "examples.attentions:every"
        cls.found = {
            "bf16": cls.discover(spec, "bf16", "--dtype", "bf16"),
            "f32": cls.discover(spec, "f32"),
            "tf32": cls.discover(spec, "tf32", allowing=["--allow-tf32"]),
        }

    def attentions(self, dtype):
        return {
            pattern["where"]["module_path"]: pattern
            for pattern in self.found[dtype]["patterns"]
            if pattern["rule"] == "attention"
        }

    def test_each_is_one_pattern(self):
        found = self.attentions("bf16")
        names = {where: pattern["id"].split("_", 1)[1] for where, pattern in found.items()}
        self.assertEqual(names, FOUND)
        rules = {pattern["rule"] for pattern in self.found["bf16"]["patterns"]}
        self.assertEqual(rules, {"attention", "linear", "linears", "rows"})

    def test_only_what_masks_are_made_of_stays_with_torch(self):
        """A lookup by distance, once; arithmetic on one number a key is a small kernel of its own."""
        self.assertEqual(self.found["bf16"]["left_alone"], [])
        once = [
            (item["where"]["module_path"], item["target"])
            for item in self.found["bf16"]["idle"]
            if item["reason"].endswith(", once")
        ]
        self.assertIn(("padded", "aten.index.Tensor"), once)

    def test_f32_keeps_its_products(self):
        self.assertEqual(list(self.attentions("f32")), ["operator_with_mask", "operator_window", "operator_shown", "operator_joined"])

    def test_rounded_f32_does_not(self):
        names = {where: pattern["id"].split("_", 1)[1] for where, pattern in self.attentions("tf32").items()}
        self.assertEqual(names, FOUND)

    def test_projections_of_one_input_are_one_product(self):
        joined = [pattern for pattern in self.found["bf16"]["patterns"] if pattern["rule"] == "linears"]
        self.assertIn(3, {len(pattern["nodes"]) for pattern in joined})
        for pattern in {pattern["family"]: pattern for pattern in joined}.values():
            with self.subTest(pattern["id"]):
                self.check(self.folder / "bf16" / "calls" / f"{pattern['id']}.json", pattern)

    def test_every_text_computes_what_torch_does(self):
        for where, pattern in self.attentions("bf16").items():
            with self.subTest(where):
                call = self.folder / "bf16" / "calls" / f"{pattern['id']}.json"
                self.check(call, pattern, weights=str(self.folder / "bf16.pt2"))


if __name__ == "__main__":
    unittest.main()
