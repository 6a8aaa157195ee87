"""The attention of sm80 (mma.sync, no TMA), compiled for the GPU that is here.

    python bench/attention_sm80.py RESULTS.json [WORD...]

Every shape is written as a kernel text, built by `fact kernel build --no-tma`, called on strided views
and compared with f64; beside it the error and the time of torch's own attention. With words, only
shapes whose line contains one of them are run.
"""

import math
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kernels  # noqa: E402
import shapes  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


@dataclass(frozen=True)
class Shape:
    batch: int
    heads: int
    shared: int  # heads of k and v
    rows: int
    columns: int
    depth: int  # features of q and k
    width: int  # features of v
    mask: str = "none"
    dtype: str = "bf16"

    def __str__(self):
        heads = f"{self.heads}" if self.heads == self.shared else f"{self.heads}/{self.shared}"
        length = f"{self.rows}" if self.rows == self.columns else f"{self.rows}x{self.columns}"
        features = f"{self.depth}" if self.depth == self.width else f"{self.depth}x{self.width}"
        return f"B{self.batch} H{heads} T{length} D{features} {self.mask} {self.dtype}"


SHAPES = [
    *(
        Shape(4, 16, 16, 2048, 2048, d, d, mask)
        for d in (32, 64, 80, 96, 128)
        for mask in ("none", "causal")
    ),
    Shape(4, 8, 8, 2048, 2048, 256, 256, "none"),
    Shape(4, 8, 8, 2048, 2048, 256, 256, "causal"),
    Shape(4, 32, 8, 2048, 2048, 128, 128, "causal", "f16"),
    Shape(2, 32, 8, 1000, 1000, 128, 128, "causal"),
    Shape(64, 12, 12, 197, 197, 64, 64, "none", "f16"),
    Shape(2, 16, 16, 1000, 1000, 80, 80, "causal", "f16"),
    Shape(4, 16, 16, 512, 1536, 128, 128, "none"),
    Shape(4, 16, 16, 1536, 512, 64, 64, "causal"),
    Shape(32, 16, 16, 1, 1000, 128, 128, "none"),
    Shape(2, 8, 8, 197, 1000, 192, 128, "none"),
    Shape(2, 8, 8, 197, 197, 40, 72, "causal"),
    Shape(32, 12, 12, 512, 512, 64, 64, "keys"),
    Shape(4, 16, 4, 197, 1000, 128, 128, "keys", "f16"),
    Shape(8, 16, 16, 1024, 1024, 64, 64, "added"),
    Shape(4, 16, 16, 1000, 1000, 128, 128, "added", "f16"),
    Shape(2, 8, 8, 1000, 1000, 256, 256, "added"),
    Shape(4, 16, 16, 2048, 2048, 96, 96, "window"),
]

# How each mask is written: more parameters, and what attention is given.
MASKS = {
    "none": ("", "mask: none"),
    "causal": ("", "mask: causal"),
    "keys": (", m: bool[B, N]", "bias: where(m, 0.0, -inf), unseen: zero"),
    "added": (", b: {t}[G, R, M, N]", "bias: b"),
    "window": ("", "mask: causal, window: 256"),
}

TEXT = """kernel attend(q: {t}[B, M, G, R, {d}], k: {t}[B, N, G, {d}], v: {t}[B, N, G, {e}]{more})
    -> (y: {t}[B, M, G, R, {e}]) {{
  o = attention(q.permute(B, G, R, M, {d}), k.permute(B, G, N, {d}), v.permute(B, G, N, {e}), {mask},
                scale: {scale})
  y = o.permute(B, M, G, R, {e})
}}
"""


def build(folder, shape):
    more, how = MASKS[shape.mask]
    text = TEXT.format(
        t=shape.dtype,
        d=shape.depth,
        e=shape.width,
        more=more.format(t=shape.dtype),
        mask=how,
        scale=shape.depth**-0.5,
    )
    sizes = {
        "B": shape.batch,
        "M": shape.rows,
        "N": shape.columns,
        "G": shape.shared,
        "R": shape.heads // shape.shared,
    }
    name = str(shape).replace(" ", "_").replace("/", "_")
    built = kernels.build(text, Path(folder) / name, sizes, "--no-tma")
    if "sm80/attention.cuh" not in (built / "kernel.cu").read_text():
        raise SystemExit(f"{shape}: the emitted kernel does not use the attention of sm80")
    return built


def operands(shape):
    """q [B, M, H, D], k [B, N, G, D] and v [B, N, G, E], each a view of something wider."""

    def heads(rows, count, features):
        wide = torch.randn(
            shape.batch, rows, count, features + 64, device="cuda", dtype=TYPES[shape.dtype]
        )
        return wide[..., :features]

    return (
        heads(shape.rows, shape.heads, shape.depth),
        heads(shape.columns, shape.shared, shape.depth),
        heads(shape.columns, shape.shared, shape.width),
    )


def mask_of(shape):
    """The kernel's further arguments, and torch's attn_mask."""
    b, m, n = shape.batch, shape.rows, shape.columns
    if shape.mask == "keys":  # the first element of the batch sees nothing at all
        seen = torch.arange(n, device="cuda") < torch.linspace(0, 0.7 * n, b, device="cuda")[:, None]
        return [seen], seen[:, None, None]
    if shape.mask == "added":
        added = torch.randn(shape.heads, m, n, device="cuda", dtype=TYPES[shape.dtype])
        return [added.unflatten(0, (shape.shared, -1))], added[None].expand(b, -1, -1, -1)
    if shape.mask == "window":
        distance = torch.arange(m, device="cuda")[:, None] - torch.arange(n, device="cuda")
        return [], (distance >= 0) & (distance < 256)
    return [], None


def exact(shape, q, k, v, attn_mask, b):
    """Attention of element `b` of the batch in f64, and whether its rows see anything: [H, M, E],
    [H, M]."""
    q, k, v = (x[b].transpose(0, 1).double() for x in (q, k, v))
    repeats = shape.heads // shape.shared
    scores = q @ k.repeat_interleave(repeats, 0).transpose(1, 2) * shape.depth**-0.5
    if attn_mask is not None:
        own = attn_mask if attn_mask.dim() == 2 else attn_mask[b]
        scores = scores.masked_fill(~own, -math.inf) if own.dtype == torch.bool else scores + own.double()
    if shape.mask == "causal":
        later = torch.ones(shape.rows, shape.columns, dtype=torch.bool, device="cuda").triu(1)
        scores = scores.masked_fill(later, -math.inf)
    seen = scores.amax(-1) > -math.inf
    weights = scores.softmax(-1).masked_fill(~seen[..., None], 0.0)
    return weights @ v.repeat_interleave(repeats, 0), seen


def errors_of(shape, results, q, k, v, attn_mask):
    """Largest error of each result over the largest value, on the first and the last of the batch."""
    errors = dict.fromkeys(results, 0.0)
    for b in {0, shape.batch - 1}:
        want, seen = exact(shape, q, k, v, attn_mask, b)
        size = want.abs().max().clamp(min=1e-30)
        for name, result in results.items():
            off = (result[b].double() - want).abs()
            if name != "fact":  # torch gives other results for rows that see nothing
                off = off[seen]
            worst = (off.max() / size).item() if off.numel() else 0.0
            errors[name] = max(errors[name], worst) if worst == worst else math.inf
    return errors


def compare(shape, built):
    import fact
    import fact._timing as timing

    kernel = fact.kernel(built)
    q, k, v = operands(shape)
    more, attn_mask = mask_of(shape)
    heads = [x.transpose(1, 2) for x in (q, k, v)]
    grouped_q = q.unflatten(2, (shape.shared, -1))
    backends = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]

    def torch_call():  # the first of its kernels that takes the shape
        with sdpa_kernel(backends, set_priority=True):
            return F.scaled_dot_product_attention(
                *heads,
                attn_mask,
                is_causal=shape.mask == "causal",
                enable_gqa=shape.heads != shape.shared,
            )

    works = {"fact": lambda: kernel(grouped_q, k, v, *more), "torch": torch_call}
    results = {"fact": works["fact"]().flatten(2, 3).transpose(1, 2), "torch": torch_call()}
    pairs = shape.rows * shape.columns
    if shape.mask == "causal":
        square = min(shape.rows, shape.columns)
        pairs = square * (square + 1) // 2 + (shape.rows - square) * shape.columns
    flops = 2 * shape.batch * shape.heads * pairs * (shape.depth + shape.width)
    row = {
        "shape": str(shape),
        "flops": flops,
        "errors": errors_of(shape, results, q, k, v, attn_mask),
    }
    del results
    row["single"] = dict(zip(works, timing.single(list(works.values()), 200_000.0)))
    return row


HEADER = ["shape", "fact us", "TFLOP/s", "torch us", "over torch", "error", "torch's"]


def line(row):
    mine, theirs = row["single"]["fact"], row["single"]["torch"]
    return [
        row["shape"],
        f"{mine['median_us']:.1f} ({mine['low_us']:.1f}..{mine['high_us']:.1f})",
        f"{row['flops'] / mine['median_us'] / 1e6:.0f}",
        f"{theirs['median_us']:.1f}",
        f"{theirs['median_us'] / mine['median_us']:.2f}x",
        f"{row['errors']['fact']:.1e}",
        f"{row['errors']['torch']:.1e}",
    ]


def wrong(shape, row):
    floor = 2**-8 if shape.dtype == "bf16" else 2**-11  # a rounding of the result is always allowed
    return not row["errors"]["fact"] <= max(2 * row["errors"]["torch"], floor)


def main():
    return shapes.run(__doc__, SHAPES, build, compare, line, wrong, HEADER)


if __name__ == "__main__":
    sys.exit(main())
