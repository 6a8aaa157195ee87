"""The command line from outside: messages, exit codes, and what is left on the disk."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import textwrap
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("FACT_PROGRAM", str(ROOT / "build" / "release" / "fact"))

MODEL = """
    import torch

    class Model(torch.nn.Module):
        {body}

    def get_inputs():
        return [torch.randn(16, 64)]

    def get_init_inputs():
        return []
"""

TWO_LINEARS = """
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 128)
        self.down = torch.nn.Linear(128, 64)

    def forward(self, x):
        return torch.tanh(self.down(torch.relu(self.up(x)))) + x
"""


def model(body):
    indented = textwrap.indent(textwrap.dedent(body).strip(), " " * 4)
    return textwrap.dedent(MODEL).replace("{body}", indented.strip())


@unittest.skipUnless(os.path.exists(PROGRAM), "fact is not built")
class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fact-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**os.environ, "FACT_CACHE_DIR": str(self.folder / "cache")}

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def fact(self, *arguments, **more):
        return subprocess.run(
            [PROGRAM, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
            **more,
        )

    def files(self):
        return sorted(p.name for p in self.folder.iterdir() if p.name not in ("cache", "__pycache__"))

    def refused(self, result, *parts, code=2):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.count("error: "), 1, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)


class BadInput(CommandLine):
    def test_no_arguments(self):
        self.refused(self.fact(), "subcommand")

    def test_unknown_option(self):
        self.refused(self.fact("optimize", "x.py", "--fast"), "--fast")

    def test_unknown_dtype(self):
        self.refused(self.fact("optimize", "x.py", "--dtype", "int8"), "--dtype", "bf16")

    def test_missing_file(self):
        self.refused(self.fact("optimize", "missing.py"), "missing.py: no such file")
        self.assertEqual(self.files(), [])

    def test_file_without_model(self):
        self.write("empty.py", "x = 1\n")
        self.refused(self.fact("optimize", "empty.py"), "empty.py: has no `Model`")
        self.assertEqual(self.files(), ["empty.py"])

    def test_module_torch_cannot_export(self):
        body = "def forward(self, x):\n    if x.sum() > 0:\n        return x\n    return -x"
        self.write("branch.py", model(body))
        result = self.fact("optimize", "branch.py")
        self.refused(result, "branch.py:6: torch cannot export this", "data-dependent")
        self.assertIn("if x.sum() > 0:", result.stderr)
        self.assertLess(len(result.stderr.splitlines()), 5)
        self.assertEqual(self.files(), ["branch.py"])

    def test_error_in_the_users_code(self):
        self.write("broken.py", "import torch\n\nraise ValueError('boom')\n")
        self.refused(self.fact("trace", "broken.py"), "broken.py:3", "ValueError: boom")

    def test_missing_factory(self):
        self.refused(self.fact("trace", "no.such:factory"), "no module named no")

    def test_damaged_archives(self):
        self.write("text.pt2", "not a zip")
        for command in ("graph", "discover"):
            self.refused(self.fact(command, "text.pt2"), "text.pt2")
            self.refused(self.fact(command, "missing.pt2"), "missing.pt2")

    def test_folders_that_are_no_run(self):
        self.refused(self.fact("realize", "."), "not a run folder")
        self.refused(self.fact("compose", "."), "not a run folder")
        self.refused(self.fact("bench", "."), "not a package")

    def test_output_that_cannot_be_written(self):
        self.write("two.py", model(TWO_LINEARS))
        self.write("file", "in the way")
        # Root may write anywhere but here.
        self.refused(self.fact("optimize", "two.py", "-o", "/proc/fact/package"), "/proc/fact")
        self.refused(self.fact("optimize", "two.py", "-o", "file"), "is a file")
        self.refused(self.fact("optimize", "two.py", "--run-dir", "file/run"), "file/run")
        self.assertEqual(self.files(), ["file", "two.py"])

    def test_output_that_is_something_else(self):
        self.write("two.py", model(TWO_LINEARS))
        (self.folder / "thesis").mkdir()
        self.write("thesis/text", "years of work")
        self.refused(self.fact("optimize", "two.py", "-o", "thesis"), "is not a package")
        self.assertEqual(self.files(), ["thesis", "two.py"])


class Stages(CommandLine):
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
        self.write("plain.py", model("def forward(self, x):\n    return torch.sin(x) + 1"))
        result = self.fact("optimize", "plain.py", "-o", "package")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nothing to fuse", result.stdout)
        self.assertNotIn("package", self.files())

    def test_a_product_no_kernel_can_address(self):
        body = "def forward(self, x):\n    return x[:, :33] @ x[:, :33].t()"
        self.write("odd.py", model(body).replace("randn(16, 64)", "randn(17, 33)"))
        result = self.fact("optimize", "odd.py", "--dtype", "bf16")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nothing to fuse", result.stdout)
        self.assertIn("odd.py:6", result.stdout)


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


if __name__ == "__main__":
    unittest.main()
