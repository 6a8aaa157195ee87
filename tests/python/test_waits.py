"""Kernels that start before the one before them ends: what they read of memory comes after the wait.

The machine code is looked at, not the source: nvcc and ptxas both move loads, and those of memory that
is said to be read-only (ld.global.nc) above the wait as well.
"""

import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

from command_line import PROGRAM
from kernel_commands import has_compiler

ROOT = pathlib.Path(__file__).resolve().parents[2]

# By the low 12 bits of an instruction of sm90.
WAIT = 0x82E  # griddepcontrol.wait
LOADS = {0x980: "LD", 0x981: "LDG", 0xFAE: "LDGSTS", 0x5B4: "UTMALDG"}
WRITES = {0x985: "ST", 0x986: "STG", 0x98E: "RED", 0x9A8: "ATOMG", 0x3B5: "UTMASTG"}

NORM = """\
kernel norm(x: bf16[M, N], r: bf16[M, N], w: f32[N]) -> (y: bf16[M, N]) {
  s = bf16(x + r)
  y = layer_norm(s, over: N) * w
}
"""
MASKED = """\
kernel masked(x: f16[M, N], seen: bool[N]) -> (y: f16[M, N]) {
  y = softmax(where(seen, x, -inf), over: N)
}
"""
MEAN = """\
kernel column_mean(x: bf16[M, N]) -> (y: f32[N]) {
  y = mean(x, over: M)
}
"""
LINEAR = """\
kernel linear(x: bf16[M, K], w: bf16[N, K], b: bf16[N]) -> (y: bf16[M, N]) {
  acc = x @ w.T
  y   = relu(acc + b)
}
schedule linear.acc on sm90a {
  tile 128x128x64  cluster 2x1  mainloop cooperative  scheduler SCHEDULER(raster: m, swizzle: 8)
}
"""
ATTENTION = """\
kernel attend(q: DTYPE[B, M, 64], k: DTYPE[B, N, 64], v: DTYPE[B, N, 64]) -> (y: DTYPE[B, M, 64]) {
  y = attention(q, k, v, mask: causalPRECISION)
}
"""


def is_read_only(upper):
    """Of the upper half of an LDG, whose bits 13 to 15 say how it is ordered."""
    return upper >> 13 & 7 == 4


def kernels_in(cubin):
    """Name and instructions, two words each, of every kernel of an ELF file."""
    data = cubin.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    sections = [struct.unpack_from("<IIQQQQ", data, table + 64 * i) for i in range(count)]
    for name, _, _, _, offset, size in sections:
        start = sections[names][4] + name
        name = data[start : data.index(b"\0", start)].decode()
        if name.startswith(".text."):
            yield name[6:], list(struct.iter_unpack("<QQ", data[offset : offset + size]))


@unittest.skipUnless(os.path.exists(PROGRAM) and has_compiler(), "no nvcc")
class Waits(unittest.TestCase):
    def looked_at(self, text, extents):
        """The kernels' number of loads; each waits before the first of them, and before it writes."""
        with tempfile.TemporaryDirectory() as folder:
            command = [PROGRAM, "kernel", "build", "-", "--set", extents, "-o", "out"]
            done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = list(kernels_in(pathlib.Path(folder) / "out" / "kernel.cubin"))
        loads = 0
        for name, instructions in found:
            at = {}
            for i, (low, high) in enumerate(instructions):
                at.setdefault(low & 0xFFF, []).append(i)
                if low & 0xFFF == 0x981:
                    self.assertFalse(is_read_only(high), f"{name}: instruction {i} is LDG.CONSTANT")
            self.assertEqual(len(at.get(WAIT, [])), 1, name)
            for number, word in (LOADS | WRITES).items():
                for i in at.get(number, []):
                    self.assertGreater(i, at[WAIT][0], f"{name}: {word} before the wait")
            loads += sum(len(at.get(number, [])) for number in LOADS)
        return loads

    def test_rows(self):
        self.assertGreater(self.looked_at(NORM, "M=1024,N=4096"), 0)
        self.assertGreater(self.looked_at(MASKED, "M=1024,N=1001"), 0)  # pieces shorter than a word
        self.assertGreater(self.looked_at(MEAN, "M=1024,N=4096"), 0)

    def test_products(self):
        for scheduler in ("persistent", "streamk"):
            text = LINEAR.replace("SCHEDULER", scheduler)
            self.assertGreater(self.looked_at(text, "M=4096,N=4096,K=1024"), 0)

    def test_attention(self):
        # In f32 its operands are written by kernels that wait, too.
        for dtype, precision in (("bf16", ""), ("f32", ", precision: tf32")):
            text = ATTENTION.replace("DTYPE", dtype).replace("PRECISION", precision)
            self.assertGreater(self.looked_at(text, "B=8,M=1024,N=1024"), 0)

    def test_no_source_asks_for_read_only_memory(self):
        for file in ROOT.glob("kernels/*/*.cuh"):
            for words in (".nc.", "__ldg(", "__restrict__"):
                lines = [line for line in file.read_text().splitlines() if not line.startswith("//")]
                self.assertNotIn(words, "\n".join(lines), file.name)


if __name__ == "__main__":
    unittest.main()
