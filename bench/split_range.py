"""What two f16 parts of f32 operands lose beside one very large number that meets only zeros.

    python bench/split_range.py RESULTS.json

A model of kernels/sm90/single_numbers.cuh on the CPU: the scales and parts are those of the kernel, the
three products are summed in f64, so that only what splitting loses is seen. It needs no GPU.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import collect  # noqa: E402
import torch  # noqa: E402

M, N, K, BLOCK = 64, 64, 1024, 32


def parts(x, depth):
    """The large and the small part of every number, scaled by row and `depth` numbers along K."""
    blocks = x.view(x.shape[0], -1, depth)
    _, exponent = torch.frexp(blocks.abs().amax(-1, keepdim=True))  # most < 2^exponent
    scale = 2.0 ** (15 - exponent).double()
    scaled = blocks.double() * scale
    large = scaled.half().double()
    small = (scaled - large).half().double()
    return [(part / scale).view_as(x) for part in (large, small)]


def errors(x, w):
    """Of the split product and of f32's own, over the largest result."""
    exact = x.double() @ w.double().T
    (x_large, x_small), (w_large, w_small) = parts(x, BLOCK), parts(w, K)
    split = x_small @ w_large.T + x_large @ w_small.T + x_large @ w_large.T
    largest = exact.abs().max()
    return [((y - exact).abs().max() / largest).item() for y in (split, (x @ w.T).double())]


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    os.environ.setdefault("FACT_COMMAND", "bench/split_range.py RESULTS.json")
    torch.manual_seed(1)
    rows = []
    for operand, power in [("none", 0)] + [(o, p) for o in ("first", "second") for p in (4, 6, 8, 10)]:
        x, w = torch.randn(M, K), torch.randn(N, K)
        if operand != "none":
            large, other = (x, w) if operand == "first" else (w, x)
            large[:, 5], other[:, 5] = 10.0**power, 0
        split, single = errors(x, w)
        rows.append({"large_in": operand, "power_of_ten": power, "split": split, "f32": single})
    collect.write(Path(sys.argv[1]), {"shape": f"{M}x{N}x{K}", "rows": rows})
    lines = [["large number in", "10^", "split", "f32"]]
    lines += [[r["large_in"], str(r["power_of_ten"]), f"{r['split']:.1e}", f"{r['f32']:.1e}"] for r in rows]
    collect.print_table(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
