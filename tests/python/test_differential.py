"""Random kernels: what the interpreter computes against torch's own operators, in f64."""

import json
import math
import os
import pathlib
import subprocess
import unittest

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FACT_BUILD", ROOT / "build" / "release"))
PROGRAM = BUILD / "tests" / "differential"
COUNT = 2900  # of which over 500 look through windows

UNARY = {
    "-": torch.neg,
    "not": torch.logical_not,
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "softplus": F.softplus,
}
BINARY = {
    "+": torch.add,
    "-": torch.sub,
    "*": torch.mul,
    "/": torch.div,
    "min": torch.minimum,
    "max": torch.maximum,
    "<": torch.lt,
    "<=": torch.le,
    ">": torch.gt,
    ">=": torch.ge,
    "==": torch.eq,
    "!=": torch.ne,
    "and": torch.logical_and,
    "or": torch.logical_or,
}
ROUNDED = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


class Evaluator:
    """One program by torch's operators; dimensions are matched by their numbers."""

    def __init__(self, program):
        self.program = program
        self.extents = program["extents"]
        self.values = []
        for expr in program["exprs"]:
            self.values.append(self.evaluate(expr))

    def shape(self, dims):
        return [self.extents[d] for d in dims]

    def aligned(self, position, dims):
        """The value with the dimensions `dims`, in that order, of extent one where it has none."""
        own = self.program["exprs"][position]["dims"]
        value = self.values[position].permute([own.index(d) for d in dims if d in own])
        for i, d in enumerate(dims):
            if d not in own:
                value = value.unsqueeze(i)
        return value

    def evaluate(self, expr):
        op, args, dims = expr["op"], expr["args"], expr["dims"]
        if op == "param":
            param = self.program["params"][expr["index"]]
            data = [math.nan if x is None else x for x in param["data"]]
            return torch.tensor(data, dtype=torch.float64).reshape(self.shape(param["dims"]))
        if op == "literal":
            value = -math.inf if expr["value"] is None else expr["value"]
            return torch.tensor(value, dtype=torch.float64)
        if op == "index":
            return torch.arange(self.extents[expr["dim"]], dtype=torch.float64)
        if op == "extent":
            return torch.tensor(self.extents[expr["dim"]], dtype=torch.float64)
        if op == "view":
            return self.values[args[0]].reshape(self.shape(dims))
        if op == "flip":
            return self.values[args[0]].flip(dims.index(expr["dim"]))
        if op == "window":
            return self.window(expr)
        if op.startswith("reduce_"):
            own = self.program["exprs"][args[0]]["dims"]
            over = [own.index(d) for d in expr["over"]]
            reduce = {"sum": torch.sum, "max": torch.amax, "min": torch.amin}[op[7:]]
            return reduce(self.values[args[0]], dim=over)
        if op in ("cumsum", "cumprod"):
            return self.running(expr)
        if op == "product":
            return self.product(args, dims)
        if op == "attention":
            return self.attention(expr)
        if op == "scores_logsumexp":
            return torch.logsumexp(self.scores(self.program["exprs"][args[0]]), -1)
        x = [self.aligned(a, dims).expand(self.shape(dims)) for a in args]
        if op == "where":
            return torch.where(x[0] != 0, x[1], x[2])
        if op == "cast":
            return x[0].to(ROUNDED[expr["dtype"]]).double()
        if op in ("permute", "expand"):
            return x[0]
        if len(x) == 1:
            return UNARY.get(op, getattr(torch, op, None))(x[0]).double()
        return BINARY[op](x[0], x[1]).double()

    def window(self, expr):
        value = self.values[expr["args"][0]]
        own = list(self.program["exprs"][expr["args"][0]]["dims"])
        outside = -math.inf if expr["outside"] is None else expr["outside"]
        for rule in expr["rules"]:
            at, taps = own.index(rule["of"]), self.extents[rule["taps"]]
            before, after = rule["pad"]
            pads = [0] * (2 * (value.dim() - at - 1)) + [before, after]
            value = F.pad(value, pads, value=outside)
            length = rule["dilation"] * (taps - 1) + 1
            # unfold puts the elements of a window last.
            value = value.unfold(at, length, rule["stride"])[..., :: rule["dilation"]]
            own[at] = rule["places"]
        return value

    def running(self, expr):
        own = expr["dims"]
        order = [d for d in own if d not in expr["over"]] + expr["over"]
        value = self.aligned(expr["args"][0], order).flatten(len(own) - len(expr["over"]))
        ends = [-1] if expr["backwards"] else []
        value = getattr(torch, expr["op"])(value.flip(ends), -1).flip(ends).reshape(self.shape(order))
        return value.permute([order.index(d) for d in own])

    def product(self, args, dims):
        a_dims, b_dims = (self.program["exprs"][a]["dims"] for a in args)
        batch = dims[:-2]
        a = self.aligned(args[0], batch + a_dims[-2:])
        b = self.aligned(args[1], batch + b_dims[-2:])
        return torch.matmul(a, b).expand(self.shape(dims))

    def attention_operands(self, expr):
        """q, k, v and what is added to the scores."""
        dims, args = expr["dims"], expr["args"]
        q_dims, k_dims, v_dims = (self.program["exprs"][a]["dims"] for a in args[:3])
        batch = dims[:-2]
        q, k, v = (
            self.aligned(a, batch + own[-2:]).expand(self.shape(batch + own[-2:]))
            for a, own in zip(args[:3], (q_dims, k_dims, v_dims))
        )
        rows, columns = q_dims[-2], k_dims[-2]
        mask = torch.zeros(self.shape([rows, columns]), dtype=torch.float64)
        if expr["causal"]:
            mask = mask.masked_fill(torch.ones_like(mask).tril().logical_not(), -math.inf)
        if expr["window"]:
            apart = torch.arange(mask.shape[0])[:, None] - torch.arange(mask.shape[1])
            mask = mask.masked_fill(apart.abs() >= expr["window"], -math.inf)
        mask = mask.expand(self.shape(batch + [rows, columns]))
        if len(args) > 3:
            mask = mask + self.aligned(args[3], batch + [rows, columns])
        return q, k, v, mask

    def scores(self, expr):
        q, k, _, mask = self.attention_operands(expr)
        scores = q @ k.mT * expr["scale"]
        if expr["cap"]:
            scores = expr["cap"] * torch.tanh(scores / expr["cap"])
        return scores + mask

    def attention(self, expr):
        q, k, v, mask = self.attention_operands(expr)
        if expr["cap"]:
            return torch.softmax(self.scores(expr), -1) @ v
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=expr["scale"])

    def output(self, output):
        return self.values[output["value"]]


@unittest.skipUnless(PROGRAM.exists(), f"{PROGRAM} is not built")
class Differential(unittest.TestCase):
    def test_stages_give_what_the_whole_gives(self):
        for options in ([], ["--sm80"]):
            done = subprocess.run(
                [PROGRAM, "stages", "--count", "600", *options], capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)

    def test_kernels_of_every_family_take_parts_of_wider_tensors(self):
        done = subprocess.run([PROGRAM, "lower", "--count", "320"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)

    def test_interpreter_agrees_with_torch(self):
        lines = subprocess.run(
            [PROGRAM, "dump", "--count", str(COUNT)], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        self.assertEqual(len(lines), COUNT)
        torch.set_num_threads(1)
        wrong = []
        for line in lines:
            program = json.loads(line)
            rounds = any(expr["op"] == "cast" for expr in program["exprs"])
            evaluator = Evaluator(program)
            for output in program["outputs"]:
                want = evaluator.output(output).reshape(-1)
                got = torch.tensor(
                    [math.nan if x is None else x for x in output["data"]], dtype=torch.float64
                )
                # A value near the middle between two roundings may go either way.
                tolerance = 2e-2 if rounds else 1e-9
                finite = want[want.isfinite()]
                scale = max(1.0, finite.abs().max().item() if finite.numel() else 0)
                same = torch.isclose(got, want, rtol=0, atol=tolerance * scale, equal_nan=True)
                if not same.all():
                    wrong.append(f"seed {program['seed']} ({program['family']})")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
