"""Rotary embeddings in every spelling of examples/rotaries.py: what they are found as, and whether
the kernel texts compute what torch does."""

import unittest

from discovered import Discovered

FOUND = {
    "halves.project": ["linear_rotary"],
    "chunked.project": ["linear_bias_rotary"],
    "separate.project": ["linear_rotary"],
    "unbound.project": ["linear_rotary"],
    "interleaved.project": ["linear_rotary"],
    "every_two.project": ["linear_rotary"],
    "pairs.project": ["linear_rotary"],
    "alone": ["rotary"],
    "alone_interleaved": ["rotary"],
    "alone_in_f32": ["rotary"],
    "read_twice.project": ["linear"],
    "read_twice": ["rotary"],
    "partial.project": ["linear"],
    "partial": ["rotary"],
}


class Rotaries(Discovered):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        spec = "examples.rotaries:every"
        cls.found = {"bf16": cls.discover(spec, "bf16", "--dtype", "bf16"), "f32": cls.discover(spec, "f32")}

    def test_each_is_one_pattern(self):
        for dtype, found in self.found.items():
            names = {}
            for pattern in found["patterns"]:
                if pattern["rule"] == "linears":
                    continue  # two modules' linears as one product, since they read the same input
                name = pattern["id"].split("_", 1)[1]
                names.setdefault(pattern["where"]["module_path"], []).append(name)
            self.assertEqual(names, FOUND, dtype)

    def test_only_parts_of_heads_are_put_together_by_torch(self):
        for found in self.found.values():
            left = [(item["target"], item["where"]["module_path"]) for item in found["left_alone"]]
            self.assertEqual(left, [("aten.cat.default", "partial")])

    def test_a_rotation_is_one_flip_and_one_sign(self):
        for found in self.found.values():
            for pattern in found["patterns"]:
                if "rotary" in pattern["id"]:
                    self.assertEqual(pattern["kernel"].count("flip("), 1, pattern["kernel"])
                    self.assertIn("where(index(2) == 0, -1.0, 1.0)", pattern["kernel"])

    def test_every_text_computes_what_torch_does(self):
        for dtype, found in self.found.items():
            for pattern in found["patterns"]:
                if "rotary" not in pattern["id"]:
                    continue
                with self.subTest(pattern["where"]["module_path"], dtype=dtype):
                    call = self.folder / dtype / "calls" / f"{pattern['id']}.json"
                    self.check(call, pattern, weights=str(self.folder / f"{dtype}.pt2"))


if __name__ == "__main__":
    unittest.main()
