"""The stages as commands, and whole runs: what is done again and what is not."""

import json
import signal
import subprocess
import time
import unittest

import torch
from built import needs_ops
from command_line import PROGRAM, TWO_LINEARS, CommandLine, model
from packages import seal


class Stages(CommandLine):
    def test_version(self):
        version = self.fact("version")
        self.assertEqual(version.returncode, 0, version.stderr)
        self.assertRegex(version.stdout, r"^fact \d+\.\d+\.\d+\ncompiler: .+\ngpu: .+\n$")
        self.assertEqual(self.fact("--version").stdout, version.stdout)

    def test_trace_graph_discover(self):
        self.write("two.py", model(TWO_LINEARS))
        traced = self.fact("trace", "two.py", "-o", "model.pt2", "--dtype", "bf16")
        self.assertEqual(traced.returncode, 0, traced.stderr)
        self.assertEqual(self.files(), ["model.pt2", "two.py"])
        graph = self.fact("graph", "model.pt2", "--json")
        self.assertEqual(graph.returncode, 0, graph.stderr)
        self.assertIn("aten.linear.default", graph.stdout)
        json.loads(graph.stdout)
        found = self.fact("discover", "model.pt2", "--json")
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(len(json.loads(found.stdout)["patterns"]), 2)
        table = self.fact("discover", "model.pt2")
        self.assertIn("two.py:", table.stdout)

    def test_nothing_to_fuse(self):
        self.write("plain.py", model("def forward(self, x):\n    return torch.sin(x)"))
        result = self.fact("optimize", "plain.py", "-o", "package")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nothing to fuse", result.stdout)
        self.assertNotIn("package", self.files())
        self.assertNotIn("earlier run", result.stdout)
        # One that is there from another time is not taken for this run's.
        (self.folder / "package").mkdir()
        self.write("package/graph.json", "{}")
        seal(self.folder / "package", calls=[])
        result = self.fact("optimize", "plain.py", "-o", "package")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("package is from an earlier run and was not changed", result.stdout)
        self.assertEqual((self.folder / "package" / "graph.json").read_text(), "{}")

    def test_a_product_no_kernel_can_address(self):
        body = "def forward(self, x):\n    return x[:, ::2] @ x[:, ::2].t()"
        self.write("odd.py", model(body))
        result = self.fact("optimize", "odd.py", "--dtype", "bf16")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nothing to fuse", result.stdout)
        self.assertIn("odd.py:6", result.stdout)

    def test_a_product_of_odd_rows(self):
        body = "def forward(self, x):\n    return x[:, :33] @ x[:, :33].t()"
        self.write("odd.py", model(body).replace("randn(16, 64)", "randn(17, 33)"))
        result = self.fact("optimize", "odd.py", "--dtype", "bf16")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1 of 1 patterns fused", result.stderr)


class WholeRun(CommandLine):
    def interrupt_when(self, text, *arguments):
        """Runs fact, presses Ctrl-C when a line with `text` appears; the rest of its output."""
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        seen = ""
        for line in process.stderr:
            seen += line
            if text in line:
                process.send_signal(signal.SIGINT)
                break
        _, rest = process.communicate(timeout=60)
        return process.returncode, seen + rest

    def test_ctrl_c_then_the_same_command_continues(self):
        self.write("two.py", model(TWO_LINEARS))
        command = ["optimize", "two.py", "--dtype", "bf16", "-o", "package", "--no-bench"]
        # One family is finished, the other one is not.
        code, text = self.interrupt_when("realize 1/2", *command)
        self.assertEqual(code, 130, text)
        self.assertIn("interrupted; run the same command again to continue", text)
        self.assertEqual(self.files(), [".fact", "two.py"])
        leftovers = [p for p in (self.folder / ".fact").rglob("*") if ".tmp" in p.name]
        self.assertEqual(leftovers, [])
        started = time.monotonic()
        result = self.fact(*command)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("trace: unchanged", result.stderr)
        self.assertIn("earlier run", result.stderr)
        self.assertIn("manifest.json", [p.name for p in (self.folder / "package").iterdir()])
        first = time.monotonic() - started
        # A third run has nothing left to do.
        started = time.monotonic()
        again = self.fact(*command)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertLess(time.monotonic() - started, max(first, 2))
        self.assertEqual(again.stderr.count("earlier run"), 2)
        self.assertIn("compiled 0, from the cache 0", again.stdout)

    def test_an_edit_while_tracing_is_traced_next_time(self):
        # Tracing reads the file, and then it is edited, once.
        read = "self.scale = float(open('scale').read())"
        edit = "os.path.exists('edit') and (open('scale', 'w').write('3'), os.remove('edit'))"
        body = f"""
            def __init__(self):
                super().__init__()
                {read}
                {edit}

            def forward(self, x):
                return torch.sort(x * self.scale)[0]
        """
        self.write("scaled.py", "import os\n" + model(body))
        self.write("scale", "2")
        self.write("edit", "")
        for traced in ("exported", "exported", "unchanged"):
            result = self.fact("optimize", "scaled.py")
            self.assertIn(f"trace: {traced}", result.stderr)
        self.assertEqual(self.files(), [".fact", "scale", "scaled.py"])

    def test_a_file_that_appears_is_traced(self):
        body = """
            def __init__(self):
                super().__init__()
                self.scale = 3.0 if os.path.exists('scale') else len(glob.glob('parts/*'))

            def forward(self, x):
                return torch.sort(x * self.scale)[0]
        """
        self.write("scaled.py", "import glob\nimport os\n" + model(body))
        (self.folder / "parts").mkdir()
        for name, traced in (("", "exported"), ("", "unchanged"), ("parts/1", "exported"),
                             ("", "unchanged"), ("scale", "exported"), ("", "unchanged")):
            if name:
                self.write(name, "")
            result = self.fact("optimize", "scaled.py")
            self.assertIn(f"trace: {traced}", result.stderr)

    @needs_ops
    def test_a_changed_checkpoint_gives_a_new_package(self):
        from fact import load

        weights = {}
        for name, rows, columns in (("up", 128, 64), ("down", 64, 128)):
            weights[f"{name}.weight"] = torch.randn(rows, columns) / 8
            weights[f"{name}.bias"] = torch.randn(rows)
        read = "self.load_state_dict(torch.load('weights.pt'))\n\n    def forward(self, x, scale=2.0):"
        self.write("two.py", model(TWO_LINEARS.replace("def forward(self, x):", "    " + read)))
        command = ["optimize", "two.py", "--dtype", "bf16", "-o", "package", "--no-bench"]
        for traced in ("exported", "unchanged", "exported"):
            if traced == "exported":
                weights = {name: tensor + 1 for name, tensor in weights.items()}
                torch.save(weights, self.folder / "weights.pt")
            result = self.fact(*command)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"trace: {traced}", result.stderr)
            packaged = load(self.folder / "package")
            self.assertEqual(list(packaged.state_dict()), list(weights))
            for name, tensor in packaged.state_dict().items():
                torch.testing.assert_close(tensor, weights[name].to(torch.bfloat16))
        x = torch.randn(16, 64, dtype=torch.bfloat16)
        self.assertTrue(torch.equal(packaged(x), packaged(scale=2.0, x=x)))
        with self.assertRaisesRegex(ValueError, "'scale' was 2.0 .* got 3.0"):
            packaged(x, 3.0)


if __name__ == "__main__":
    unittest.main()
