"""Whether what the static check lets through compiles, launches and is right, over types, layouts and
epilogues.

    python bench/schedules/legal.py OUT [COUNT]

Samples COUNT schedules (default 336) of 48 kernel texts at odd sizes, builds them, and where there is a GPU
runs each against torch in f64. Writes OUT/legal.json and prints what failed, spilled or was serialized. Without a
GPU it compiles only. FACT_JOBS compilers run at a time (default: one a core).
"""

import itertools
import json
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import collect  # noqa: E402
import run  # noqa: E402
import torch  # noqa: E402

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "tf32": torch.float32}
LAYOUTS = {  # parameters, left and right operand
    "nk": ("x: {t}[M, K], w: {t}[N, K]", "x", "w.T"),
    "kn": ("x: {t}[M, K], w: {t}[K, N]", "x", "w"),
    "mn": ("x: {t}[K, M], w: {t}[K, N]", "x.T", "w"),
}
EPILOGUES = {  # parameters, expression
    "plain": ("", "acc"),
    "bias_gelu": (", b: {t}[N]", "gelu_tanh(acc + b)"),
    "residual": (", b: {t}[N], r: {t}[M, N]", "acc + b + r"),
    "scaled_mask": (", s: {t}[M]", "where(index(M) >= index(N), s * acc, 0.0)"),
}
SHAPES = [(1000, 1032, 776), (264, 4104, 1544), (136, 520, 8200), (2056, 392, 264)]
ALLOWED = {"bf16": 2**-7, "f16": 2**-10, "f32": 2**-17, "tf32": 2**-9}  # of the largest value


class Text:
    def __init__(self, kind, layout, epilogue):
        self.kind, self.layout, self.epilogue = kind, layout, epilogue
        type_ = "f32" if kind == "tf32" else kind
        params, left, right = LAYOUTS[layout]
        more, value = EPILOGUES[epilogue]
        product = f"matmul({left}, {right}, precision: tf32)" if kind == "tf32" else f"{left} @ {right}"
        self.text = (
            f"kernel k({(params + more).format(t=type_)}) -> (y: {type_}[M, N]) {{\n"
            f"  acc = {product}\n  y   = {value}\n}}\n"
        )

    def name(self):
        return f"{self.kind}-{self.layout}-{self.epilogue}"

    def operands(self, m, n, k):
        torch.manual_seed(1)
        sizes = {"nk": ((m, k), (n, k)), "kn": ((m, k), (k, n)), "mn": ((k, m), (k, n))}[self.layout]
        sizes += {"plain": (), "bias_gelu": ((n,),), "residual": ((n,), (m, n)),
                  "scaled_mask": ((m,),)}[self.epilogue]  # fmt: skip
        tensors = [torch.randn(size, device="cuda").to(TYPES[self.kind]) for size in sizes]
        tensors[1] = (tensors[1].float() * k**-0.5).to(TYPES[self.kind])
        return tensors

    def exact(self, x, w, *more):
        x, w, *more = (tensor.double() for tensor in (x, w, *more))
        acc = (x.T if self.layout == "mn" else x) @ (w.T if self.layout == "nk" else w)
        if self.epilogue == "bias_gelu":
            return torch.nn.functional.gelu(acc + more[0], approximate="tanh")
        if self.epilogue == "residual":
            return acc + more[0] + more[1]
        if self.epilogue == "scaled_mask":
            keep = torch.arange(acc.shape[0])[:, None] >= torch.arange(acc.shape[1])[None]
            return torch.where(keep.to(acc.device), more[0][:, None] * acc, 0.0)
        return acc


def schedules_of(file, shape):
    m, n, k = shape
    listed = run.command(run.program(), "kernel", "schedules", str(file),
                         "--set", f"M={m},N={n},K={k}", "--most", "0", "--json")  # fmt: skip
    return [entry["schedule"] for entry in json.loads(listed)]


def sample(count, work):
    """(text, shape, schedule), equally many of every text."""
    texts = [Text(*kind) for kind in itertools.product(TYPES, LAYOUTS, EPILOGUES)]
    random.seed(1)
    picked = []
    for i, text in enumerate(texts):
        file = work / f"{text.name()}.fact"
        file.write_text(text.text)
        shape = SHAPES[i % len(SHAPES)]
        legal = schedules_of(file, shape)
        share = count // len(texts) + (i < count % len(texts))
        picked += [(text, shape, s) for s in random.sample(legal, min(share, len(legal)))]
    return picked


def build(text, schedule, work, number):
    folder = work / f"{number}"
    try:
        said = run.command(run.program(), "kernel", "build", str(work / f"{text.name()}.fact"),
                           "--schedule", schedule, "-o", str(folder))  # fmt: skip
    except RuntimeError as error:
        return {"outcome": "failed to build", "why": str(error)[-600:]}
    spilled = int(re.search(r"(\d+) bytes spilled", said)[1])
    outcome = "serialized" if "serialized" in said else "spills" if spilled else "sound"
    seconds = float(re.search(r"compiled in ([\d.]+) s", said)[1])
    return {"outcome": outcome, "spilled": spilled, "seconds": seconds, "folder": folder}


def launch(text, shape, folder):
    import fact

    operands = text.operands(*shape)
    exact = text.exact(*operands)
    result = fact.kernel(folder)(*operands).double()
    error = ((result - exact).abs().max() / exact.abs().max()).item()
    return error, error <= ALLOWED[text.kind]


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    count = int(sys.argv[2]) if len(sys.argv) == 3 else 336
    os.environ.setdefault("FACT_COMMAND", f"bench/schedules/legal.py OUT {count}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        picked = sample(count, work)
        started, jobs = time.time(), int(os.environ.get("FACT_JOBS", os.cpu_count()))
        with ThreadPoolExecutor(jobs) as pool:
            built = list(pool.map(lambda n: build(picked[n][0], picked[n][2], work, n), range(len(picked))))
        taken = time.time() - started
        for (text, shape, schedule), result in zip(picked, built):
            row = {"text": text.name(), "shape": "x".join(map(str, shape)), "schedule": schedule}
            kernel_folder = result.pop("folder", None)
            if kernel_folder is not None and torch.cuda.is_available():
                try:
                    row["error"], row["right"] = launch(text, shape, kernel_folder)
                except RuntimeError as error:
                    row["right"], row["why"] = False, str(error)[:600]
            rows.append(row | result)
    outcomes = Counter(row["outcome"] for row in rows)
    wrong = [row for row in rows if row.get("right") is False or row["outcome"] == "failed to build"]
    seconds = [row["seconds"] for row in rows if "seconds" in row]
    summary = {
        "candidates": len(rows),
        "outcomes": outcomes,
        "wrong": len(wrong),
        "launched": sum("right" in row for row in rows),
        "seconds_a_kernel": sum(seconds) / max(len(seconds), 1),
        "seconds_in_all": taken,
        "jobs": jobs,
    }
    collect.write(Path(sys.argv[1]) / "legal.json", {"summary": summary, "rows": rows})
    for row in wrong + [row for row in rows if row["outcome"] in ("spills", "serialized")]:
        print(row["text"], row["shape"], row["schedule"], row["outcome"], row.get("error", ""), row.get("why", ""))
    print(json.dumps(summary))
    unfit = outcomes["spills"] + outcomes["serialized"]
    return int(bool(wrong) or unfit > 0.01 * len(rows))


if __name__ == "__main__":
    sys.exit(main())
