"""`fact kernel` from outside: each tool, standard input, messages and exit codes."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

try:
    import numpy
except ImportError:
    numpy = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("FACT_PROGRAM", str(ROOT / "build" / "release" / "fact"))

MLP = """\
kernel mlp_up(x: bf16[M, K], w: bf16[N, K], b: bf16[N]) -> (y: bf16[M, N]) {
  acc = x @ w.T
  y   = gelu_tanh(acc + b)
}
"""
ATTENTION = """\
kernel attend(q: bf16[B, M, {d}], k: bf16[B, N, {d}], v: bf16[B, N, {d}], b: bf16[M, N])
    -> (y: bf16[B, M, {d}]) {{
  y = attention(q, k, v, {how})
}}
"""
SCHEDULE = """\
schedule mlp_up on sm90a {
  tile 128x128x64  cluster 2x1  mainloop pingpong
}
"""
TWO_ERRORS = """\
kernel f(x: bf61[M]) -> (y: f32[M]) {
  y = gelo(x)
}
"""
TWO_KERNELS = """\
kernel one(x: f32[M]) -> (y: f32[M]) {
  y = x + 1
}
kernel two(x: f32[M]) -> (y: f32[M]) {
  y = x * 2
}
"""
PIPELINE = """\
kernel up(x: bf16[M, K], w: bf16[N, K]) -> (h: bf16[M, N]) {
  h = gelu(x @ w.T)
}
pipeline mlp(x: bf16[M, K], w1: bf16[N, K], w2: bf16[K, N]) -> (y: bf16[M, K]) {
  h = up(x, w1)
  y = softmax(h @ w2.T, over: K)
}
"""
SUBCOMMANDS = ("check", "fmt", "run", "emit", "build", "explain")


def has_compiler():
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([PROGRAM, "version"], cwd=folder, capture_output=True, text=True)
    return re.search(r"compiler: nvcc \d", result.stdout) is not None


@unittest.skipUnless(os.path.exists(PROGRAM), "fact is not built")
class KernelCommands(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fact-kernel-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**os.environ, "FACT_CACHE_DIR": str(self.folder / "cache")}

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return name

    def kernel(self, *arguments, **more):
        return subprocess.run(
            [PROGRAM, "kernel", *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
            errors="replace",
            **more,
        )

    def done(self, *arguments, **more):
        result = self.kernel(*arguments, **more)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return result.stdout

    def refused(self, result, *parts, code=2):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.count("error: "), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)


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
        self.refused(run("--in", "x=text.npy"), "text.npy is not a whole .npy file", "numpy.save")
        self.refused(run("--in", "x=missing.npy"), "missing.npy")
        self.refused(run("--in", "x"), "--in x=file.npy")
        self.refused(run("--in", "q=text.npy"), "no parameter 'q'", "x, w, b")
        self.refused(run("--out", "x=x.npy"), "no output 'x'")
        self.refused(run("--out", "y=/proc/fact/y.npy"), "/proc/fact")
        self.refused(run("--set", "M=10000000,N=10000000"), "choose smaller extents")
        self.assertEqual(os.listdir(self.folder), ["text.npy"])


class Emit(KernelCommands):
    def test_the_texts_schedule(self):
        self.write("mlp.fact", MLP + SCHEDULE)
        result = self.kernel("emit", "mlp.fact")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('extern "C" __global__', result.stdout)
        self.assertIn("kTileM = 128, kTileN = 128", result.stdout)
        self.assertIn("schedule of acc: tile 128x128x64  cluster 2x1", result.stderr)

    def test_the_kernel_after_a_pass(self):
        text = self.done("emit", "-", "--dump-after", "cut", input=MLP)
        self.assertTrue(text.startswith("kernel mlp_up\n"), text)
        self.assertIn("gelu_tanh", text)
        wrong = self.kernel("emit", "-", "--dump-after", "nothing", input=MLP)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("expanded", wrong.stderr)

    def test_a_schedule_beside_the_text(self):
        text = self.done("emit", "-", "--schedule", "tile 128x256x64 cluster 1x1", input=MLP)
        self.assertIn("kTileN = 256", text)
        wrong = self.kernel("emit", "-", "--schedule", "tile 128x256", input=MLP)
        self.refused(wrong, "--schedule:2:", "error[F0407]")
        illegal = self.kernel("emit", "-", "--schedule", "tile 96x256x64", input=MLP)
        self.refused(illegal, "96x256x64", "fact kernel explain")

    def test_sizes_beyond_what_kernels_count_to(self):
        text = "kernel doubled(x: bf16[N]) -> (y: bf16[N]) {\n  y = 2 * x\n}\n"
        self.done("emit", "-", "--set", "N=2147418112", input=text)
        result = self.kernel("emit", "-", "--set", "N=4294967296", input=text)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertIn("x has 4294967296 along N, more than kernels count to", result.stderr)

    def test_the_sizes_choose(self):
        small = self.done("emit", "-", "--set", "M=128,N=128,K=4096", input=MLP)
        large = self.done("emit", "-", "--set", "M=8192,N=8192,K=4096", input=MLP)
        self.assertNotEqual(small, large)

    def test_without_tensor_maps(self):
        self.assertIn("sm90/product.cuh", self.done("emit", "-", input=MLP))
        self.assertIn("sm80/product.cuh", self.done("emit", "-", "--no-tma", input=MLP))
        text = ATTENTION.format(d=64, how="bias: b")
        self.assertIn("sm90/attention.cuh", self.done("emit", "-", input=text))
        self.assertIn("sm80/attention.cuh", self.done("emit", "-", "--no-tma", input=text))

    def test_attention_has_no_schedules(self):
        text = ATTENTION.format(d=64, how="bias: b")
        self.assertIn("no schedules", self.done("schedules", "-", input=text))
        self.assertEqual(json.loads(self.done("schedules", "-", "--json", input=text)), [])

    def test_unknown_arch(self):
        self.refused(self.kernel("emit", "-", "--arch", "sm70", input=MLP), "sm70")
        self.refused(self.kernel("build", "-", "--arch", "sm70", input=MLP), "sm70")


class Explain(KernelCommands):
    def test_words_and_numbers(self):
        self.write("mlp.fact", MLP + SCHEDULE)
        text = self.done("explain", "mlp.fact", "--set", "M=8192,N=4096,K=1024")
        for part in ("m = M = 8192", "gelu_tanh", "b has one value", "68.72 GFLOP", "bounds on h200",
                     "legal", "stages", "shared memory", "accumulator", "waves"):  # fmt: skip
            self.assertIn(part, text)
        self.assertNotIn("assumed", text)
        illegal = MLP + SCHEDULE.replace("128x128x64", "128x128x32")
        self.assertIn("not legal: a k-tile is", self.done("explain", "-", input=illegal))

    def test_gpus(self):
        self.assertIn("bounds on h100-pcie", self.done("explain", "-", "--gpu", "h100-pcie", input=MLP))
        self.refused(self.kernel("explain", "-", "--gpu", "h300", input=MLP), "h300", "h200")


class Build(KernelCommands):
    def setUp(self):
        super().setUp()
        if not has_compiler():
            self.skipTest("no nvcc")

    def test_cubin_record_and_source(self):
        self.write("mlp.fact", MLP + SCHEDULE)
        text = self.done("build", "mlp.fact", "-o", "out")
        self.assertRegex(text, r"registers: \d+ a thread, \d+ bytes spilled\n")
        self.assertRegex(text, r"shared memory: \d{5,6} bytes\n")
        self.assertRegex(text, r"compiled in \d+\.\d s\n")
        out = self.folder / "out"
        files = ["kernel.cu", "kernel.cubin", "kernel.fact", "record.json"]
        self.assertEqual(sorted(os.listdir(out)), files)
        self.assertEqual(self.done("check", "out/kernel.fact").count("no errors"), 1)
        self.assertEqual((out / "kernel.cubin").read_bytes()[:4], b"\x7fELF")
        self.assertEqual(json.loads((out / "record.json").read_text())["kernel"], "mlp_up")
        self.assertEqual((out / "kernel.cu").read_text(), self.done("emit", "mlp.fact"))
        again = self.done("build", "-", input=MLP + SCHEDULE)
        self.assertIn("by an earlier run", again)
        self.assertTrue((self.folder / "mlp_up.sm90a" / "kernel.cubin").exists())

    def test_attention_for_sm80_spills_nothing(self):
        causal, added = "mask: causal", "bias: b"
        for features, how in ((64, causal), (80, added), (128, causal), (128, added)):
            text = ATTENTION.format(d=features, how=how)
            said = self.done("build", "-", "--arch", "sm80", "--set", "M=1000,N=1000", "-o", "out", input=text)
            self.assertIn(" 0 bytes spilled\n", said)
            source = (self.folder / "out" / "kernel.cu").read_text()
            self.assertIn('#include "sm80/attention.cuh"', source)
            self.assertEqual(json.loads((self.folder / "out" / "record.json").read_text())["arch"], "sm80")

    def test_a_folder_that_cannot_be(self):
        self.write("file", "in the way")
        self.refused(self.kernel("build", "-", "-o", "file", input=MLP), "file")

    def test_what_the_compiler_rejects(self):
        # A compiler that always objects to the second line of what it is given.
        fake = self.folder / "nvcc"
        fake.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && { echo "V13.0.88"; exit; }\n'
            "echo 'kernel.cu(2): error: this is not to my taste'\nexit 2\n"
        )
        fake.chmod(0o755)
        self.environment["FACT_NVCC"] = str(fake)
        result = self.kernel("build", "-", input=MLP)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("mlp_up does not compile:\nkernel.cu(2): error: ", result.stderr)
        self.assertIn("this is not to my taste", result.stderr)
        self.assertIn("  kernel.cu:2 | ", result.stderr)

    def test_it_is_reported_at_the_line_of_kernel_text(self):
        fake = self.folder / "nvcc"
        fake.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && { echo "V13.0.88"; exit; }\n'
            "line=$(grep -n F::gelu_tanh kernel.cu | cut -d: -f1)\n"
            'echo "kernel.cu($line): error: this is not to my taste"\nexit 2\n'
        )
        fake.chmod(0o755)
        self.environment["FACT_NVCC"] = str(fake)
        self.write("mlp.fact", MLP)
        result = self.kernel("build", "mlp.fact")
        self.assertIn("mlp.fact:3: error: this is not to my taste\n", result.stderr)
        self.assertIn("  3 | y   = gelu_tanh(acc + b)\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
