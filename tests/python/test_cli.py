"""The command line from outside: messages, exit codes, and what is left on the disk."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import torch
from built import needs_ops
from packages import seal

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

# A Python whose benchmark notes what it is asked.
STAND_IN = """#!/bin/sh
echo "$*" >{folder}/words
while [ "$1" != --json ]; do shift; done
echo '{{"rows": [], "agrees": true, "note": ""}}' >"$2"
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

    def test_unknown_command(self):
        self.refused(self.fact("optimise", "x.py"), "no command 'optimise'", "`fact optimize`")
        self.refused(self.fact("tests"), "no command 'tests'", "`fact test`")
        self.refused(self.fact("foo"), "no command 'foo'", "see `fact --help`")

    def test_numbers_out_of_range(self):
        self.refused(self.fact("optimize", "x.py", "--budget=soon"), "--budget", "90s")
        for value in ("-1", "0", "abc", "1e9"):
            for option in ("--effort", "--jobs"):
                self.refused(self.fact("optimize", "x.py", f"{option}={value}"), option, "1 to 1000")

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
        # All that torch has to say, and where there is more.
        self.assertIn("draft_export()", result.stderr)
        self.assertIn("--verbose adds the traceback", result.stderr)
        self.assertEqual(self.files(), ["branch.py"])

    def test_module_that_does_not_run(self):
        # torch.export takes it; eager refuses operands of two types.
        body = """
        def __init__(self):
            super().__init__()
            self.up = torch.nn.Linear(64, 64)

        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                y = self.up(x)
            return torch.nn.functional.layer_norm(y.float(), (64,), self.up.bias)
        """
        self.write("mixed.py", model(body))
        result = self.fact("optimize", "mixed.py", "--dtype", "bf16")
        self.refused(result, "mixed.py:12: the module itself fails: RuntimeError")
        self.assertEqual(self.files(), ["mixed.py"])

    @unittest.skipIf(sys.version_info < (3, 11), "Python cannot put the working folder last")
    def test_a_file_called_as_a_module_of_python_or_of_fact(self):
        for name in ("fact.py", "torch.py", "types.py"):
            self.write(name, model(TWO_LINEARS))
        for name in ("fact.py", "torch.py", "types.py"):
            result = self.fact("trace", name)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_error_in_the_users_code(self):
        self.write("broken.py", "import torch\n\nraise ValueError('boom')\n")
        self.refused(self.fact("trace", "broken.py"), "broken.py:3", "ValueError: boom")

    def test_verbose_shows_the_traceback(self):
        self.write("broken.py", "def f():\n    raise ValueError('boom')\n\nf()\n")
        for command in ("trace", "optimize"):
            result = self.fact(command, "broken.py", "--verbose")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("error: broken.py:2: failed: ValueError: boom\n", result.stderr)
            self.assertIn("Traceback (most recent call last):", result.stderr)
            self.assertIn(", line 4, in <module>", result.stderr)

    def test_a_model_that_ends_the_interpreter(self):
        for code in (0, 3):
            self.write("ends.py", f"import os\nos._exit({code})\n")
            result = self.fact("optimize", "ends.py")
            self.refused(result, "the tracer ended without writing model.pt2")
            self.assertEqual(self.files(), ["ends.py"])

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

    def test_what_is_somebody_elses_stays(self):
        text = model(TWO_LINEARS)
        self.write("two.py", text)
        (self.folder / "work" / "calls").mkdir(parents=True)
        self.write("work/calls/mine.json", "{}")
        self.write("work/report.txt", "mine")
        self.refused(self.fact("optimize", "two.py", "--run-dir", "work"), "not a run folder")
        self.refused(self.fact("trace", "two.py", "-o", "two.py"), "two.py exists and is not an archive")
        self.refused(self.fact("registry", "export", "two.py"), "two.py exists and is not")
        self.write("one.fact", "kernel one(x: f32[M]) -> (y: f32[M]) {\n  y = x + 1.0\n}\n")
        self.write("work/kernel.cu", "mine")
        self.refused(self.fact("kernel", "build", "one.fact", "-o", "work"), "kernel.cu exists")
        self.assertEqual((self.folder / "two.py").read_text(), text)
        for name, content in (("calls/mine.json", "{}"), ("report.txt", "mine"), ("kernel.cu", "mine")):
            self.assertEqual((self.folder / "work" / name).read_text(), content)

    def test_standard_output_that_is_full(self):
        self.write("one.fact", "kernel one(x: f32[M]) -> (y: f32[M]) {\n  y = x + 1.0\n}\n")
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [PROGRAM, "kernel", "emit", "one.fact"],
                cwd=self.folder,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        self.refused(result, "cannot write to standard output: No space left", code=1)

    def test_a_package_is_compared_as_it_was_made(self):
        python = self.write("python", STAND_IN.format(folder=self.folder))
        os.chmod(python, 0o755)
        self.environment |= {"FACT_PYTHON": python, "CUDA_VISIBLE_DEVICES": ""}
        package = self.folder / "package"
        package.mkdir()

        def asked(**fields):
            (package / "manifest.json").unlink(missing_ok=True)
            seal(package, calls=[], source="one.py", dtype="bf16", **fields)
            result = self.fact("bench", "package")
            self.assertEqual(result.returncode, 0, result.stderr)
            # Nobody has a GPU here: torch is not to be compared with itself on one.
            self.assertIn("not timed: there is no usable GPU", result.stdout)
            words = (self.folder / "words").read_text().split()
            self.assertEqual(words[words.index("--device") + 1], "cpu")
            return words[words.index("--dtype") + 1] if "--dtype" in words else None

        # The first weight is bf16, others may be fp32: only what was asked for is a cast.
        self.assertIsNone(asked(asked_dtype=""))
        self.assertEqual(asked(asked_dtype="fp16"), "fp16")
        self.assertIsNone(asked(asked_dtype=5, training="yes", allow_tf32=1))
        self.assertNotIn("--training", (self.folder / "words").read_text())

    def test_output_that_cannot_be_written(self):
        self.write("two.py", model(TWO_LINEARS))
        self.write("file", "in the way")
        # Root may write anywhere but here.
        self.refused(self.fact("optimize", "two.py", "-o", "/proc/fact/package"), "/proc/fact")
        self.refused(self.fact("optimize", "two.py", "-o", "file"), "is a file")
        self.refused(self.fact("optimize", "two.py", "--run-dir", "file/run"), "file/run")
        self.assertEqual(self.files(), ["file", "two.py"])

    def test_every_stage_refuses_such_an_output_alike(self):
        self.write("two.py", model(TWO_LINEARS))
        self.refused(self.fact("trace", "two.py", "-o", "/proc/fact/m.pt2"), "/proc/fact")
        os.mkfifo(self.folder / "pipe")
        self.refused(self.fact("trace", "two.py", "-o", "pipe"), "pipe: it is", "regular file")
        self.refused(self.fact("bench", "package", "--json", "pipe"), "pipe: it is", "regular file")
        self.assertEqual(self.fact("trace", "two.py").returncode, 0)
        self.refused(self.fact("discover", "model.pt2", "-o", "/proc/fact"), "/proc/fact")
        self.refused(self.fact("compose", ".", "-o", "/proc/fact/package"), "/proc/fact")
        self.assertTrue((self.folder / "pipe").is_fifo())

    def test_output_that_is_something_else(self):
        self.write("two.py", model(TWO_LINEARS))
        (self.folder / "thesis").mkdir()
        self.write("thesis/text", "years of work")
        self.refused(self.fact("optimize", "two.py", "-o", "thesis"), "is not a package")
        self.assertEqual(self.files(), ["thesis", "two.py"])


def only_json(result):
    """The one JSON value on standard output."""
    return json.loads(result.stdout)


class InJson(CommandLine):
    def test_what_is_refused_is_an_error_object(self):
        self.write("empty.py", "print('{}')\nimport sys\nsys.stderr.write('noise')\n")
        self.write("broken.py", "raise ValueError('first\\nerror: second')\n")
        for arguments, part in (
            (["optimize", "missing.py"], "missing.py: no such file"),
            (["optimize", "."], "not a Python file"),
            (["optimize", "empty.py"], "has no `Model`"),
            (["optimize", "broken.py"], "ValueError: first\n    error: second"),
            (["optimize"], "SOURCE is required"),
            (["optimize", "empty.py", "--effort", "none"], "--effort"),
            (["optimise", "empty.py"], "no command 'optimise'"),
            (["runs", "show", "nothing"], "nothing"),
            (["runs", "resume", "nothing"], "nothing"),
            (["graph", "missing.pt2"], "missing.pt2"),
            (["discover", "missing.pt2"], "missing.pt2"),
            (["kernel", "check", "missing.fact"], "missing.fact"),
            (["kernel", "schedules", "missing.fact"], "missing.fact"),
            (["registry", "show", "0123"], "0123"),
            (["sol", "missing.py"], "missing.py"),
        ):
            with self.subTest(arguments=arguments):
                result = self.fact(*arguments, "--json")
                self.assertEqual(result.returncode, 2, result.stderr)
                error = only_json(result)["error"]
                self.assertIn(part, error["message"])
                self.assertIn("hint", error)
                self.assertIn(error["message"], result.stderr)

    def test_where_nothing_is_fused(self):
        self.write("plain.py", model("def forward(self, x):\n    return torch.sin(x).t()"))
        result = self.fact("optimize", "plain.py", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = only_json(result)
        self.assertEqual(report["patterns"], [])
        self.assertIsNone(report["package"])
        self.assertIn("nothing to fuse: 2 operators", report["no_package"])
        self.assertEqual(
            [(item["target"], item["work"]) for item in report["left_alone"]],
            [("aten.sin.default", True), ("aten.permute.default", False)],
        )
        folder = pathlib.Path(self.folder, report["run"])
        self.assertEqual(json.loads((folder / "report.json").read_text()), report)
        # A run that fails later leaves no report that is not its own.
        self.write("plain.py", "raise ValueError('now broken')\n")
        self.refused(self.fact("optimize", "plain.py"), "now broken")
        self.assertFalse((folder / "report.json").exists() or (folder / "report.txt").exists())

    def test_where_every_candidate_fails(self):
        self.write("two.py", model(TWO_LINEARS))
        self.write("nvcc", '#!/bin/sh\n[ "$1" = --version ] && exec "$REAL" "$@"\necho no >&2; exit 1\n')
        (self.folder / "nvcc").chmod(0o755)
        real = os.environ.get("FACT_NVCC") or shutil.which("nvcc")
        if not real:
            self.skipTest("there is no nvcc")
        self.environment.update(REAL=real, FACT_NVCC=str(self.folder / "nvcc"))
        result = self.fact("optimize", "two.py", "--dtype", "bf16", "--json")
        self.assertEqual(result.returncode, 1, result.stderr)
        report = only_json(result)
        self.assertTrue(report["failed"])
        self.assertEqual(report["statistics"]["realized"], 0)
        self.assertEqual(report["statistics"]["compiled"], 0)
        self.assertIsNone(report["package"])
        self.assertIn("0 of 2 families have a kernel (", result.stderr)
        text = self.fact("optimize", "two.py", "--dtype", "bf16").stdout
        self.assertNotIn("compiles", text)
        self.assertIn("operators 5: 0 in patterns that were fused, 5 in others", text)

    def test_a_report_without_a_gpu_claims_no_run(self):
        self.write("two.py", model(TWO_LINEARS))
        result = self.fact("optimize", "two.py", "--dtype", "bf16", "--no-bench", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = only_json(result)
        if report["device"]:
            self.skipTest("there is a GPU")
        for pattern in report["patterns"]:
            self.assertIsNone(pattern["error_compiled"])
            self.assertGreater(pattern["error_text"]["checks"], 0)
        statistics, operators = report["statistics"], report["operators"]
        self.assertEqual((statistics["verified"], statistics["texts_verified"]), (0, 2))
        self.assertEqual(operators["all"], sum(n for key, n in operators.items() if key != "all"))
        self.assertIsNone(report["agrees"])
        self.assertIn("were not compared with the module's (--no-bench)", report["whole_note"])
        self.assertIn("2 of 2 families have a kernel: they compile, and were not run", result.stderr)
        again = self.fact("optimize", "two.py", "--dtype", "bf16", "--no-bench")
        self.assertIn("the kernels are known from an earlier run: these are its figures", again.stdout)
        self.assertIn("fused, not run", again.stdout)


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
        self.write("plain.py", model("def forward(self, x):\n    return torch.sin(x) + 1"))
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
        self.assertIn("package is an earlier run's and was left as it is", result.stdout)
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
