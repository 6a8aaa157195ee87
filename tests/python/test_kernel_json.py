"""`fact kernel` for programs: answers as JSON, several files, outputs that are expected."""

import json
import unittest

try:
    import numpy
except ImportError:
    numpy = None

from kernel_commands import MLP, TWO_ERRORS, TWO_KERNELS, KernelCommands, has_compiler

GRAM = """\
kernel gram(x: f32[B, T, E]) -> (y: f32[B, T, N]) {
  y = softmax(x @ x.as(B, N, E).T, over: N)
}
"""


class Answers(KernelCommands):
    def answer(self, *arguments, code=0):
        result = self.kernel(*arguments, "--json")
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return json.loads(result.stdout)

    def test_check_takes_several_files(self):
        self.write("mlp.fact", MLP)
        self.write("bad.fact", TWO_ERRORS)
        self.write("two.fact", TWO_KERNELS)
        text = self.done("check", "mlp.fact", "two.fact")
        self.assertEqual(text, "mlp.fact: 1 kernel: no errors\ntwo.fact: 2 kernels: no errors\n")
        found = self.answer("check", "mlp.fact", "bad.fact", "two.fact", code=2)
        self.assertEqual([item["file"] for item in found], ["bad.fact"] * 2)

    def test_a_warning_is_no_error(self):
        self.write("idle.fact", "kernel f(x: f32[M], b: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n")
        (item,) = self.answer("check", "idle.fact")
        self.assertEqual((item["code"], item["severity"]), ("F0214", "warning"))
        self.assertTrue(self.done("check", "idle.fact").endswith("no errors\n"))

    def test_what_no_kernel_computes_is_refused(self):
        text = "kernel f(x: f32[8*M, 8], z: f32[8, M]) -> (y: f32[8*M, 8]) {\n  y = x + z.view(8*M)\n}\n"
        self.write("twice.fact", text)
        (item,) = self.answer("check", "twice.fact", code=2)
        self.assertEqual((item["code"], text[item["begin"] : item["end"]]), ("F0601", "f"))

    def test_emit(self):
        self.write("mlp.fact", MLP)
        found = self.answer("emit", "mlp.fact")
        self.assertEqual((found["kernel"], found["arch"]), ("mlp_up", "sm90a"))
        self.assertIn("mlp_up_kernel", found["source"])
        self.assertIn("tile ", found["schedule"])
        self.assertEqual(found["record"]["kernel"], "mlp_up")

    @unittest.skipUnless(has_compiler(), "there is no compiler")
    def test_build(self):
        self.write("two.fact", TWO_KERNELS)
        found = self.answer("build", "two.fact", "--kernel", "one", "-o", "one")
        self.assertEqual(found["folder"], "one")
        for name in found["files"]:
            self.assertTrue((self.folder / "one" / name).exists(), name)
        self.assertGreater(found["registers"], 0)

    def test_explain(self):
        self.write("mlp.fact", MLP)
        found = self.answer("explain", "mlp.fact", "--set", "M=128")
        self.assertEqual(found["extents"]["M"], 128)
        (stage,) = found["stages"]
        self.assertEqual((stage["kind"], stage["product"]), ("product", "acc"))
        self.assertIn("mlp_up", found["words"])

    def test_failures(self):
        self.write("bad.fact", TWO_ERRORS)
        for command in ("run", "emit", "build", "explain"):
            self.assertIn("error", self.answer(command, "bad.fact", code=2))


@unittest.skipUnless(numpy, "there is no NumPy")
class Expected(KernelCommands):
    def setUp(self):
        super().setUp()
        self.write("gram.fact", GRAM)
        x = numpy.random.default_rng(0).normal(size=(2, 5, 8)).astype(numpy.float32)
        scores = numpy.exp(x @ x.transpose(0, 2, 1))
        self.y = scores / scores.sum(-1, keepdims=True)
        numpy.save(self.folder / "x.npy", x)

    def run_kernel(self, expected, *more):
        numpy.save(self.folder / "y.npy", expected)
        return self.kernel("run", "gram.fact", "--in", "x=x.npy", "--expect", "y=y.npy", *more)

    def test_the_same(self):
        result = self.run_kernel(self.y)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertIn("y agrees with y.npy", result.stdout)

    def test_another(self):
        self.y[1, 2, 3] += 0.5
        result = self.run_kernel(self.y)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("y DIFFERS from y.npy: largest error 0.5 at [1, 2, 3]", result.stdout)
        found = json.loads(self.run_kernel(self.y, "--json").stdout)
        self.assertIs(found["agrees"], False)
        self.assertIs(found["expected"][0]["agrees"], False)
        self.assertEqual(found["extents"]["T"], 5)

    def test_not_a_number(self):
        self.y[0, 0, 0] = numpy.nan
        self.assertEqual(self.run_kernel(self.y).returncode, 1)

    def test_another_shape(self):
        result = self.run_kernel(self.y[:1])
        self.assertEqual(result.returncode, 1)
        self.assertIn("instead of [1, 5, 5]", result.stdout)

    def test_no_such_output(self):
        numpy.save(self.folder / "y.npy", self.y)
        self.refused(self.kernel("run", "gram.fact", "--expect", "z=y.npy"), "--expect z")


if __name__ == "__main__":
    unittest.main()
