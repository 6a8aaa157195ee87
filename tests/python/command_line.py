"""`fact` as a program: modules to give it, and what it is to say."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import textwrap
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
