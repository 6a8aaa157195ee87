"""Every hostile kernel of tests/gpu/faults compiles, and the whole path rejects those that can be
simulated without a GPU."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from built import ROOT, needs_worker
from command_line import PROGRAM

FAULTS = ROOT / "tests" / "gpu" / "faults"


@needs_worker
@unittest.skipUnless(os.path.exists(PROGRAM), f"{PROGRAM} is not built")
class Faults(unittest.TestCase):
    def tried(self, run, kernels=""):
        """The journal's entry of each of the folder's files, all of which compiled."""
        # The one that hangs would take the whole deadline; the tuner's own tests have it.
        files = [file for file in sorted((FAULTS / kernels).glob("*.cu")) if file.stem != "hang"]
        command = [PROGRAM, "optimize", str(FAULTS / kernels / "problem.py"), "--dtype", "bf16"]
        command += ["--no-bench", "--effort", "1", "--run-dir", str(run)]
        for file in files:
            command += ["--also", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        entries = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
        tried = {entry["name"]: entry for entry in entries if "reply" in entry}
        for file in files:
            self.assertIn(file.stem, tried)
            self.assertTrue(tried[file.stem]["compile_key"], tried[file.stem]["reply"]["why"])
        return tried

    def test_errors_that_only_parts_of_an_output_show(self):
        found = {"gate": ("lost_tail", "elements below"), "attention": ("late_rows", "row [")}
        for kernels, (fault, part) in found.items():
            with tempfile.TemporaryDirectory(prefix="fact-faults-") as folder:
                run, results = pathlib.Path(folder) / "run", pathlib.Path(folder) / "faults.json"
                reply = self.tried(run, kernels)[fault]["reply"]
                self.assertEqual(reply["finding"], "wrong result")
                self.assertIn(part, reply["why"])
                # The whole output says nothing against it.
                for check in reply["checks"]:
                    for error, floor in (("largest", 2**-8), ("rms", 2**-10)):
                        limit = max(2 * check["eager"][error], floor)
                        self.assertLessEqual(check["kernel"][error], limit)
                check = [sys.executable, str(FAULTS / "check.py"), str(results), f"{run}:{kernels}"]
                checked = subprocess.run(check, capture_output=True, text=True)
                self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
                self.assertEqual(len(json.loads(results.read_text())["runs"]["run"]["faults"]), 3)

    def test_the_library_on_a_cpu(self):
        with tempfile.TemporaryDirectory(prefix="fact-faults-") as folder:
            run = pathlib.Path(folder) / "run"
            tried = self.tried(run)
            self.assertIn("row [", tried["fixed_point"]["reply"]["why"])

            results = pathlib.Path(folder) / "faults.json"
            check = [sys.executable, str(FAULTS / "check.py"), str(results), str(run)]
            checked = subprocess.run(check, capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            rows = json.loads(results.read_text())["runs"]["run"]["faults"]
            self.assertGreaterEqual(len(rows), 14)

            # The checker can say no.
            journal = run / "journal.jsonl"
            text = journal.read_text()
            journal.write_text(text.replace('"finding":"changed its inputs"', '"finding":""'))
            checked = subprocess.run(check, capture_output=True, text=True)
            self.assertEqual(checked.returncode, 1, checked.stdout)
            self.assertIn("NOT OK changes_inputs", checked.stdout)


if __name__ == "__main__":
    unittest.main()
