"""Kernel texts, and `fact kernel` as a program."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from command_line import PROGRAM

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
