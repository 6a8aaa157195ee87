"""What fp32 kernels lose beside one very large number that meets only zeros.

    python bench/split_range.py RESULTS.json

An fp32 product, once as accurate as fp32 and once in TF32's precision, is built by `fact kernel
build` with the first legal schedule, run on this GPU, and compared with torch's own product and
with f64. The kernels multiply f16 numbers, which do not have fp32's range: the table says from
which size of the large number on that shows.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import collect  # noqa: E402
import kernels  # noqa: E402
import torch  # noqa: E402

M, N, K = 256, 256, 1024
TEXT = """kernel product(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N]) {{
  y = matmul(x, w.T, precision: {precision})
}}
"""
POWERS = (4, 6, 8, 9, 10, 12)


def errors(kernel, x, w):
    """Of the kernel and of torch's own product, over the largest result."""
    exact = x.double() @ w.double().T
    largest = exact.abs().max()
    return [((y.double() - exact).abs().max() / largest).item() for y in (kernel(x, w), x @ w.T)]


def measured(precision):
    """A row for each place and size of the large number; torch computes in the same precision."""
    import fact

    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    text = TEXT.format(precision=precision)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        kernel = fact.kernel(kernels.build(text, Path(folder) / "product", {"M": M, "N": N, "K": K}))
        for operand, power in [("none", 0)] + [(o, p) for o in ("first", "second") for p in POWERS]:
            x, w = torch.randn(M, K, device="cuda"), torch.randn(N, K, device="cuda")
            if operand != "none":
                large, other = (x, w) if operand == "first" else (w, x)
                large[:, 5], other[:, 5] = 10.0**power, 0
            ours, torchs = errors(kernel, x, w)
            rows.append(
                {
                    "precision": precision,
                    "large_in": operand,
                    "power_of_ten": power,
                    "fact": ours,
                    "torch": torchs,
                }
            )
    return rows


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("bench/split_range.py needs a GPU", file=sys.stderr)
        return 1
    os.environ.setdefault("FACT_COMMAND", "bench/split_range.py RESULTS.json")
    torch.manual_seed(1)
    rows = []
    for precision in ("exact", "tf32"):
        rows += measured(precision)
    collect.write(Path(sys.argv[1]), {"shape": f"{M}x{N}x{K}", "rows": rows})
    lines = [["precision", "large number in", "10^", "fact", "torch"]]
    lines += [
        [r["precision"], r["large_in"], str(r["power_of_ten"]), f"{r['fact']:.1e}", f"{r['torch']:.1e}"]
        for r in rows
    ]
    collect.print_table(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
