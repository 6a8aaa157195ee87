"""The examples that are whole models or blocks: what is found in them, that deep models share their
families, and that a module without its weights is found the same way."""

import importlib.util
import os
import unittest
from unittest import mock

from built import ROOT
from discovered import Discovered

needs_transformers = unittest.skipUnless(
    importlib.util.find_spec("transformers"), "transformers is not installed"
)


def kinds(discovery):
    """How often each kind of pattern was found: "linear_residual": 8."""
    found = {}
    for pattern in discovery["patterns"]:
        kind = pattern["id"].split("_", 1)[1]
        found[kind] = found.get(kind, 0) + 1
    return found


class Examples(Discovered):
    def example(self, name, dtype=None, **variables):
        """The archive's size and the discovery of an example, in its small size."""
        folder = f"{name}-{'-'.join(variables.values())}"
        cast = ["--dtype", dtype] if dtype else []
        small = {f"{name}_SMALL": "1" for name in ("GPT2", "LLAMA", "ENCODER", "MIXED", "VIT", "QWEN2")}
        with mock.patch.dict(os.environ, {**small, **variables}):
            source = str(ROOT / "examples" / f"{name}.py")
            found = self.discover(source, folder, *cast, "--without-weights")
        return (self.folder / f"{folder}.pt2").stat().st_size, found

    def families(self, discovery):
        return {pattern["family"] for pattern in discovery["patterns"]}

    @needs_transformers
    def test_layers_of_gpt2_share_their_families(self):
        _, two = self.example("gpt2", "bf16", GPT2_LAYERS="2")
        size, four = self.example("gpt2", "bf16", GPT2_LAYERS="4")
        self.assertEqual(self.families(two), self.families(four))
        found = kinds(four)
        for kind, count in {
            "sdpa_causal": 4,
            "matmul_bias": 4,
            "matmul_bias_gelu_tanh": 4,
            "layer_norm_rows": 8,
            "layer_norm_matmul_bias": 4,
            "layer_norm_matmul_bias_gelu_tanh": 4,
            "matmul_bias_residual_layer_norm": 1,
        }.items():
            self.assertEqual(found.get(kind), count, found)
        left = {item["target"] for item in four["left_alone"]}
        self.assertEqual(left, {"aten.embedding.default", "aten.add.Tensor"})
        self.assertLess(size, 1 << 20)  # its weights alone are 1.7 MB

    @needs_transformers
    def test_layers_of_llama_share_their_families(self):
        _, two = self.example("llama_model", LLAMA_LAYERS="2")
        _, four = self.example("llama_model", LLAMA_LAYERS="4")
        self.assertEqual(self.families(two), self.families(four))
        found = kinds(four)
        self.assertEqual(found.get("sdpa_causal"), 4, found)
        self.assertEqual(found.get("linear_silu_mul"), 4, found)
        self.assertEqual(found.get("rms_norm_linear_silu_mul"), 4, found)

    @needs_transformers
    def test_what_hugging_face_runs_otherwise_when_traced(self):
        for name in ("vit", "qwen2"):
            with self.subTest(example=name):
                _, found = self.example(name, "bf16")
                attention = [kind for kind in kinds(found) if kind.startswith("sdpa")]
                self.assertTrue(attention, kinds(found))

    def test_an_encoder_keeps_its_bias_and_its_mask(self):
        for how in ("", "sdpa"):
            with self.subTest(attention=how or "written out"):
                _, found = self.example("encoder_block", "bf16", ENCODER_ATTENTION=how)
                self.assertEqual(kinds(found).get("sdpa_bias"), 1, kinds(found))

    def test_what_is_not_known_stays_and_says_why(self):
        _, found = self.example("mixed", "bf16")
        left = {item["target"]: item["reason"] for item in found["left_alone"]}
        for target in ("aten.sort.default", "aten.scatter.src", "aten.fft_fft.default"):
            self.assertIn("no rule covers", left.get(target, ""), left)
        self.assertEqual(kinds(found).get("layer_norm_rows"), 3, kinds(found))
        self.assertEqual(kinds(found).get("rows_cumsum_div"), 1, kinds(found))


if __name__ == "__main__":
    unittest.main()
