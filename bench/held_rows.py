"""Rows that clusters hold, batch norms in both layouts, and pointwise convolutions, beside torch's own.

    python bench/held_rows.py RESULTS.json [NAME...]

Each kernel is a text of the language, built by `fact kernel build` for its sizes, compared with f64 and
timed one call at a time beside torch's call, the queue kept full. With NAMEs (instance_norm, pixels, ...)
only those are measured. Without a GPU everything is built and nothing is run.
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "python")]

import collect  # noqa: E402
import kernels  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

ALLOWED = {"pixels": 1e-3}  # of the largest value: TF32's; of others:
ALLOWED_F32 = 1e-5


def norm_text(dims, over):
    return f"""kernel norm(x: f32[{dims}], g: f32[C], b: f32[C]) -> (y: f32[{dims}]) {{
  d = x - mean(x, over: [{over}])
  r = rsqrt(mean(d * d, over: [{over}]) + 1e-05)
  y = relu(d * r * g + b)
}}
"""


ROWS = "kernel rows(x: f32[M, N]) -> (y: f32[M, N]) {{\n  y = {}\n}}\n"
PIXELS = """kernel pixels(x: f32[B, C, P], w: f32[F, C], b: f32[F]) -> (y: f32[B, F, P]) {
  acc = matmul(w, x, precision: tf32)
  y = relu(acc + b)
}
"""


def batch_norm(x, g, b):
    return F.relu(F.batch_norm(x, None, None, g, b, True))


def pixels(x, w, b):
    side = int(x.shape[2] ** 0.5)
    return F.relu(F.conv2d(x.view(*x.shape[:2], side, side), w[:, :, None, None], b)).flatten(2)


# By name: the text, its sizes, the shapes of its parameters, and torch's function.
KERNELS = {
    "instance_norm": (
        ROWS.format("layer_norm(x, over: N, eps: 1e-05)"),
        [{"M": 7168, "N": 262144}],
        ["MN"],
        lambda x: F.layer_norm(x, x.shape[1:]),
    ),
    "l1_norm": (
        ROWS.format("x / mean(abs(x), over: N)"),
        [{"M": 32768, "N": 65535}],
        ["MN"],
        lambda x: x / x.abs().mean(1, keepdim=True),
    ),
    "batch_norm": (
        norm_text("B, C, H, W", "B, H, W"),
        [{"B": 10, "C": c, "H": side, "W": side} for c, side in ((64, 112), (64, 56), (128, 28), (512, 14))],
        ["BCHW", "C", "C"],
        batch_norm,
    ),
    "batch_norm_channels_last": (
        norm_text("M, C", "M"),
        [{"M": m, "C": c} for m, c in ((6272, 64), (1568, 128), (392, 256), (31360, 64), (501760, 64))],
        ["MC", "C", "C"],
        batch_norm,
    ),
    "pixels": (
        PIXELS,
        [
            {"B": 10, "C": 480, "P": 224 * 224, "F": 96},
            {"B": 10, "C": 480, "P": 224 * 224, "F": 192},
            {"B": 128, "C": 32, "P": 256 * 256, "F": 64},
        ],
        ["BCP", "FC", "F"],
        pixels,
    ),
}


def built(name, text, sizes, folder):
    return kernels.build(text, folder / "_".join([name, *map(str, sizes.values())]), sizes)


def median_us(work, runs=11):
    for _ in range(2):
        work()
    times = []
    for _ in range(runs):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(200_000)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000)
    return sorted(times)[runs // 2]


def error(result, exact):
    """The largest error over the largest value, a slice at a time: f64 copies of all may not fit."""
    most = max(float(e.abs().max()) for e in exact)
    return max(float((r.double() - e).abs().max()) for r, e in zip(result, exact)) / most


def measured(name, place, sizes, shapes, function):
    import fact

    inputs = [torch.randn([sizes[d] for d in shape], device="cuda") for shape in shapes]
    if name == "pixels":
        inputs[1] /= sizes["C"] ** 0.5
    kernel = fact.kernel(place)
    result = kernel(*inputs)
    few = slice(0, 2) if name in ("instance_norm", "l1_norm", "pixels") else slice(None)
    exact = function(inputs[0][few].double(), *(x.double() for x in inputs[1:]))
    found = {"error": error(result[few], exact)}
    del result, exact
    torch.cuda.empty_cache()
    found |= {"us": median_us(lambda: kernel(*inputs)), "torch_us": median_us(lambda: function(*inputs))}
    if not found["error"] <= ALLOWED.get(name, ALLOWED_F32):
        sys.exit(f"{place.name}: the error is {found['error']:.2g}")
    return found


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    target, names = Path(sys.argv[1]), sys.argv[2:] or list(KERNELS)
    unknown = [name for name in names if name not in KERNELS]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(KERNELS)}")
    os.environ.setdefault("FACT_COMMAND", " ".join(["bench/held_rows.py RESULTS.json", *sys.argv[2:]]))
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            text, all_sizes, shapes, function = KERNELS[name]
            for sizes in all_sizes:
                place = built(name, text, sizes, Path(folder))
                if not torch.cuda.is_available():
                    print(f"{place.name}: built; there is no GPU to run it")
                    continue
                with torch.no_grad():
                    results[place.name] = measured(name, place, sizes, shapes, function)
                print(place.name, {k: float(f"{v:.4g}") for k, v in results[place.name].items()}, flush=True)
    if results:
        collect.write(target, {"kernels": results})


if __name__ == "__main__":
    main()
