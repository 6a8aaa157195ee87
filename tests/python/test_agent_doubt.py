"""Texts that are right by luck: at the model's own values, near zero, at small extents."""

import json
import subprocess
import unittest

from agents import Agents, fenced
from command_line import PROGRAM

MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 64)
        self.register_buffer("factor", torch.full((COLUMNS,), 0.5))

    def forward(self, x, y):
        return self.up(x), torch.tanh(torch.clamp(y * torch.hypot(self.factor, self.factor), -100, 100).sum(dim=-1) * 0.01)

def get_inputs():
    return [torch.randn(32, 64), torch.randn(64, COLUMNS)]

def get_init_inputs():
    return []
"""

SOFTMAX = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 64)

    def forward(self, x, y):
        return torch.softmax(x, -1) * torch.sigmoid(x), self.up(y)

def get_inputs():
    return [torch.randn(64, 128), torch.randn(32, 64)]

def get_init_inputs():
    return []
"""

NODES = ["hypot", "mul", "clamp", "sum_1", "mul_1", "tanh"]
TEXT = """kernel clamped(y: f32[R, K], factor: f32[K]) -> (t_tanh: f32[R]) {
  t_tanh = tanh(sum(clamp(y * sqrt(factor * factor + factor * factor), -100.0, 100.0), over: K) * 0.01)
}
"""


class Doubt(Agents):
    def setUp(self):
        super().setUp()
        self.source = self.write("model.py", MODEL.replace("COLUMNS", "128"))

    def act(self, name, **request):
        return json.loads(self.fact("act", "run", name, json.dumps(request)).stdout)

    def propose(self):
        self.assertEqual(self.fact("trace", self.source, "-o", "model.pt2").returncode, 0)
        self.assertEqual(self.fact("discover", "model.pt2", "-o", "run").returncode, 0)
        return self.act("propose", nodes=NODES)["proposal"]

    def test_values_of_buffers_and_branches_that_nothing_ordinary_reaches(self):
        name = self.propose()
        built_in = TEXT.replace("factor * factor", "0.25")
        reply = self.act("write", proposal=name, text=built_in)
        self.assertFalse(reply["accepted"])
        wrong = [check["inputs"] for check in reply["text_checks"] if not check["passed"]]
        self.assertEqual(wrong, ["other_buffers"])
        left_out = TEXT.replace("clamp(y * sqrt(factor * factor + factor * factor), -100.0, 100.0)", "y * sqrt(factor * factor + factor * factor)")
        reply = self.act("write", proposal=name, text=left_out)
        self.assertFalse(reply["accepted"])
        self.assertIn("far", [check["inputs"] for check in reply["text_checks"] if not check["passed"]])
        reply = self.act("write", proposal=name, text=TEXT)
        self.assertTrue(reply["accepted"], reply)

    def test_an_overflow_that_torch_does_not_have(self):
        self.source = self.write("model.py", SOFTMAX)
        self.assertEqual(self.fact("trace", self.source, "-o", "model.pt2").returncode, 0)
        self.assertEqual(self.fact("discover", "model.pt2", "-o", "run").returncode, 0)
        name = self.act("propose", nodes=["softmax", "sigmoid", "mul"])["proposal"]
        text = """kernel f(x: f32[R, K]) -> (mul: f32[R, K]) {
  e = exp(x LESS)
  mul = e / sum(e, over: K) * (SIGMOID)
}"""
        for less, sigmoid in (("", "sigmoid(x)"), ("- max(x, over: K)", "exp(x) / (1 + exp(x))")):
            wrong = text.replace("LESS", less).replace("SIGMOID", sigmoid)
            reply = self.act("write", proposal=name, text=wrong)
            failed = [check["inputs"] for check in reply["text_checks"] if not check["passed"]]
            self.assertEqual(failed, ["far"], reply)
        right = text.replace("LESS", "- max(x, over: K)").replace("SIGMOID", "sigmoid(x)")
        self.assertTrue(self.act("write", proposal=name, text=right)["accepted"])
        hidden = right.replace("sigmoid(x)", "where(x > 60, 0.9, sigmoid(x))")
        self.assertFalse(self.act("write", proposal=name, text=hidden)["accepted"])

    def test_an_accepted_text_is_withdrawn(self):
        name = self.propose()
        self.assertTrue(self.act("write", proposal=name, text=TEXT)["accepted"])
        self.assertEqual(self.act("withdraw", proposal=name)["withdrawn"], name)
        self.assertNotIn(name, [one["id"] for one in self.act("patterns")["patterns"]])
        self.assertIn("no text of proposal", self.act("withdraw", proposal=name)["error"])
        self.write("run/agent/accepted.json", "{")
        told = self.fact("optimize", self.source, "--run-dir", "run", "--no-bench")
        self.assertEqual(told.returncode, 2)
        self.assertIn("accepted.json is damaged", told.stderr)

    def test_what_is_wrong_at_full_size_costs_itself_alone(self):
        self.source = self.write("model.py", MODEL.replace("COLUMNS", "8192"))
        late = TEXT.replace("y * sqrt", "where(index(K) < 8000, y, 0.0) * sqrt")
        find = json.dumps({"proposals": [{"nodes": NODES}]})
        report = self.optimize(self.answers(fenced(late), find=find))
        row = report["agent"]["proposals"][0]
        self.assertTrue(row["outcome"].startswith("rejected"), row)
        self.assertTrue(report["agrees"])
        self.assertTrue(report["package"])
        fused = [one["id"] for one in report["patterns"] if one["fused"]]
        self.assertTrue(fused and row["id"] not in fused, fused)
        again = self.fact("optimize", self.source, "--run-dir", "run")
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_a_line_or_a_field_that_makes_no_sense_costs_itself_alone(self):
        self.propose()
        deep = '{"action": "look", "request": ' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}"
        lines = [deep, '{"action": "look", "request": {"nodule": "x"}}', '{"action": "look", "id": 3}']
        done = subprocess.run(
            [PROGRAM, "act", "run", "--serve"],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            cwd=self.folder,
        )
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([reply["ok"] for reply in replies], [False, False, True])
        self.assertIn("takes no field 'nodule'", replies[1]["error"])
        self.assertEqual(replies[2]["id"], 3)


if __name__ == "__main__":
    unittest.main()
