"""`fact kernel` from outside: each tool, standard input, messages and exit codes."""

import json
import os
import unittest

try:
    import numpy
except ImportError:
    numpy = None

from kernel_commands import MLP, PIPELINE, SCHEDULE, SUBCOMMANDS, TWO_ERRORS, TWO_KERNELS, KernelCommands


class Everywhere(KernelCommands):
    def test_help_has_an_example(self):
        self.assertIn("Example:", self.done("--help"))
        for command in SUBCOMMANDS:
            self.assertIn(f"fact kernel {command}", self.done(command, "--help"))

    def test_no_or_unknown_subcommand(self):
        self.refused(self.kernel())
        self.refused(self.kernel("chekc", "x"))

    def test_files_that_are_no_text(self):
        (self.folder / "junk").write_bytes(bytes(range(256)) * 64)
        (self.folder / "bytes").write_bytes(bytes(range(1, 256)) * 64)
        with open(self.folder / "huge", "wb") as file:
            file.truncate(1 << 40)
        for command in SUBCOMMANDS:
            self.refused(self.kernel(command), "FILE")
            self.refused(self.kernel(command, "missing.fact"), "missing.fact", "check the path")
            self.refused(self.kernel(command, "."), "directory")
            self.refused(self.kernel(command, "junk"), "byte 0 is zero")
            self.refused(self.kernel(command, "huge"), "larger than")
            self.refused(self.kernel(command, "/dev/zero"), "larger than")
            self.assertEqual(self.kernel(command, "bytes").returncode, 2)

    def test_mistakes_in_the_text(self):
        self.write("bad.fact", TWO_ERRORS)
        for command in ("run", "emit", "build", "explain"):
            result = self.kernel(command, "bad.fact")
            self.refused(result, "bad.fact has 2 errors", "bad.fact:1:13: error[F0203]", "^^^^")
            self.assertEqual(result.stdout, "")

    def test_standard_input(self):
        for command in ("check", "fmt", "run", "emit", "explain"):
            self.assertTrue(self.done(command, "-", input=MLP))
        self.refused(self.kernel("run", "-", input=TWO_ERRORS), "<stdin>:1:13")
        self.refused(self.kernel("run", "-", input=""), "no kernel")

    def test_several_kernels(self):
        self.write("two.fact", TWO_KERNELS)
        for command in ("run", "emit", "build", "explain"):
            self.refused(self.kernel(command, "two.fact"), "has 2 kernels", "one, two")
            self.refused(self.kernel(command, "two.fact", "--kernel", "twoo"), "did you mean 'two'")
        self.assertIn("kernel two", self.done("run", "two.fact", "--kernel", "two"))

    def test_a_pipeline_stands_for_its_text(self):
        self.assertIn("1 kernel, 1 pipeline", self.done("check", "-", input=PIPELINE))
        self.assertIn("kernel mlp: ", self.done("run", "-", input=PIPELINE))
        self.assertIn("kernel up: ", self.done("run", "-", "--kernel", "up", input=PIPELINE))
        explained = self.done("explain", "-", input=PIPELINE)
        self.assertRegex(explained, r"runs on sm90a as a pipeline of \d kernels\n  1\. h: bf16")
        self.assertRegex(explained, r"a call needs \S+ \wB of workspace: h \S+ \wB")
        self.assertIn("__global__", self.done("emit", "-", input=PIPELINE))

    def test_wrong_sizes(self):
        self.write("mlp.fact", MLP)
        for command in ("run", "emit", "build", "explain"):
            self.refused(self.kernel(command, "mlp.fact", "--set", "M"), "--set M=128")
            self.refused(self.kernel(command, "mlp.fact", "--set", "M=0"), "1 to 2^40")
            self.refused(self.kernel(command, "mlp.fact", "--set", "Q=4"), "no dimension 'Q'")
            self.refused(self.kernel(command, "mlp.fact", "--set", "M=4,M=5"), "M is 4")


class Check(KernelCommands):
    def test_clean(self):
        self.write("mlp.fact", MLP + SCHEDULE)
        self.assertEqual(self.done("check", "mlp.fact"), "mlp.fact: 1 kernel: no errors\n")
        self.assertEqual(json.loads(self.done("check", "mlp.fact", "--json")), [])

    def test_every_error_with_its_caret(self):
        self.write("bad.fact", TWO_ERRORS)
        result = self.kernel("check", "bad.fact")
        self.assertEqual(result.returncode, 2)
        self.assertIn("bad.fact:1:13: error[F0203]", result.stdout)
        self.assertIn("bad.fact:2:7: error[F0202]", result.stdout)
        self.assertIn("      ^^^^", result.stdout)
        self.assertIn("gelu", result.stdout)
        self.assertTrue(result.stdout.endswith("2 errors\n"))

    def test_errors_as_json(self):
        result = self.kernel("check", "--json", "-", input=TWO_ERRORS)
        self.assertEqual(result.returncode, 2)
        errors = json.loads(result.stdout)
        self.assertEqual([error["code"] for error in errors], ["F0203", "F0202"])
        for error in errors:
            self.assertEqual(error["severity"], "error")
            self.assertTrue(error["message"])
            self.assertTrue(error["fix"])
            lines = TWO_ERRORS.splitlines()
            self.assertEqual(
                lines[error["line"] - 1][error["column"] - 1 : error["end_column"] - 1],
                TWO_ERRORS[error["begin"] : error["end"]],
            )
        self.assertEqual(TWO_ERRORS[errors[1]["begin"] : errors[1]["end"]], "gelo")


class Fmt(KernelCommands):
    UGLY = MLP.replace("acc = x @ w.T", "acc=x@w.T # sums").replace("  y   =", "y=")

    def test_prints_checks_and_writes(self):
        self.write("mlp.fact", self.UGLY)
        text = self.done("fmt", "mlp.fact")
        self.assertIn("  acc = x @ w.T  # sums\n", text)
        self.assertEqual((self.folder / "mlp.fact").read_text(), self.UGLY)
        result = self.kernel("fmt", "--check", "mlp.fact")
        self.assertEqual(result.returncode, 1)
        self.assertIn("mlp.fact would be reformatted", result.stderr)
        self.assertEqual(result.stdout, "")
        os.chmod(self.folder / "mlp.fact", 0o640)
        os.symlink("mlp.fact", self.folder / "link.fact")
        self.done("fmt", "--write", "link.fact")
        self.assertEqual((self.folder / "mlp.fact").read_text(), text)
        self.assertEqual((self.folder / "mlp.fact").stat().st_mode & 0o777, 0o640)
        self.assertTrue((self.folder / "link.fact").is_symlink())
        self.assertEqual(self.done("fmt", "--check", "mlp.fact"), "")
        self.assertIn("unchanged", self.done("fmt", "--write", "mlp.fact"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["link.fact", "mlp.fact"])

    def test_mistakes(self):
        self.refused(self.kernel("fmt", "-", input="kernel f("), "<stdin>:1:")
        self.refused(self.kernel("fmt", "--write", "-", input=MLP), "cannot be rewritten")
        self.refused(self.kernel("fmt", "--write", "--check", "-", input=MLP), "--check")


class Run(KernelCommands):
    def test_random_tensors(self):
        first = self.done("run", "-", "--set", "M=4,K=8", "--set", "N=2", input=MLP)
        self.assertTrue(first.startswith("kernel mlp_up: M = 4, K = 8, N = 2\n"), first)
        self.assertRegex(
            first, r"out y +bf16\[4, 2\] +min \S+  max \S+  mean \S+  checksum [0-9a-f]{16}\n"
        )
        self.assertEqual(first, self.done("run", "-", "--set", "M=4,K=8,N=2", input=MLP))
        other = self.done("run", "-", "--set", "M=4,K=8,N=2", "--seed", "1", input=MLP)
        self.assertNotEqual(first, other)
        self.assertIn("N = 16 (assumed)", self.done("run", "-", "--set", "M=4,K=8", input=MLP))

    @unittest.skipUnless(numpy, "needs numpy")
    def test_given_tensors(self):
        random = numpy.random.default_rng(0)
        x = numpy.asfortranarray(random.standard_normal((5, 7)).astype("f4"))
        w = random.standard_normal((3, 7))
        numpy.save(self.folder / "x.npy", x)
        numpy.save(self.folder / "w.npy", w)
        text = "kernel f(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N], h: bf16[M, N]) {\n"
        text += "  y = x @ w.T\n  h = y\n}\n"
        out = self.done(
            *("run", "-", "--in", "x=x.npy", "--in", "w=w.npy"),
            *("--out", "y=y.npy", "--out", "h=deep/h.npy"),
            input=text,
        )
        self.assertIn("w.npy: its values were rounded to f32", out)
        self.assertIn("h.npy as float32: NumPy has no bf16", out)
        y, h = numpy.load(self.folder / "y.npy"), numpy.load(self.folder / "deep" / "h.npy")
        wanted = x.astype("f8") @ w.astype("f4").astype("f8").T
        self.assertEqual((y.dtype, h.dtype), ("float32", "float32"))
        numpy.testing.assert_allclose(y, wanted, rtol=1e-6)
        numpy.testing.assert_allclose(h, wanted, rtol=2**-8)
        self.assertTrue((h.view("u4") & 0xFFFF == 0).all())

    @unittest.skipUnless(numpy, "needs numpy")
    def test_heads_are_turned_as_numpy_turns_them(self):
        random = numpy.random.default_rng(0)
        x, angle = random.standard_normal((3, 5, 16)), random.standard_normal((3, 1, 8))
        wanted = {}
        first, second = x[..., :8], x[..., 8:]
        wanted["2, 8"] = numpy.concatenate(
            [
                first * numpy.cos(angle) - second * numpy.sin(angle),
                second * numpy.cos(angle) + first * numpy.sin(angle),
            ],
            -1,
        )
        turned = (x[..., ::2] + 1j * x[..., 1::2]) * numpy.exp(1j * angle)
        wanted["8, 2"] = numpy.stack([turned.real, turned.imag], -1).reshape(x.shape)
        for name, values in {"x": x, "c": numpy.cos(angle)[:, 0], "s": numpy.sin(angle)[:, 0]}.items():
            numpy.save(self.folder / f"{name}.npy", values.astype("f4"))
        for parts, result in wanted.items():
            whole = parts.replace(", ", "*")
            text = f"""kernel turn(x: f32[T, H, {whole}], c: f32[T, 8], s: f32[T, 8]) -> (y: f32[T, H, {whole}]) {{
  h = x.view(T, H, {parts})
  r = flip(h, over: 2) * where(index(2) == 0, -1.0, 1.0)
  y = (h * c + r * s).view(T, H, {whole})
}}
"""
            self.done("check", "-", input=text)
            files = [f"{name}={name}.npy" for name in ("x", "c", "s")]
            given = [word for file in files for word in ("--in", file)]
            self.done("run", "-", *given, "--out", "y=y.npy", input=text)
            y = numpy.load(self.folder / "y.npy")
            numpy.testing.assert_allclose(y, result, rtol=1e-5, atol=1e-6)

    @unittest.skipUnless(numpy, "needs numpy")
    def test_every_type_numpy_shares(self):
        for dtype, name in (("bool", "bool"), ("int8", "i8"), ("uint8", "u8"), ("int16", "i16"),
                            ("int32", "i32"), ("int64", "i64"), ("float16", "f16")):  # fmt: skip
            given = numpy.array([[0, 1, 1], [1, 0, 1]], dtype)
            numpy.save(self.folder / "x.npy", given)
            text = f"kernel f(x: {name}[M, N]) -> (y: {name}[M, N]) {{\n  y = x\n}}\n"
            self.done("run", "-", "--in", "x=x.npy", "--out", "y=y.npy", input=text)
            result = numpy.load(self.folder / "y.npy")
            self.assertEqual(result.dtype, given.dtype)
            numpy.testing.assert_array_equal(result, given)

    def test_bad_arrays(self):
        self.write("text.npy", "not an array")
        run = lambda *more: self.kernel("run", "-", *more, input=MLP)
        self.refused(run("--in", "x=text.npy"), "text.npy is not a complete .npy file", "numpy.save")
        self.refused(run("--in", "x=missing.npy"), "missing.npy")
        self.refused(run("--in", "x"), "--in x=file.npy")
        self.refused(run("--in", "q=text.npy"), "no parameter 'q'", "x, w, b")
        self.refused(run("--out", "x=x.npy"), "no output 'x'")
        self.refused(run("--out", "y=/proc/fact/y.npy"), "/proc/fact")
        self.refused(run("--set", "M=10000000,N=10000000"), "choose smaller extents")
        self.assertEqual(os.listdir(self.folder), ["text.npy"])


if __name__ == "__main__":
    unittest.main()
