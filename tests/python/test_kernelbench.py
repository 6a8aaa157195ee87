"""bench/kernelbench/run.py with stand-ins for `fact`, for KernelBench and for its evaluator."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import types
import unittest
from unittest import mock

import torch
from built import ROOT

FOLDER = ROOT / "bench" / "kernelbench"

# `fact`: problems whose file says so are fused; notes what it is asked.
FACT = """#!{python}
import json, pathlib, re, sys, time

def note(what, path):
    with open("{folder}/when", "a") as file:
        file.write(what + " " + pathlib.Path(path).stem + "\\n")

words = sys.argv[1:]
with open("{folder}/asked", "a") as file:
    file.write(" ".join([words[0], *(w for w in words if w.startswith("--") and w != "--run-dir")]) + "\\n")
if words[0] == "optimize":
    text = pathlib.Path(words[1]).read_text()
    note("begins", words[1])
    time.sleep(float((re.findall("takes ([0-9.]+) s", text) or [0])[0]))
    note("ends", words[1])
    if "much memory" in text and "--retune" not in words:
        sys.exit("CUDA out of memory")
    run = pathlib.Path(words[words.index("--run-dir") + 1])
    run.mkdir(parents=True, exist_ok=True)
    fused = "fused" in text
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

    def test_results_need_no_pydantic(self):
        class Result(loaded("judge").Fields):
            right: bool = False
            notes: dict = {}

        one = Result(right=True)
        one.notes["why"] = "none"
        self.assertEqual((one.right, Result().right, Result().notes), (True, False, {}))

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
        with mock.patch.object(self.run_script.Problem, "baselines") as timed:
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

    def when(self):
        """What `fact optimize` began and ended so far."""
        file = self.folder / "when"
        return file.read_text().splitlines() if file.exists() else []

    def test_side_by_side(self):
        for name in ("10_Ten", "9_Nine"):
            self.problem(name, "# fused, takes 2 s")
        printed, results = self.judged("--jobs", "2", "--no-evaluator")
        self.assertEqual([line.split()[0] for line in self.when()], ["begins", "begins", "ends", "ends"])
        self.assertEqual(list(results), ["9_Nine", "10_Ten"])  # in the order of problems
        self.assertLess(printed.index("| 9_Nine |"), printed.index("| 10_Ten |"))
        self.assertEqual(self.asked().count("optimize --training --effort --jobs"), 2)
        self.assertEqual(self.run_script.Crew(10**6).compilers(), 1)
        self.assertEqual(self.run_script.spread(range(7), 1), list(range(7)))
        self.assertEqual(self.run_script.spread(range(7), 3), [0, 3, 6, 1, 4, 2, 5])
        with mock.patch("os.sched_getaffinity", lambda _: range(16)):
            self.assertEqual([self.run_script.Crew(jobs).compilers() for jobs in (1, 3)], [16, 5])

    def test_what_ran_out_of_memory_is_tried_alone(self):
        self.problem("1_One", "# fused, needs much memory")
        self.problem("2_Two", "# fused, takes 1 s")
        with mock.patch.object(self.run_script.Problem, "baselines", lambda _: {}):
            printed, results = self.judged("--jobs", "2")
        self.assertEqual(self.when()[-2:], ["begins 1_One", "ends 1_One"])
        self.assertIn("beside others it ran out of memory or time", printed)
        self.assertEqual((results["1_One"]["fact_us"], results["1_One"]["status"]), (10.0, 0))
        self.assertTrue(results["1_One"]["evaluator"]["correct"])
        self.assertNotIn("alone", results["1_One"])
        # One at a time is alone already.
        with mock.patch.object(self.run_script.Problem, "baselines", lambda _: {}):
            _, results = self.judged("--again")
        self.assertEqual((results["1_One"]["status"], self.when().count("begins 1_One")), (1, 3))

    def test_an_evaluator_without_memory_is_asked_again(self):
        self.problem("1_One")
        self.answers({"raises": "CUDA out of memory"})
        _, results = self.judged("--jobs", "2")
        self.assertIn("out of memory", results["1_One"]["evaluator"]["why"])
        self.assertEqual([line.split()[0] for line in self.asked()], ["optimize", "sol", "export", "export"])

    def test_what_is_to_be_tried_alone_is_kept_for_the_next_call(self):
        self.problem("1_One", "# fused, needs much memory, takes 1 s")
        with mock.patch.object(self.run_script.Problem, "baselines", lambda _: {}):
            printed, results = self.judged("--jobs", "2", "--seconds", "0.5")
        self.assertEqual(results["1_One"]["alone"], "fact")
        self.assertIn("left for the next call: 1, from 1_One", printed)
        _, results = self.judged("--jobs", "2")
        self.assertEqual((results["1_One"]["fact_us"], self.when().count("ends 1_One")), (10.0, 2))

    def test_limits_hold_side_by_side(self):
        for name in ("1_One", "2_Two", "3_Three"):
            self.problem(name, "# fused, takes 60 s")
        with mock.patch.object(self.run_script.Problem, "baselines", lambda _: {}):
            printed, results = self.judged("--jobs", "2", "--limit", "2", "--seconds", "1")
        self.assertEqual({name: entry["status"] for name, entry in results.items()}, {"1_One": 124, "3_Three": 124})
        self.assertIn("left for the next call: 3, from 1_One", printed)
        self.assertFalse([line for line in self.when() if line.startswith("ends")])

    def test_ctrl_c_ends_what_is_running(self):
        self.problem("1_One")
        self.problem("2_Two", "# fused, takes 60 s")
        self.problem("3_Three", "# fused, takes 60 s")
        words = [FOLDER / "run.py", "--kernelbench", self.folder / "checkout", "--level", "1", "--no-evaluator"]
        command = [sys.executable, *map(str, words), "--jobs", "2", str(self.folder / "out")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            until = time.monotonic() + 60
            while time.monotonic() < until and "begins 2_Two" not in self.when():
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertIn("stopped: the same command goes on from 1 problem", printed)
        results = json.loads((self.folder / "out" / "level1.json").read_text())["problems"]
        self.assertEqual(list(results), ["1_One"])
        self.assertFalse([line for line in self.when() if line.startswith("ends") and "One" not in line])


class Judging(unittest.TestCase):
    """How the evaluator uses the GPU beside others."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-turn-")
        self.addCleanup(folder.cleanup)
        changed = mock.patch.dict(os.environ, {"TMPDIR": folder.name})
        changed.start()
        self.addCleanup(changed.stop)

    def test_inputs_are_made_while_others_use_the_gpu(self):
        from fact._turn import Turn

        seen, asked = [], []
        turn = Turn()

        def make_inputs():
            seen.append(turn.kind)
            return ["x", torch.ones(3)]

        evaluator = types.SimpleNamespace(load_original_model_and_inputs=lambda text: ("Model", "init", make_inputs))
        memory = types.SimpleNamespace(take=lambda tensors, times: asked.append((turn.kind, len(tensors))))
        loaded("judge").make_inputs_aside(evaluator, turn, memory)
        with turn:
            model, init, inputs = evaluator.load_original_model_and_inputs("text")
            self.assertEqual((model, init, inputs()[0], inputs()[0]), ("Model", "init", "x", "x"))
            self.assertEqual(turn.kind, "shared")
        self.assertEqual((seen, asked), ([None] * 2, [(None, 1)]))

    def test_it_times_alone(self):
        from fact._turn import Turn

        turn = Turn()
        judge = loaded("judge")
        timing = types.SimpleNamespace(get_timing_function=lambda method: lambda x, more: (method, x, more, turn.kind))
        evaluator = types.SimpleNamespace(timing=timing)
        self.assertTrue(judge.times_apart(evaluator))
        self.assertFalse(judge.times_apart(types.SimpleNamespace()))
        judge.time_alone(evaluator, turn)
        with turn:
            self.assertEqual(timing.get_timing_function("event")(1, more=2), ("event", 1, 2, "exclusive"))
            self.assertEqual(turn.kind, "shared")


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
                mock.patch.object(_timing, "single", lambda works, brief: [works[0]() is not None and times[0]]),
                contextlib.redirect_stderr(io.StringIO()) as said,
            ):
                self.assertEqual(loaded("baselines").times(str(source), "cpu"), {"eager": 3.0})
        self.assertIn("torch.compile fails: no", said.getvalue())


if __name__ == "__main__":
    unittest.main()
