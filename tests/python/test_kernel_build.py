"""`fact kernel emit`, `explain` and `build` from outside."""

import json
import os
import unittest

from kernel_commands import ATTENTION, MLP, SCHEDULE, KernelCommands, has_compiler


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
        self.assertIn("x has 4294967296 elements along N, more than kernels count to", result.stderr)

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
        self.assertRegex(text, r"registers: \d+ per thread, \d+ bytes spilled\n")
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
