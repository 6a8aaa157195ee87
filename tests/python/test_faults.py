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

PROGRAM = os.environ.get("FACT_PROGRAM", str(ROOT / "build" / "release" / "fact"))
FAULTS = ROOT / "tests" / "gpu" / "faults"


@needs_worker
@unittest.skipUnless(os.path.exists(PROGRAM), f"{PROGRAM} is not built")
class Faults(unittest.TestCase):
    def test_the_library_on_a_cpu(self):
        with tempfile.TemporaryDirectory(prefix="fact-faults-") as folder:
            run = pathlib.Path(folder) / "run"
            # The one that hangs would take the whole deadline; the tuner's own tests have it.
            files = [file for file in sorted(FAULTS.glob("*.cu")) if file.stem != "hang"]
            command = [PROGRAM, "optimize", str(FAULTS / "problem.py"), "--dtype", "bf16"]
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

            results = pathlib.Path(folder) / "faults.json"
            check = [sys.executable, str(FAULTS / "check.py"), str(results), str(run)]
            checked = subprocess.run(check, capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            rows = json.loads(results.read_text())["runs"]["run"]["faults"]
            self.assertGreaterEqual(len(rows), 13)

            # The checker can say no.
            journal = run / "journal.jsonl"
            text = journal.read_text()
            journal.write_text(text.replace('"finding":"changed its inputs"', '"finding":""'))
            checked = subprocess.run(check, capture_output=True, text=True)
            self.assertEqual(checked.returncode, 1, checked.stdout)
            self.assertIn("NOT OK changes_inputs", checked.stdout)


if __name__ == "__main__":
    unittest.main()
