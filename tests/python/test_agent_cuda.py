"""Kernels that a model writes in CUDA."""

import json
import subprocess
import unittest

from agents import TEXT, Agents, fenced

# TEXT in CUDA: a block a row.
CUDA = """// fact-per-block: 128
#include "common/plain.cuh"

using namespace fact;

extern "C" __global__ void __launch_bounds__(256)
FACT_ENTRY(__grid_constant__ PlainArguments<FACT_TENSORS> const arguments) {
    PlainTensor const &y = arguments.tensors[0], &scale = arguments.tensors[1], &out = arguments.tensors[2];
    int const rows = out.sizes[0] * out.sizes[1], columns = out.sizes[2];
    for (int row = blockIdx.x; row < rows; row += gridDim.x)
        for (int i = threadIdx.x; i < columns; i += 256) {
            float const x = static_cast<float const*>(y.data)[row / y.sizes[1] * y.strides[0] + row % y.sizes[1] *
                                                              y.strides[1] + i * y.strides[2]];
            float const t = hypotf(tanhf(x), static_cast<float const*>(scale.data)[i * scale.strides[0]]);
            static_cast<float*>(out.data)[row / out.sizes[1] * out.strides[0] + row % out.sizes[1] * out.strides[1] +
                                          i * out.strides[2]] = fmaxf(t, x) + log1pf(expf(-fabsf(t - x)));
        }
}
"""


class Cuda(Agents):
    """Kernels that are not written in the kernel language: asked for only, and never taken unproved."""

    def prompts(self):
        lines = (self.folder / "run" / "agent" / "transcript.jsonl").read_text().splitlines()
        return [json.loads(line)["prompt"] for line in lines]

    def test_what_does_not_compile_is_revised(self):
        broken = CUDA.replace("float const t =", "flaot const t =")
        agent = self.answers(f"```cuda\n{broken}```", f"```cuda\n{CUDA}```")
        done = self.fact("optimize", self.source, "--run-dir", "run", "--json", "--agent", agent,
                         "--agent-writes", "cuda", "--agent-bounds", "off")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("agent: unsafe: the model writes CUDA", done.stderr)
        report = json.loads(done.stdout)
        row = report["agent"]["proposals"][0]
        self.assertEqual((len(row["texts"]), row["first_compiled"]), (2, False))
        find, first, revise = self.prompts()
        self.assertIn("tensors[1]: scale, FACT_TYPE_1 is float (f32), sizes [128], strides [1], read", first)
        self.assertIn('identifier "flaot" is undefined', revise)
        for prompt in (find, first, revise):
            self.assertNotRegex(prompt, r"at best it takes|\(bound|the bound is|[0-9]%")
        self.assertTrue(report["agrees"])
        fused = {one["id"] for one in report["patterns"] if one["fused"]}
        if report["device"]:
            self.assertTrue(row["verified"])
            return
        self.assertIn("it compiles, and is not verified: there is no GPU", row["outcome"])
        self.assertFalse(row["accepted"] or row["verified"] or row["composed"])
        self.assertNotIn(row["id"], fused)
        self.assertEqual(list((self.folder / "run" / "package").glob(f"**/{row['id']}*")), [])

    def test_what_is_no_kernel_is_told(self):
        for answer, said in (
            ("It depends.", "no code block"),
            ("```\n__global__ void f() {}\n```", "no entry point"),
            ("```\nextern \"C\" __global__ void f() {} // FACT_ENTRY\n```", "no entry point"),
            ("```\n#include \"/etc/hostname\"\nvoid FACT_ENTRY();\n```", "the source must not contain #include"),
            ("```\n#include <../../etc/hostname>\nvoid FACT_ENTRY();\n```", "the source must not contain #include"),
            ("```\n// fact-fault: none\nvoid FACT_ENTRY();\n```", "no entry point"),
        ):
            subprocess.run(["rm", "-rf", self.folder / "run"], check=True)
            report = self.optimize(self.answers(answer, answer), "--agent-writes", "cuda", "--no-bench",
                                   "--agent-calls", "3")  # fmt: skip
            row = report["agent"]["proposals"][0]
            self.assertEqual((report["agent"]["accepted"], row["first_compiled"]), (0, False))
            self.assertIn(said, row["outcome"])
            self.assertIn(said, self.prompts()[2])

    def test_nobody_is_given_cuda_who_did_not_ask_for_it(self):
        text = "# written in CUDA; what the kernel below computes is void\n#|" + CUDA.replace("\n", "\n#|")
        text += "\n" + TEXT
        report = self.optimize(self.answers(fenced(text), fenced(text)), "--no-bench")
        self.assertEqual(report["agent"]["accepted"], 0)
        self.assertIn("the text has to be in the kernel language", report["agent"]["proposals"][0]["outcome"])
        done = self.fact("optimize", self.source, "--agent-writes", "python")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
