"""The sliding windows of Hugging Face's decoders, examples/windows.py: whether they are found in the
exported masks, and whether the kernel texts compute what torch does."""

import collections
import importlib.util
import os
import unittest
from unittest import mock

from discovered import Discovered

BOTH = {"sdpa_causal_window": 1, "sdpa_causal": 1}
FOUND = {
    ("mistral", "sdpa"): {"sdpa_causal_window": 2},
    ("mistral", "eager"): {"sdpa_causal_window": 2},
    ("gemma2", "eager"): {"sdpa_causal_window_cap": 1, "sdpa_causal_cap": 1},
    ("gemma3", "sdpa"): BOTH,
    ("qwen2", "sdpa"): BOTH,
}


@unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
class Windows(Discovered):
    def attentions(self, model, how):
        name = f"{model}_{how}"
        with mock.patch.dict(os.environ, {"WINDOWS_SMALL": "1", "WINDOWS_ATTENTION": how}):
            found = self.discover(f"examples.windows:{model}", name, "--dtype", "bf16")
        patterns = [pattern for pattern in found["patterns"] if pattern["rule"] == "attention"]
        for pattern in patterns:
            call = self.folder / name / "calls" / f"{pattern['id']}.json"
            self.check(call, pattern, weights=str(self.folder / f"{name}.pt2"))
        return patterns

    def test_every_window_is_found(self):
        for (model, how), kinds in FOUND.items():
            with self.subTest(model, attention=how):
                patterns = self.attentions(model, how)
                found = collections.Counter(pattern["id"].split("_", 1)[1] for pattern in patterns)
                self.assertEqual(found, kinds)
                for pattern in patterns:
                    if "window" in pattern["id"]:  # the query itself is one of the twelve
                        self.assertIn("mask: causal, window: 12", pattern["kernel"])
                        self.assertNotIn("bias", pattern["kernel"])


if __name__ == "__main__":
    unittest.main()
