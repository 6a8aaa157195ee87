"""A norm folded into the product after it, beside the norm as a kernel of its own.

    python bench/folded.py RESULTS.json [WORD...]

Four ways to the same result: the norm's row kernel and the product after it ("apart"); a row kernel
that computes only the rows' mean and deviation, and the product with a weight that is multiplied by
the norm's weight ("before"); the same as one text ("folded": where tiles are large and deep, the
product's kernel computes mean and deviation itself); and torch's norm and linear. Each of ours runs
with the fastest of three schedules. With words, only shapes whose line contains one of them are
run.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kernels  # noqa: E402
import shapes  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

EPS = 1e-5
SHAPES = [  # norm, rows, columns, depth, what follows
    ("layer", 65536, 2304, 768, "bias"),
    ("layer", 65536, 3072, 768, "gelu"),
    ("layer", 8192, 2304, 768, "bias"),
    ("layer", 8192, 3072, 768, "gelu"),
    ("rms", 8192, 4096, 4096, "none"),
    ("rms", 2048, 6144, 4096, "none"),
    ("rms", 8192, 14336, 4096, "gate"),
    ("rms", 2048, 14336, 4096, "gate"),
    ("rms", 8191, 4096, 2048, "none"),
    ("layer", 8185, 4096, 4096, "gelu"),
]
SCHEDULES = [
    "tile 128x128x64  cluster 2x1  mainloop pingpong",
    "tile 128x256x64  cluster 2x1  mainloop cooperative",
    "tile 256x128x64  cluster 1x2  mainloop cooperative",
]
# The epilogue over {0}, and {1} where there are two products.
FOLLOWS = {
    "none": "{0}",
    "bias": "{0} + bias",
    "gelu": "gelu_tanh({0} + bias)",
    "gate": "silu({0}) * ({1})",
}


def name_of(shape):
    norm, m, n, k, follows = shape
    return f"{norm} norm, {m}x{n}x{k}, {follows}"


def texts(shape):
    """The row kernel, the product after it; the rows' statistics, the product that reads them, and
    both of these in one."""
    norm, _, _, _, follows = shape
    gate = follows == "gate"
    weights = "w: bf16[N, K]" + (", u: bf16[N, K]" if gate else "")
    bias = ", bias: bf16[N]" if follows in ("bias", "gelu") else ""
    end = FOLLOWS[follows]
    if norm == "layer":
        rows = "kernel rows(x: bf16[M, K], g: bf16[K], b: bf16[K]) -> (y: bf16[M, K]) {\n  y = layer_norm(x, over: K) * g + b\n}\n"
        sums, found = ", c: f32[N], d: f32[N]", ["m", "r"]
        statistics = "  m = mean(x, over: K)\n  f = x - m\n  r = rsqrt(mean(f * f, over: K) + 1e-5)\n"
        fold = "(acc - m.expand(M, N) * c) * r + d"
    else:
        rows = "kernel rows(x: bf16[M, K], g: bf16[K]) -> (y: bf16[M, K]) {\n  y = bf16(rms_norm(x, over: K, eps: 1e-5)) * g\n}\n"
        sums, found, statistics, fold = "", ["r"], "  r = rsqrt(mean(x * x, over: K) + 1e-5)\n", "acc * r"
    products = "  acc = x @ w.T\n" + ("  other = x @ u.T\n" if gate else "")
    listed = ", ".join(f"{name}: f32[M]" for name in found)
    head = f"x: bf16[M, K], {weights}{sums}{bias}"
    last = f"  y = {end.format(fold, 'other * r')}\n}}\n"
    return {
        "rows": rows,
        "plain": f"kernel plain(x: bf16[M, K], {weights}{bias}) -> (y: bf16[M, N]) {{\n{products}  y = {end.format('acc', 'other')}\n}}\n",
        "statistics": f"kernel statistics(x: bf16[M, K]) -> ({listed}) {{\n{statistics}}}\n",
        "reading": f"kernel reading({head}, {listed}) -> (y: bf16[M, N]) {{\n{products}{last}",
        "folded": f"kernel folded({head}) -> (y: bf16[M, N]) {{\n{products}{statistics}{last}",
    }


def operands(shape):
    norm, m, n, k, follows = shape
    draw = lambda *size: torch.randn(*size, device="cuda").to(torch.bfloat16)  # noqa: E731
    tensors = {"x": draw(m, k) * 2 + 0.5, "w": draw(n, k) / k**0.5, "g": draw(k)}
    if norm == "layer":
        tensors["b"] = draw(k)
    if follows == "gate":
        tensors["u"] = draw(n, k) / k**0.5
    elif follows != "none":
        tensors["bias"] = draw(n)
    return tensors


def finish(follows, y, tensors, u=None):
    if follows == "gate":
        return F.silu(y) * u
    if follows == "none":
        return y
    y = y + tensors["bias"]
    return F.gelu(y, approximate="tanh") if follows == "gelu" else y


def torch_call(shape, tensors):
    norm, _, _, k, follows = shape

    def work():
        if norm == "layer":
            h = F.layer_norm(tensors["x"], (k,), tensors["g"], tensors["b"], EPS)
        else:
            h = F.rms_norm(tensors["x"], (k,), tensors["g"], EPS)
        if follows == "gate":
            return F.silu(F.linear(h, tensors["w"])) * F.linear(h, tensors["u"])
        y = F.linear(h, tensors["w"], tensors.get("bias"))
        return F.gelu(y, approximate="tanh") if follows == "gelu" else y

    return work


def folded_operands(shape, tensors):
    """The folded kernel's arguments: x, the weights times the norm's, and their sums."""
    scaled = {
        name: (tensors[name].float() * tensors["g"].float()).to(torch.bfloat16)
        for name in ("w", "u")
        if name in tensors
    }
    all_ = [tensors["x"], *scaled.values()]
    if shape[0] == "layer":
        all_ += [scaled["w"].float().sum(1), tensors["w"].float() @ tensors["b"].float()]
    return all_ + ([tensors["bias"]] if "bias" in tensors else [])


def fastest(calls, timing):
    times = timing.single(calls, 150_000.0)
    return calls[min(range(len(calls)), key=lambda i: times[i]["median_us"])]


def compare(shape, built):
    import fact
    import fact._timing as timing

    tensors = operands(shape)
    rows, statistics = fact.kernel(built["rows"]), fact.kernel(built["statistics"])
    weights = [tensors[name] for name in ("w", "u", "bias") if name in tensors]
    norms = [tensors[name] for name in ("g", "b") if name in tensors]
    inputs = folded_operands(shape, tensors)

    def row_statistics():
        values = statistics(tensors["x"])
        return values if isinstance(values, (list, tuple)) else [values]

    ways = {
        "plain": lambda p: p(tensors["x"], *weights),
        "apart": lambda p: p(rows(tensors["x"], *norms), *weights),
        "before": lambda p: p(*inputs, *row_statistics()),
        "folded": lambda p: p(*inputs),
    }
    product = {"plain": "plain", "apart": "plain", "before": "reading", "folded": "folded"}
    best = {}
    for name, way in ways.items():
        calls = [lambda p=fact.kernel(b), way=way: way(p) for b in built[product[name]]]
        best[name] = fastest(calls, timing)
    best["torch"] = torch_call(shape, tensors)
    # The last 256 rows are compared with f64.
    wide = {
        name: t.double() if t.dim() < 2 or name != "x" else t[-256:].double()
        for name, t in tensors.items()
    }
    exact = torch_call(shape, wide)()
    row = {"shape": name_of(shape), "errors": {}}
    for name in ("apart", "before", "folded", "torch"):
        off = best[name]()[-256:].double() - exact
        row["errors"][name] = [(off.abs().max() / exact.abs().max()).item(), (off.norm() / exact.norm()).item()]
    row["single"] = dict(zip(best, timing.single(list(best.values()), 500_000.0)))
    calls = [timing.repeatable(call).work for call in best.values()]
    row["sustained"] = dict(zip(best, timing.sustained(calls)))
    return row


def build(folder, shape):
    sizes = dict(zip("MNK", shape[1:4]))
    stem = Path(folder) / name_of(shape).replace(" ", "").replace(",", "-")
    built = {}
    for name, text in texts(shape).items():
        if name in ("rows", "statistics"):
            built[name] = kernels.build(text, f"{stem}-{name}", {d: sizes[d] for d in "MK"})
            continue
        scheduled = [f"{text}schedule {name}.acc on sm90a {{\n  {s}\n}}\n" for s in SCHEDULES]
        built[name] = [kernels.build(t, f"{stem}-{name}{i}", sizes) for i, t in enumerate(scheduled)]
    return built


def wrong(_, row):
    return not all(a <= 2 * b for a, b in zip(row["errors"]["folded"], row["errors"]["torch"]))


HEADER = ["shape", "product alone", "apart", "before", "folded", "torch", "over apart", "sustained", "error", "torch's"]


def line(row):
    single, sustained, errors = row["single"], row["sustained"], row["errors"]
    us = [f"{single[name]['median_us']:.1f}" for name in ("plain", "apart", "before", "folded", "torch")]
    over = [f"{t['apart']['median_us'] / t['folded']['median_us']:.3f}x" for t in (single, sustained)]
    return [row["shape"], *us, *over, *(f"{errors[n][0]:.1e}" for n in ("folded", "torch"))]


def main():
    return shapes.run(__doc__, SHAPES, build, compare, line, wrong, HEADER, name_of)


if __name__ == "__main__":
    sys.exit(main())
