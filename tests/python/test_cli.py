"""The command line from outside: messages, exit codes, and what is left on the disk."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from command_line import PROGRAM, TWO_LINEARS, CommandLine, model
from packages import seal

# A Python whose benchmark notes what it is asked.
STAND_IN = """#!/bin/sh
echo "$*" >{folder}/words
while [ "$1" != --json ]; do shift; done
echo '{{"rows": [], "agrees": true, "note": ""}}' >"$2"
"""


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


if __name__ == "__main__":
    unittest.main()
