"""Attention kernels beside cuDNN's, torch's flash attention and, of windows, its flex attention, in the
same process.

    python bench/attention.py RESULTS.json [WORD...]

Every shape is written as a kernel text, built by `fact kernel build` and called on strided views, as
a model's projections give them. With words, only shapes whose line contains one of them are run.
"""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kernels  # noqa: E402
import shapes  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

# Batch, heads, heads of k and v, rows, columns, features, mask; q, k and v packed in one tensor or
# apart.
SHAPES = [
    (128, 8, 8, 512, 512, 96, "causal", "packed"),
    (128, 12, 12, 512, 512, 64, "causal", "packed"),
    (4, 32, 8, 2048, 2048, 128, "causal", "apart"),
    (1, 32, 8, 2048, 2048, 128, "causal", "apart"),
    (1, 32, 8, 8192, 8192, 128, "causal", "apart"),
    (8, 16, 16, 2048, 2048, 64, "causal", "packed"),
    (8, 16, 16, 2048, 2048, 64, "none", "packed"),
    (4, 16, 16, 2048, 2048, 96, "none", "packed"),
    (4, 16, 16, 2048, 2048, 128, "none", "packed"),
    (16, 16, 16, 512, 512, 128, "none", "packed"),
    (64, 12, 12, 197, 197, 64, "none", "packed"),
    (2, 16, 16, 1000, 1000, 64, "causal", "packed"),
    (2, 32, 8, 1000, 1000, 128, "causal", "apart"),
    (4, 16, 16, 512, 1536, 128, "none", "apart"),
    (4, 8, 8, 2048, 2048, 256, "causal", "packed"),
    (4, 8, 8, 2048, 2048, 256, "none", "packed"),
    (32, 12, 12, 512, 512, 64, "keys", "packed"),
    (8, 16, 16, 1024, 1024, 64, "added", "packed"),
    (4, 16, 16, 1000, 1000, 128, "added", "packed"),
    (4, 16, 16, 2048, 2048, 96, "window 256", "packed"),
    (1, 32, 8, 8192, 8192, 128, "window 4096", "apart"),
    (1, 32, 8, 16384, 16384, 128, "window 4096", "apart"),
    (2, 8, 4, 4096, 4096, 256, "window 1024", "apart"),
    (4, 12, 12, 4096, 4096, 64, "around 256", "packed"),
    (4, 32, 8, 2048, 2048, 128, "logged", "apart"),
    (32, 12, 12, 512, 512, 64, "joined", "packed"),
    (32, 12, 12, 512, 512, 64, "across", "packed"),
]

# How each mask is written: more parameters, and what attention is given.
MASKS = {
    "none": ("", "mask: none"),
    "causal": ("", "mask: causal"),
    "logged": ("", "mask: causal"),  # the kernel also writes the logarithms of its rows' sums
    "keys": (", m: bool[B, N]", "bias: where(m, 0.0, -inf), unseen: zero"),
    "added": (", b: bf16[G, R, M, N]", "bias: b"),
    "joined": (
        ", b: bf16[G, R, M, N], m: bool[B, N]",
        "bias: where(m, b.expand(B, G, R, M, N), -inf)",
    ),
    "across": (  # the bias with its heads last, as a lookup by distance gives it
        ", b: bf16[M, N, G, R], m: bool[B, N]",
        "bias: where(m, b.permute(G, R, M, N).expand(B, G, R, M, N), -inf)",
    ),
    "window": ("", "mask: causal, window: {}"),
    "around": ("", "window: {}"),  # on both sides
}

TEXT = """kernel attend(q: bf16[B, M, G, R, {d}], k: bf16[B, N, G, {d}], v: bf16[B, N, G, {d}]{more})
    -> (y: bf16[B, M, G, R, {d}]{type}) {{
  o = attention(q.permute(B, G, R, M, {d}), k.permute(B, G, N, {d}), v.permute(B, G, N, {d}), {mask})
  y = o.permute(B, M, G, R, {d}){sums}
}}
"""
# Of a kernel that writes the logarithms of its sums: the output, and its line.
LOGGED = {"type": ", l: f32[B, G, R, M]", "sums": "\n  l = scores_logsumexp(o)"}


def name_of(shape):
    b, h, kv, m, n, d, mask, layout = shape
    heads = f"{h}" if h == kv else f"{h}/{kv}"
    length = f"{m}" if m == n else f"{m}x{n}"
    return f"B{b} H{heads} T{length} D{d} {mask} {layout}"


def build(folder, shape):
    b, h, kv, m, n, d, mask, _ = shape
    word, _, width = mask.partition(" ")
    more, how = MASKS[word]
    text = TEXT.format(d=d, more=more, mask=how.format(width), **(LOGGED if word == "logged" else {"type": "", "sums": ""}))
    name = name_of(shape).replace(" ", "_").replace("/", "_")
    sizes = {"B": b, "M": m, "N": n, "G": kv, "R": h // kv}
    return kernels.build(text, Path(folder) / name, sizes)


def operands(shape):
    """q [B, M, G, R, D], k and v [B, N, G, D]."""
    b, h, kv, m, n, d, _, layout = shape
    options = {"device": "cuda", "dtype": torch.bfloat16}
    if layout == "packed":
        packed = torch.randn(b, m, 3, h, d, **options)
        q, k, v = packed.unbind(2)
    else:
        q = torch.randn(b, m, h, d, **options)
        k, v = (torch.randn(b, n, kv, d, **options) for _ in range(2))
    return q.unflatten(2, (kv, h // kv)), k, v


def mask_of(shape):
    """The kernel's further arguments, and torch's attn_mask."""
    b, h, kv, m, n, _, mask, _ = shape
    if mask == "keys":  # the first element of the batch sees nothing at all
        seen = torch.arange(n, device="cuda") < torch.linspace(0, 0.7 * n, b, device="cuda")[:, None]
        return [seen], seen[:, None, None]
    if mask == "added":
        added = torch.randn(kv, h // kv, m, n, device="cuda", dtype=torch.bfloat16)
        return [added], added.flatten(0, 1)[None].expand(b, -1, -1, -1)
    if mask in ("joined", "across"):  # torch is given the two as one tensor
        added = torch.randn(kv, h // kv, m, n, device="cuda", dtype=torch.bfloat16)
        seen = torch.arange(n, device="cuda") < torch.linspace(0.5 * n, n, b, device="cuda")[:, None]
        joined = added.flatten(0, 1)[None].masked_fill(~seen[:, None, None], -math.inf)
        across = added.permute(2, 3, 0, 1).contiguous()
        return [across if mask == "across" else added, seen], joined
    if is_window(shape):
        row, column = torch.arange(m, device="cuda")[:, None], torch.arange(n, device="cuda")
        return [], seen_in_window(mask)(0, 0, row, column)
    return [], None


def is_causal(shape):
    return shape[6] in ("causal", "logged")


def log_sums_error(q, k, sums):
    """The largest error of the logarithms of a causal attention's sums, in the last element of the
    batch."""
    q, k = (x[-1].double() for x in (q, k))
    scores = q @ k.repeat_interleave(q.shape[0] // k.shape[0], 0).mT * q.shape[-1] ** -0.5
    hidden = torch.ones_like(scores[0], dtype=torch.bool).triu(1)
    exact = scores.masked_fill(hidden, -math.inf).logsumexp(-1)
    return (sums[-1].flatten(0, 1)[: len(exact)].double() - exact).abs().max().item()


def is_window(shape):
    return " " in shape[6]


def seen_in_window(mask):
    """The window as a function of batch, head, row and column, as flex attention takes it."""
    word, width = mask.split()
    width = int(width)
    if word == "window":
        return lambda b, h, row, column: (column <= row) & (column > row - width)
    return lambda b, h, row, column: (column < row + width) & (column > row - width)


def flex_call(shape, heads):
    """Torch's flex attention, which skips blocks that nobody sees; None where it cannot be compiled."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    _, h, kv, m, n, _, mask, _ = shape
    blocks = create_block_mask(seen_in_window(mask), None, None, m, n, device="cuda", _compile=True)
    compiled = torch.compile(flex_attention)

    def call():
        return compiled(*heads, block_mask=blocks, enable_gqa=h != kv)

    try:
        call()
    except Exception as reason:  # for example without Triton
        print(f"flex attention: {type(reason).__name__}", file=sys.stderr)
        return None
    return call


def flops_of(shape, attn_mask):
    b, h, _, m, n, d, _, _ = shape
    seen = attn_mask.sum().item() if is_window(shape) else m * n / (2 if is_causal(shape) else 1)
    return 4 * b * h * seen * d


def compare(shape, built):
    import fact
    import fact._timing as timing

    kernel = fact.kernel(built)
    b, h, kv, m, n, d, mask, _ = shape
    q, k, v = operands(shape)
    more, attn_mask = mask_of(shape)
    heads = [x.transpose(1, 2) for x in (q.flatten(2, 3), k, v)]
    causal, grouped = is_causal(shape), h != kv

    def torch_call(backend, inputs=heads, seen=attn_mask):
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(
                *inputs, seen, is_causal=causal, enable_gqa=inputs[0].shape[1] != inputs[1].shape[1]
            )

    # Torch's memory-efficient attention takes as many heads of keys as of queries.
    repeated = heads
    if grouped and attn_mask is not None:
        repeated = [heads[0], *(x.repeat_interleave(h // kv, dim=1) for x in heads[1:])]
    works = {
        "fact": lambda: kernel(q, k, v, *more),
        "cudnn": lambda: torch_call(SDPBackend.CUDNN_ATTENTION),
        # Flash attention takes no masks: with one, this is the attention that torch itself would
        # choose.
        "flash": lambda: torch_call(
            SDPBackend.FLASH_ATTENTION if attn_mask is None else SDPBackend.EFFICIENT_ATTENTION,
            repeated,
        ),
    }
    if is_window(shape) and (flex := flex_call(shape, heads)):
        works["flex"] = flex
    results = {name: work() for name, work in works.items()}
    log_sums = None
    if mask == "logged":
        results["fact"], log_sums = results["fact"]
    results["fact"] = results["fact"].flatten(2, 3).transpose(1, 2)
    # The exact result is computed of the last element of the batch and a quarter of the heads.
    sample = [x[-1:, : max(1, count // 4)].double() for x, count in zip(heads, (h, kv, kv))]
    seen = attn_mask
    if seen is not None and seen.dim() == 4:
        seen = seen[-1:, : max(1, h // 4)] if seen.shape[1] > 1 else seen[-1:]
    if seen is not None and seen.is_floating_point():
        seen = seen.double()
    exact = torch_call(SDPBackend.MATH, sample, seen)
    row = {"shape": name_of(shape), "flops": flops_of(shape, attn_mask), "errors": {}}
    for name, result in results.items():
        off = result[-1:, : exact.shape[1]].double() - exact
        row["errors"][name] = (off.norm() / exact.norm().clamp(min=1e-30)).item()
        if name == "fact" and not bool(result.isfinite().all()):
            row["errors"][name] = math.inf
    if log_sums is not None:
        row["errors"]["logsumexp"] = log_sums_error(*sample[:2], log_sums)
    del results
    for kind in ("single", "sustained"):
        calls = list(works.values())
        if kind == "sustained":
            calls = [timing.repeatable(call).work for call in calls]
            times = timing.sustained(calls)
        else:
            times = timing.single(calls, 400_000.0)
        row[kind] = dict(zip(works, times))
    return row


def ratio(row, kind, name):
    return row[kind][name]["median_us"] / row[kind]["fact"]["median_us"]


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def wrong(_, row):
    errors = row["errors"]
    off = not errors["fact"] <= 1.5 * max(errors["cudnn"], errors["flash"])
    return off or not errors.get("logsumexp", 0) <= 1e-3


HEADER = ["shape", "fact us", "TFLOP/s", "over cuDNN", "sustained", "over flash", "over flex", "error", "cuDNN's"]


def line(row):
    mine, errors = row["single"]["fact"], row["errors"]
    return [
        row["shape"],
        f"{mine['median_us']:.1f} ({mine['low_us']:.1f}..{mine['high_us']:.1f})",
        f"{row['flops'] / mine['median_us'] / 1e6:.0f}",
        f"{ratio(row, 'single', 'cudnn'):.3f}x",
        f"{ratio(row, 'sustained', 'cudnn'):.3f}x",
        f"{ratio(row, 'single', 'flash'):.2f}x",
        f"{ratio(row, 'single', 'flex'):.2f}x" if "flex" in row["single"] else "",
        f"{errors['fact']:.1e}",
        f"{errors['cudnn']:.1e}",
    ]


def summary(rows):
    lines = []
    for kind in ("single", "sustained"):
        ratios = [ratio(row, kind, "cudnn") for row in rows]
        lines.append(f"over cuDNN, {kind}: geomean {geomean(ratios):.3f}x, least {min(ratios):.3f}x")
    return "\n".join(lines)


def main():
    return shapes.run(__doc__, SHAPES, build, compare, line, wrong, HEADER, name_of, summary)


if __name__ == "__main__":
    sys.exit(main())
