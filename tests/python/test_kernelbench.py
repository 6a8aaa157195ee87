"""bench/kernelbench/run.py with stand-ins for `fact`, for KernelBench and for its evaluator."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

import torch
from built import ROOT

FOLDER = ROOT / "bench" / "kernelbench"

# `fact`: problems whose file says so are fused; notes what it is asked.
FACT = """#!{python}
import json, pathlib, sys

words = sys.argv[1:]
with open("{folder}/asked", "a") as file:
    file.write(" ".join([words[0], *(w for w in words if w.startswith("--") and w != "--run-dir")]) + "\\n")
if words[0] == "optimize":
    run = pathlib.Path(words[words.index("--run-dir") + 1])
    run.mkdir(parents=True, exist_ok=True)
    fused = "fused" in pathlib.Path(words[1]).read_text()
    rows = [("eager", 30.0), ("torch.compile", 20.0), ("composed", 10.0)] if fused else []
    report = {{
        "whole": [{{"name": n, "single": {{"median_us": t, "runs": 3}}}} for n, t in rows],
        "agrees": True if fused else None,
        "patterns": [{{"id": "p00_linear", "fused": True}}] if fused else [],
        "left_alone": [] if fused else [{{"node": "relu", "reason": "it is alone"}}],
        "package": str(run / "package") if fused else None,
        "no_package": None if fused else "nothing to fuse",
    }}
    (run / "report.json").write_text(json.dumps(report))
elif words[0] == "sol":
    print(json.dumps({{"whole": {{"ideal_us": 5.0}}}}))
elif words[0] == "export":
    if pathlib.Path("{folder}/export_fails").exists():
        sys.exit(2)
    pathlib.Path(words[words.index("-o") + 1]).write_text("class ModelNew: ...\\n")
"""

# What the evaluator answers: a result's fields, as the test has written them.
EVALUATOR = """
    import json, pathlib, types, warnings
    from dotenv import load_dotenv
    from litellm import completion

    load_dotenv()

    def eval_kernel_against_ref(original, custom, **options):
        assert "def get_inputs" in original and "class ModelNew" in custom
        assert options["num_correct_trials"] == 5 and options["measure_performance"]
        answer = json.loads(pathlib.Path(__file__).with_name("answer.json").read_text())
        if answer is None:
            return None
        if "raises" in answer:
            raise ValueError(answer["raises"])
        if answer.pop("falls_back", False):
            warnings.warn("p00 runs as torch's operators", type("FallbackWarning", (UserWarning,), {}))
        usual = {"compiled": True, "correctness": True, "metadata": {}, "runtime": 2.0, "ref_runtime": 5.0}
        return types.SimpleNamespace(**(usual | answer))
"""


def loaded(name):
    """A script of bench/kernelbench as a module."""
    spec = importlib.util.spec_from_file_location(f"kernelbench_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    with mock.patch.object(sys, "path", list(sys.path)):
        spec.loader.exec_module(module)
    return module


class KernelBench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-kernelbench-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_script = loaded("run")
        program = self.write("fact", FACT.format(python=sys.executable, folder=self.folder))
        program.chmod(0o755)
        given = {"FACT_PROGRAM": str(program), "FACT_PYTHON": sys.executable, "FACT_COMMIT": "abc"}
        changed = mock.patch.dict(os.environ, given)
        changed.start()
        self.addCleanup(changed.stop)
        self.evaluator(EVALUATOR)
        self.answers({})

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def evaluator(self, text):
        self.write("checkout/src/kernelbench/__init__.py", "")
        self.write("checkout/src/kernelbench/eval.py", text)

    def answers(self, answer):
        self.write("checkout/src/kernelbench/answer.json", json.dumps(answer))

    def problem(self, name, text="# fused"):
        self.write(f"checkout/KernelBench/level1/{name}.py", f"{text}\ndef get_inputs(): ...\n")

    def judged(self, *options):
        """What is printed, and the problems of the JSON."""
        words = ["run.py", "--kernelbench", str(self.folder / "checkout"), "--level", "1", *options]
        printed = io.StringIO()
        with mock.patch.object(sys, "argv", [*words, str(self.folder / "out")]), contextlib.redirect_stdout(printed):
            self.run_script.main()
        results = json.loads((self.folder / "out" / "level1.json").read_text())
        return printed.getvalue(), results["problems"]

    def asked(self):
        return (self.folder / "asked").read_text().splitlines()

    def test_both_verdicts_stand_side_by_side(self):
        self.problem("1_One")
        self.answers({"metadata": {"correctness_trials": "(5 / 5)"}})
        printed, results = self.judged()
        entry = results["1_One"]
        self.assertEqual((entry["eager_us"], entry["compile_us"], entry["fact_us"]), (30.0, 20.0, 10.0))
        self.assertEqual((entry["agrees"], entry["bound_us"]), (True, 5.0))
        verdict = entry["evaluator"]
        self.assertEqual((verdict["compiled"], verdict["correct"], verdict["speedup"]), (True, True, 2.5))
        self.assertEqual((verdict["ms"], verdict["reference_ms"], verdict["trials"]), (2.0, 5.0, "(5 / 5)"))
        self.assertIn("| 1_One | 30 us | 5 us | 1.50x | 3.00x | correct, 2.50x | 1 |", printed)
        self.assertIn("1 judged, 1 compiled, 1 correct, 2.50x over eager", printed)
        self.assertNotIn("right to us", printed)
        # As KernelBench runs modules.
        self.assertIn("optimize --training --effort", self.asked())

    def test_a_dispute_is_named(self):
        self.problem("1_One")
        self.answers({"correctness": False, "runtime": -1.0, "metadata": {"correctness_issue": "Output mismatch"}})
        printed, results = self.judged()
        verdict = results["1_One"]["evaluator"]
        self.assertEqual((verdict["compiled"], verdict["correct"], verdict["why"]), (True, False, "Output mismatch"))
        self.assertNotIn("speedup", verdict)
        self.assertIn("| wrong: Output mismatch |", printed)
        self.assertIn("right to us and not to the evaluator, or the other way: 1_One", printed)

    def test_what_the_evaluator_cannot_judge(self):
        self.problem("1_One")
        for answer in (None, {"raises": "no such weight"}):
            self.answers(answer)
            printed, results = self.judged("--again")
            self.assertIn("no such weight" if answer else "gave no result", results["1_One"]["evaluator"]["why"])
            self.assertIn("| 3.00x | ", printed)
        self.evaluator("import library_that_nobody_has\n")
        printed, results = self.judged("--again")
        expected = "the evaluator cannot be imported: No module named 'library_that_nobody_has'"
        self.assertEqual(results["1_One"]["evaluator"], {"why": expected})
        self.assertNotIn("judged", printed)
        self.evaluator("import os\nos._exit(7)\n")
        _, results = self.judged("--again")
        self.assertIn("ended with status 7: see 1.log", results["1_One"]["evaluator"]["why"])
        self.evaluator("import time\ntime.sleep(60)\n")
        with mock.patch.object(self.run_script, "EVALUATOR_LIMIT", 1):
            _, results = self.judged("--again")
        self.assertIn("took more than 1 s", results["1_One"]["evaluator"]["why"])
        self.assertFalse(results["1_One"]["evaluator"]["correct"])

    def test_a_fallback_is_no_kernel(self):
        self.problem("1_One")
        self.answers({"falls_back": True})
        printed, results = self.judged()
        self.assertEqual(results["1_One"]["evaluator"]["fallbacks"], ["p00 runs as torch's operators"])
        self.assertIn("| correct, 2.50x, fell back |", printed)

    def test_nothing_fused_is_nothing_to_judge(self):
        self.problem("1_One", "# plain")
        (self.folder / "out" / "runs" / "level1").mkdir(parents=True)
        with mock.patch.object(self.run_script, "baselines") as timed:
            timed.return_value = {"eager_us": 12.0, "compile_us": 8.0}
            printed, results = self.judged()
        self.assertEqual(results["1_One"]["evaluator"], {"why": "there is no package"})
        self.assertIn("| 1_One | 12 us | 5 us | 1.50x | 1.00x | there is no package | 0 | it is alone |", printed)
        self.assertNotIn("export", " ".join(self.asked()))

    def test_an_export_that_fails(self):
        self.problem("1_One")
        self.write("export_fails", "")
        _, results = self.judged()
        self.assertEqual(results["1_One"]["evaluator"], {"why": "the export failed with status 2: see 1.log"})

    def test_without_the_evaluator_and_then_with_it(self):
        self.problem("1_One")
        self.problem("2_Two")
        printed, results = self.judged("--no-evaluator")
        self.assertNotIn("evaluator", results["1_One"])
        self.assertIn("| 3.00x | - | 1 |", printed)
        before = self.asked()
        _, results = self.judged("--problems", "2")
        self.assertNotIn("evaluator", results["1_One"])
        self.assertTrue(results["2_Two"]["evaluator"]["correct"])
        # Judged, but not optimized again.
        self.assertEqual(self.asked()[len(before) :], ["export --kernelbench"])
        self.judged()
        self.assertEqual(self.asked()[len(before) :], ["export --kernelbench"] * 2)


class Baselines(unittest.TestCase):
    def test_eager_counts_where_torch_compile_fails(self):
        from fact import _timing

        def fails(module):
            def call(*inputs):
                raise RuntimeError("no")

            return call

        text = "import torch\nclass Model(torch.nn.ReLU): ...\ndef get_inputs(): return [torch.ones(4)]\n"
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "source.py"
            source.write_text(text)
            times = [{"median_us": 3.0, "runs": 1}]
            with (
                mock.patch.object(torch, "compile", fails),
                mock.patch.object(_timing, "single", lambda works: [works[0]() is not None and times[0]]),
                contextlib.redirect_stderr(io.StringIO()) as said,
            ):
                self.assertEqual(loaded("baselines").times(str(source), "cpu"), {"eager": 3.0})
        self.assertIn("torch.compile fails: no", said.getvalue())


if __name__ == "__main__":
    unittest.main()
