"""Whole tiles beside stream-K, for products whose tiles do not fill the GPU's last wave.

    python bench/streamed.py RESULTS.json [WORD...]

Both with tiles of 128x256 by clusters of two and the same order; torch's own product beside them.
With words, only shapes whose line contains one of them are run.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import collect  # noqa: E402
import kernels  # noqa: E402
import shapes  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

MULTIPROCESSORS = 132
SHAPES = [  # rows, columns, depth
    (2048, 2816, 8192),
    (3840, 2560, 4096),
    (5120, 3584, 4096),
    (8192, 6144, 4096),
    (8192, 4096, 4096),
    (8192, 4096, 14336),
]
TEXT = """kernel linear(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {{
  acc = x @ w.T
  y = acc
}}
schedule linear.acc on sm90a {{
  tile 128x256x64  cluster 2x1  mainloop cooperative  scheduler {}(raster: m, swizzle: 8)
}}
"""
WAYS = {"whole": "persistent", "streamed": "streamk"}


def waves(shape):
    return -(-shape[0] // 128) * -(-shape[1] // 256) / MULTIPROCESSORS


def name_of(shape):
    return "{}x{}x{}".format(*shape) + f", {waves(shape):.2f} waves"


def compare(shape, built):
    import fact
    import fact._timing as timing

    m, n, k = shape
    x = torch.randn(m, k, device="cuda").to(torch.bfloat16)
    w = (torch.randn(n, k, device="cuda") / k**0.5).to(torch.bfloat16)
    calls = {name: (lambda f=fact.kernel(folder): f(x, w)) for name, folder in built.items()}
    calls["torch"] = lambda: F.linear(x, w)
    exact = x.double() @ w.double().T
    row = {"shape": name_of(shape)}
    row["errors"] = {
        name: ((call().double() - exact).abs().max() / exact.abs().max()).item()
        for name, call in calls.items()
    }
    row["single"] = dict(zip(calls, timing.single(list(calls.values()), 300_000.0)))
    graphs = [timing.repeatable(call).work for call in calls.values()]
    row["sustained"] = dict(zip(calls, timing.sustained(graphs)))
    return row


def build(folder, shape):
    stem = Path(folder) / "x".join(map(str, shape))
    sizes = dict(zip("MNK", shape))
    return {
        way: kernels.build(TEXT.format(scheduler), f"{stem}-{way}", sizes)
        for way, scheduler in WAYS.items()
    }


def wrong(_, row):
    return not row["errors"]["streamed"] <= 2 * row["errors"]["torch"]


HEADER = ["shape", *WAYS, "torch", "over whole", "sustained", "error", "torch's"]


def line(row):
    us = [f"{row['single'][name]['median_us']:.1f}" for name in (*WAYS, "torch")]
    over = [collect.ratio(row[kind]["streamed"], row[kind]["whole"]) for kind in ("single", "sustained")]
    return [row["shape"], *us, *over, *(f"{row['errors'][name]:.1e}" for name in ("streamed", "torch"))]


def main():
    return shapes.run(__doc__, SHAPES, build, compare, line, wrong, HEADER, name_of)


if __name__ == "__main__":
    sys.exit(main())
