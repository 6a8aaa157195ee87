"""Gates in every spelling of examples/gates.py: what they are found as, and whether the kernel texts
compute what torch does."""

import unittest

from discovered import Discovered

FOUND = {
    "two_weights.gate": ["linear_silu_mul"],
    "chunked.project": ["linear_silu_mul"],
    "split.project": ["linear_bias_gelu_mul"],
    "sliced.project": ["linear_gelu_mul"],
    "every_other.project": ["linear_clamp_shift_scale_sigmoid_mul"],
    "glu.project": ["linear_bias_glu"],
    "read_twice.project": ["linear"],
    "read_twice": ["rows_mul"],
}


class Gates(Discovered):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.found = cls.discover("examples.gates:every", "gates", "--dtype", "bf16")

    def test_each_is_one_pattern(self):
        names = {}
        for pattern in self.found["patterns"]:
            name = pattern["id"].split("_", 1)[1]
            names.setdefault(pattern["where"]["module_path"], []).append(name)
        self.assertEqual(names, FOUND)

    def test_a_packed_weight_is_bound_by_halves(self):
        for pattern in self.found["patterns"]:
            where = pattern["where"]["module_path"]
            halves = {param["tensor"]: param["half"] for param in pattern["params"] if "half" in param}
            if where in ("two_weights.gate", "read_twice.project", "read_twice"):
                self.assertEqual(halves, {})
                continue
            stepped = where == "every_other.project"
            for name, half in halves.items():
                number = 1 if name.endswith("2") else 0
                self.assertEqual(half, {"dim": 0, "number": number, "stepped": stepped}, where)
            self.assertLessEqual({"w", "w2"}, halves.keys())

    def test_every_text_computes_what_torch_does(self):
        for pattern in self.found["patterns"]:
            with self.subTest(pattern["where"]["module_path"]):
                call = self.folder / "gates" / "calls" / f"{pattern['id']}.json"
                self.check(call, pattern, weights=str(self.folder / "gates.pt2"))


if __name__ == "__main__":
    unittest.main()
