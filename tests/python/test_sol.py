"""`fact sol` and `fact calibrate` from outside: tables, JSON, messages, exit codes."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from command_line import PROGRAM, ROOT

BLOCK = str(ROOT / "tests" / "match" / "data" / "block.pt2")

MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(4096, 4096)

    def forward(self, x):
        return torch.relu(self.up(x))

def get_inputs():
    return [torch.randn(8192, 4096)]

def get_init_inputs():
    return []
"""

CALIBRATION = {
    "format": "fact-calibration-1",
    "gpu": "h200",
    "device": "NVIDIA H200",
    "date": "2026-03-01T12:00:00Z",
    "driver": "13.0",
    "toolchain": "nvcc 13.0.88, CUTLASS 4.2.0",
    "quick": False,
    "ceilings": [
        {
            "name": name,
            "unit": "",
            "value": value,
            "low": value,
            "high": value,
            "runs": 51,
            "sustained": 0,
            "sustained_runs": 0,
            "how": "made up",
        }
        for name, value in {
            "launch": 2,
            "memory_read": 4.4,
            "memory_write": 4.1,
            "memory_copy": 4.2,
            "l2_read": 7,
            "bf16": 500,
            "f16": 500,
            "tf32": 300,
            "f32_split": 100,
            "fp32": 60,
        }.items()
    ],
}


@unittest.skipUnless(os.path.exists(PROGRAM), "fact is not built")
class SpeedOfLight(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fact-sol-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.cache = self.folder / "cache"
        self.environment = {**os.environ, "FACT_CACHE_DIR": str(self.cache)}

    def fact(self, *arguments, **environment):
        return subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )

    def counted(self, *arguments, **environment):
        result = self.fact("sol", *arguments, "--json", **environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def refused(self, result, code, *words):
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def calibrate(self, text):
        file = self.cache / "calibration" / "h200.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def test_an_archive_needs_no_python(self):
        light = self.counted(BLOCK, FACT_PYTHON="/nonexistent/python")
        self.assertEqual(light["dtype"], "bf16")
        self.assertGreater(len(light["patterns"]), 4)
        self.assertNotIn("nodes", light)
        self.assertEqual(list(self.folder.iterdir()), [])
        table = self.fact("sol", BLOCK, "--nodes")
        self.assertIn("one ideal program", table.stdout)
        self.assertIn("layer_norm", table.stdout)

    def test_a_module_is_traced_and_nothing_is_left(self):
        (self.folder / "model.py").write_text(MODEL)
        light = self.counted("model.py", "--dtype", "bf16", "--gpu", "h200", "--nodes")
        flops = 2 * 8192 * 4096 * 4096
        pattern = light["patterns"][0]
        self.assertEqual(pattern["flops"], flops)
        self.assertEqual(pattern["bytes"], 2 * (2 * 8192 * 4096 + 4096 * 4096 + 4096))
        self.assertAlmostEqual(pattern["calibrated_us"], flops / 790e6, 3)
        self.assertEqual([node["operator"] for node in light["nodes"]], ["linear", "relu"])
        whole = light["whole"]
        self.assertAlmostEqual(whole["unfused_us"], flops / 790e6 + 4 * 8192 * 4096 / 4.3e6, 2)
        self.assertAlmostEqual(whole["ideal_us"], flops / 790e6, 3)
        self.assertGreater(whole["best_speedup"], 1)
        left = {path.name for path in self.folder.iterdir()} - {"__pycache__"}
        self.assertEqual(left, {"model.py"})
        # In fp32 torch multiplies outside the tensor cores, and our kernels three times inside.
        exact = self.counted("model.py", "--gpu", "h200")["patterns"][0]
        self.assertAlmostEqual(exact["calibrated_us"], flops / 185e6, 2)
        self.assertGreater(exact["headroom"], 2)

    def test_run_folders(self):
        run = self.folder / "run"
        self.assertEqual(self.fact("discover", BLOCK, "-o", str(run)).returncode, 0)
        self.assertEqual(self.counted("run")["whole"], self.counted(BLOCK)["whole"])
        self.refused(self.fact("sol", "."), 2, "model.pt2", "fact optimize")

    def test_gpus(self):
        for arguments in (["--gpus"], ["--gpu", "list"]):
            table = self.fact("sol", *arguments)
            self.assertEqual(table.returncode, 0, table.stderr)
            for name in ("a100-40gb", "a100-80gb", "h100-sxm", "h100-pcie", "h200", "b200"):
                self.assertIn(name, table.stdout)
        slow = self.counted(BLOCK, "--gpu", "a100-40gb")["whole"]["ideal_hard_us"]
        self.assertGreater(slow, self.counted(BLOCK, "--gpu", "b200")["whole"]["ideal_hard_us"])

    def test_mistakes(self):
        self.refused(self.fact("sol", BLOCK, "--gpu", "h20"), 2, "'h20'", "h200", "rtx-4090")
        self.refused(self.fact("sol"), 2, "no module was given")
        self.refused(self.fact("sol", "missing.pt2"), 2, "missing.pt2")
        self.refused(self.fact("sol", "missing.py"), 2, "missing.py")
        self.refused(self.fact("sol", BLOCK, "--dtype", "bf16"), 2, "--dtype comes too late")
        (self.folder / "broken.pt2").write_text("no archive")
        self.refused(self.fact("sol", "broken.pt2"), 2, "broken.pt2")

    def test_a_calibration_comes_before_the_table(self):
        (self.folder / "model.py").write_text(MODEL)
        traced = self.fact("trace", "model.py", "--dtype", "bf16", "-o", "model.pt2")
        self.assertEqual(traced.returncode, 0, traced.stderr)
        self.calibrate(json.dumps(CALIBRATION))
        light = self.counted("model.pt2", "--gpu", "h200")
        self.assertEqual(light["ceilings"], "calibrated 2026-03-01 on NVIDIA H200")
        flops = 2 * 8192 * 4096 * 4096
        self.assertAlmostEqual(light["patterns"][0]["calibrated_us"], flops / 500e6, 3)
        self.assertIn("calibrated 2026-03-01", self.fact("discover", "model.pt2").stdout)
        other = self.counted("model.pt2", "--gpu", "h100-sxm")
        self.assertIn("scaled", other["ceilings"])
        shown = self.fact("calibrate", "--show")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("memory_copy", shown.stdout)

    def test_a_broken_calibration_is_passed_over_and_said_to_be(self):
        wrong = json.loads(json.dumps(CALIBRATION))
        wrong["ceilings"][1]["value"] = 9.9
        for text, reason in (("{", "not a calibration"), (json.dumps(wrong), "data sheet's peak")):
            self.calibrate(text)
            light = self.counted(BLOCK, "--gpu", "h200")
            self.assertIn("from the table", light["ceilings"])
            self.assertIn(reason, light["ceilings"])
        self.refused(self.fact("calibrate", "--show", "-o", "none.json"), 2, "none.json")

    def test_calibrating_without_a_gpu_writes_nothing(self):
        result = self.fact("calibrate", "-o", "here/calibration.json", CUDA_VISIBLE_DEVICES="")
        self.refused(result, 1, "nothing to calibrate")
        self.assertEqual(list(self.folder.iterdir()), [])
        self.refused(self.fact("calibrate", "--show"), 2, "fact calibrate")


if __name__ == "__main__":
    unittest.main()
