"""A module that rules leave half alone, and a program that answers for a model."""

import json
import os

from command_line import CommandLine

MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 128)
        self.scale = torch.nn.Parameter(torch.ones(128))

    def forward(self, x, y):
        t = torch.hypot(torch.tanh(y), self.scale)
        return self.up(x) + torch.logaddexp(t, y)

def get_inputs():
    return [torch.randn(4, 32, 64), torch.randn(4, 32, 128)]

def get_init_inputs():
    return []
"""

NODES = ["tanh", "hypot", "logaddexp"]

TEXT = """kernel gated(y: f32[R, K], scale: f32[K]) -> (logaddexp: f32[R, K]) {
  t = sqrt(tanh(y) * tanh(y) + scale * scale)
  logaddexp = max(t, y) + log(1.0 + exp(-abs(t - y)))
}
"""

# Answers by what is asked: a list of sets, then one kernel text after the other.
ANSWERS = """
import sys
prompt = sys.stdin.read()
if prompt.startswith("You choose"):
    print({find!r})
elif "Your kernel was not accepted" in prompt:
    print({second!r})
else:
    print({first!r})
"""


def fenced(text):
    return f"```fact\n{text}```\n"


class Agents(CommandLine):
    def setUp(self):
        super().setUp()
        self.source = self.write("model.py", MODEL)

    def answers(self, first, second="", find=None):
        find = find if find is not None else json.dumps({"proposals": [{"nodes": NODES, "why": "one pass"}]})
        script = self.write("answers.py", ANSWERS.format(find=find, first=first, second=second))
        return f"command:{os.environ.get('FACT_PYTHON', 'python3')} {script}"

    def optimize(self, agent, *more):
        done = self.fact("optimize", self.source, "--run-dir", "run", "--json", "--agent", agent, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)
