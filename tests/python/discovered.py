"""What tests of discovery share: the program run in a folder of their own, and the proof of a text."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from built import ROOT, needs_worker
from command_line import PROGRAM
from test_worker import Worker


@needs_worker
@unittest.skipUnless(os.path.exists(PROGRAM), "fact is not built")
class Discovered(unittest.TestCase):
    worker = None  # one for all texts of a class: starting it takes a second

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="fact-discovered-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    @classmethod
    def fact(cls, *arguments):
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [PROGRAM, *arguments],
            cwd=cls.folder,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=600,
        )
        if done.returncode != 0:
            raise AssertionError(f"fact {' '.join(arguments)}:\n{done.stdout}{done.stderr}")
        return done.stdout

    @classmethod
    def discover(cls, spec, name, *options, allowing=()):
        """What is found in the module, traced with these options: in NAME.pt2 and the run folder NAME."""
        cls.fact("trace", spec, *options, "-o", f"{name}.pt2")
        cls.fact("discover", f"{name}.pt2", *allowing, "-o", name)
        found = json.loads((cls.folder / name / "discovery.json").read_text())
        cls.account(json.loads(cls.fact("graph", f"{name}.pt2", "--json")), found)
        return found

    @staticmethod
    def account(graph, found):
        """Every operator is in patterns, or in one of the lists with a reason."""
        fused = {node for p in found["patterns"] for node in p["nodes"] + p["copied"]}
        left = [item["node"] for item in found["left_alone"] + found["idle"]]
        assert all(item["reason"] for item in found["left_alone"] + found["idle"])
        names = [node["name"] for node in graph["nodes"]]
        assert sorted([*fused, *left]) == sorted(names), set(names) ^ {*fused, *left}
        assert len(names) == len(set(names))

    def checks(self, call, kernel, **more):
        """How the kernel text compares with torch, for each distribution of inputs."""
        text = self.folder / "kernel.fact"
        text.write_text(kernel)
        cls = type(self)
        if cls.worker is None:
            cls.worker = Worker()
            cls.addClassCleanup(cls.worker.close)
        request = {"call": str(call), "kernel_text": str(text), "device": "cpu", **more}
        reply = cls.worker.ask({"open": request})
        if reply is None:
            cls.worker = None
        self.assertIsNotNone(reply)
        self.assertEqual(reply["error"], "")
        self.assertTrue(reply["text_checks"])
        return reply["text_checks"]

    def check(self, call, pattern, **more):
        """That the pattern's text computes what torch does."""
        for check in self.checks(call, pattern["kernel"], **more):
            self.assertTrue(check["passed"], f"{check}\n{pattern['kernel']}")
