"""Output folders of `fact optimize` and `fact compose`: what is replaced, when, and by how many at once."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from command_line import PROGRAM, TWO_LINEARS, CommandLine, model

# A Python whose benchmark says what it is told to.
PYTHON = """#!/bin/sh
case "$*" in
*fact.bench*)
    [ -e "{folder}/bench_fails" ] && exit 1
    while [ "$1" != --json ]; do shift; done
    echo '{{"rows": [], "agrees": false, "note": "TOO LARGE"}}' >"$2" ;;
*) exec "{python}" "$@" ;;
esac
"""

ONE_LINEAR = """
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 128)

    def forward(self, x):
        return torch.relu(self.up(x))
"""


class Outputs(CommandLine):
    def names(self, folder="."):
        return sorted(os.listdir(self.folder / folder))

    def distrust(self):
        """From here on every package is measured to be wrong."""
        python = self.environment.get("FACT_PYTHON", sys.executable)
        path = self.write("python", PYTHON.format(folder=self.folder, python=python))
        os.chmod(path, 0o755)
        self.environment["FACT_PYTHON"] = path

    def optimize(self, *more):
        self.write("one.py", model(ONE_LINEAR))
        return self.fact("optimize", "one.py", "--dtype", "bf16", "-o", "package", *more)

    def test_a_web_project_is_not_a_package(self):
        self.write("one.py", model(ONE_LINEAR))
        (self.folder / "web" / "src").mkdir(parents=True)
        self.write("web/manifest.json", '{"manifest_version": 3, "name": "page", "calls": []}')
        self.write("web/src/index.js", "years of work")
        for command in (["optimize", "one.py", "--dtype", "bf16", "--no-bench"], ["compose", "."]):
            result = self.fact(*command, "-o", "web")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("web exists and is not a package that can be replaced", result.stderr)
            self.assertIn("remove that folder yourself", result.stderr)
            self.assertEqual((self.folder / "web/src/index.js").read_text(), "years of work")
        self.assertEqual(self.names(), ["one.py", "web"])

    def test_only_what_was_accepted_takes_a_packages_place(self):
        first = self.optimize("--no-bench")
        self.assertEqual(first.returncode, 0, first.stderr)
        before = (self.folder / "package" / "manifest.json").read_bytes()
        self.assertEqual(json.loads(before)["namespaces"], ["aten"])
        there = self.names()
        self.distrust()
        again = ["optimize", "one.py", "--dtype", "fp16", "--run-dir", "run", "-o", "package"]
        failing = pathlib.Path(self.write("bench_fails", ""))
        for message in ("the benchmark failed", "results differ from the module's"):
            result = self.fact(*again)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(message, result.stderr)
            self.assertEqual((self.folder / "package" / "manifest.json").read_bytes(), before)
            self.assertNotIn("package: ", result.stdout)
            failing.unlink(missing_ok=True)
        self.assertIn("the package at package is from an earlier run", result.stderr)
        self.assertEqual(self.names(), sorted(there + ["python", "run"]))
        # Without an earlier one nothing is there afterwards.
        result = self.fact(*again[:-1], "fresh")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertNotIn("fresh", self.names())
        # The very package that `fact compose` put there unmeasured does go.
        composed = self.fact("compose", "run", "-o", "package")
        self.assertEqual(composed.returncode, 0, composed.stderr)
        self.assertNotEqual((self.folder / "package" / "manifest.json").read_bytes(), before)
        result = self.fact(*again)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("so its package was removed", result.stderr)
        self.assertNotIn("package", self.names())

    def test_a_package_with_somebodys_file_in_it_stays(self):
        self.assertEqual(self.optimize("--no-bench").returncode, 0)
        self.write("package/notes.txt", "mine")
        result = self.optimize("--no-bench")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("notes.txt is not a file of the package", result.stderr)
        self.assertEqual((self.folder / "package" / "notes.txt").read_text(), "mine")

    def test_a_full_disk_is_named_and_nothing_stays(self):
        self.write("one.py", model(ONE_LINEAR))
        (self.folder / "disk").mkdir()
        script = 'mount -t tmpfs -o size=16k none disk || exit 77; "$@"; code=$?; ls -A disk; exit $code'
        fact = [PROGRAM, "optimize", "one.py", "--dtype", "bf16", "--no-bench", "-o", "disk/package"]
        try:
            result = subprocess.run(
                ["unshare", "-rm", "sh", "-c", script, "sh", *fact],
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=600,
            )
        except FileNotFoundError:
            self.skipTest("there is no unshare")
        if result.returncode == 77 or "unshare" in result.stderr:
            self.skipTest("a small disk cannot be mounted here")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"no space left on the disk of .*: cannot write .*\n.*free some space")
        self.assertEqual(result.stdout, "")

    def at_once(self, first, second):
        """Starts the second command while the first one is in its run; what both said."""
        processes = []
        for command in (first, second):
            processes.append(
                subprocess.Popen(
                    [PROGRAM, *command],
                    cwd=self.folder,
                    env=self.environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            if len(processes) == 1:
                line = processes[0].stderr.readline()
                self.assertIn("trace: exported", line)
        said = [process.communicate(timeout=600)[1] for process in processes]
        for process, text in zip(processes, said):
            self.assertEqual(process.returncode, 0, text)
        self.assertIn(f"waiting for process {processes[0].pid} to finish with", said[1])
        return said

    def test_two_runs_of_one_folder(self):
        self.write("two.py", model(TWO_LINEARS))
        command = ["optimize", "two.py", "--dtype", "bf16"]
        said = self.at_once(command, command)
        self.assertIn("trace: unchanged", said[1])
        self.assertIn("bench: unchanged", said[1])

    def test_two_runs_into_one_output(self):
        self.write("one.py", model(ONE_LINEAR))
        command = ["optimize", "one.py", "-o", "package", "--run-dir"]
        self.at_once([*command, "a", "--dtype", "bf16"], [*command, "b", "--dtype", "fp16"])
        self.assertEqual(json.loads((self.folder / "package" / "manifest.json").read_text())["dtype"], "f16")
        self.assertEqual(self.names(), ["a", "b", "cache", "one.py", "package"])


if __name__ == "__main__":
    unittest.main()
