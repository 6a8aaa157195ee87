"""The evidence of the rule cards from the shipped records: python bench/cards.py [--check] [cards.md]

Each card of index/sm90a/cards.md ends in a line `Evidence:`; its numbers are computed here from
registry/h200, so that none is typed by hand. With --check nothing is written, and the exit code is 1
where a line is not what the records say.
"""

import argparse
import json
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDS = [json.loads(file.read_text()) for file in sorted((ROOT / "registry" / "h200").glob("*.json"))]


def shape(record):
    work = record["work"]
    return (work["m"], work["n"], work["k"])


def us(record, whose="single"):
    return record["times"][whose]["median_us"]


def text(microseconds):
    return f"{microseconds / 1e3:.2f} ms" if microseconds >= 1000 else f"{microseconds:.1f} us"


def fastest(kernel, *dims, dtype="bf16", batch=1, says=""):
    """The fastest record of that kernel at these sizes whose text contains `says`."""
    found = [
        r for r in RECORDS
        if r["kernel"] == kernel and shape(r)[: len(dims)] == dims and r["work"]["dtype"] == dtype
        and r["work"]["batch"] == batch and says in r["work"]["text"]
    ]
    if not found:
        raise SystemExit(f"no record of {kernel} at {dims}")
    return min(found, key=us)


def beside_torch(record):
    return f"{text(us(record))} (torch {text(us(record, 'torch_single'))})"


def at(record):
    return "x".join(map(str, shape(record)))


def products(precision, least=1, most=1 << 40):
    return [r for r in RECORDS
            if r["schedule"].startswith("tile") and r["precision"] == precision and least <= r["work"]["k"] <= most]


def share(records, *words):
    """How many of them have a schedule with these words."""
    with_words = sum(all(word in r["schedule"] for word in words) for r in records)
    return f"{with_words} of {len(records)}"


def short_sums():
    records = products("bf16", most=3072)
    least = min(shape(r)[2] for r in records)
    return (f"the fastest schedule in {share(records, 'tile 128x128x64', 'pingpong')} records with K from {least} "
            "to 3072.")


def long_sums():
    few, more = products("bf16", 4096, 4096), products("bf16", 4097)
    cooperative = [r for r in few + more if "tile 128x256x64" in r["schedule"]]
    return (
        f"the fastest in {share(few, 'tile 128x256x64', 'cooperative')} records with K = 4096 and "
        f"{share(more, 'tile 128x256x64', 'cooperative')} with more, {share(cooperative, 'cluster 2x1')} of "
        f"those with cluster 2x1; 128x128 ping-pong in {share(few, 'tile 128x128x64', 'pingpong')} with K = 4096."
    )


def exact_f32():
    records = products("f16x3")
    gains = [us(r, "torch_single") / us(r) for r in records]
    return (
        f"that schedule in {share(records, 'tile 128x128x32', 'cooperative')} records; {min(gains):.2f} to "
        f"{max(gains):.2f} times as fast as torch's f32, {statistics.median(gains):.2f} in the middle."
    )


def epilogues():
    plain, gelu = fastest("linear_bias", 65536, 3072, 768), fastest("linear_bias_gelu_tanh", 65536, 3072, 768)
    before, after = fastest("linear_bias", 65536, 768, 3072), fastest("linear_bias_residual", 65536, 768, 3072)
    return (
        f"{at(plain)} with bias {beside_torch(plain)}, with gelu_tanh too {beside_torch(gelu)}; "
        f"{at(before)} with bias {beside_torch(before)}, with a residual too {beside_torch(after)}."
    )


def gate():
    return "; ".join(f"{at(r)} {beside_torch(r)}" for r in
                     (fastest("linear_silu_mul", rows, 14336, 4096) for rows in (2048, 8192))) + "."


def rotary():
    plain, turned = fastest("linear", 2048, 1024, 4096), fastest("linear_rotary", 2048, 1024, 4096)
    joined = fastest("linears_rotary", 2048, 6144, 4096)
    return (f"{at(plain)} {beside_torch(plain)}, with the embedding {beside_torch(turned)}; queries, keys and "
            f"values as one product {at(joined)} {beside_torch(joined)}.")


def folded(triples):
    """Of (kernel with the norm in it, product alone, norm alone): the time of the one and of the
    two."""
    parts = []
    for joined, product, norm in triples:
        apart = us(product) + us(norm)
        two = f"{text(us(product))} + {text(us(norm))} = {text(apart)}"
        parts.append(f"{at(joined)} {text(us(joined))} folded, {two} apart")
    return "; ".join(parts) + "."


def long_rows():
    return folded([
        (fastest("rms_norm_linear_silu_mul", rows, 14336, 4096), fastest("linear_silu_mul", rows, 14336, 4096),
         fastest("norm_rows", rows, 4096)) for rows in (2048, 8192)
    ] + [(fastest("rms_norm_linears_rotary", 2048, 6144, 4096), fastest("linears_rotary", 2048, 6144, 4096),
          fastest("norm_rows", 2048, 4096))])


def short_rows():
    return folded([
        (fastest("layer_norm_linear_bias", 16384, 2304, 768), fastest("linear_bias", 16384, 2304, 768),
         fastest("layer_norm_rows", 16384, 768)),
        (fastest("layer_norm_linear_bias_gelu", 16384, 2048, 1024), fastest("linear_bias_gelu", 16384, 2048, 1024),
         fastest("layer_norm_rows", 16384, 1024)),
    ])


def norm_after():
    short = fastest("matmul_bias_residual_layer_norm", 8192, 768, 3072)
    long = fastest("linear_residual_pow_mean_shift_etc", 2048, 4096, 14336)
    return folded([
        (short, fastest("matmul_bias_residual", 8192, 768, 3072), fastest("layer_norm_rows", 8192, 768)),
        (long, fastest("linear_residual", 2048, 4096, 14336), fastest("norm_rows", 2048, 4096)),
    ]).replace("folded", "in one kernel")


def rows_alone():
    records = [fastest("layer_norm_rows", 65536, 768), fastest("norm_rows", 8192, 4096),
               fastest("layer_norm_rows", 65536, 768, dtype="f32")]
    return "; ".join(f"{r['work']['dtype']} rows {r['work']['m']}x{r['work']['n']} {beside_torch(r)}"
                     for r in records) + "."


def masks():
    def of(kernel, says):
        return text(us(fastest(kernel, 2048, 2048, 64, batch=128, says=says)))

    return (
        f"128 heads of 2048x2048, 64 deep: {of('sdpa', 'scale: 0.125')} without a mask, "
        f"{of('sdpa_causal', 'k: bf16[B, N, H, D]')} causal, {of('sdpa_causal_window', 'k: bf16[B, N, H, D]')} "
        f"causal with a window of 512, {of('sdpa_bias', 'mask: bool[B, N]')} with a bool[B, N], "
        f"{of('sdpa_bias', 'mask: bool[B, M, N]')} with a bool[B, M, N]."
    )


def scores():
    whole = fastest("sdpa_causal", 512, 512, 96, batch=1024)
    first = fastest("matmul_scale_mask", 512, 512, 96, batch=1024)
    last = fastest("matmul_permuted", 512, 96, 512, batch=1024)
    behind = fastest("matmul_scale_mask_softmax", 512, 512, 96, batch=1024)
    return (
        f"1024 heads of 512x512, 96 deep: attention {text(us(whole))}; the two products alone "
        f"{text(us(first))} + {text(us(last))}; the first with its softmax {beside_torch(behind)}."
    )


EVIDENCE = {  # by the card's title
    "16-bit products with sums of up to 3072: ping-pong 128x128": short_sums,
    "16-bit products with sums of 4096 and more: cooperative 128x256": long_sums,
    "Products of f32 stay exact and are still faster than torch's": exact_f32,
    "What stands behind a product costs next to nothing": epilogues,
    "A gate of two products is one kernel": gate,
    "A rotary embedding belongs to the product before it": rotary,
    "A norm before a product with long rows: fold it": long_rows,
    "A norm before a product with short rows: a kernel of its own": short_rows,
    "A norm behind a product pays for short rows only": norm_after,
    "Rows alone: one pass at the memory's rate": rows_alone,
    "Say masks in words": masks,
    "Scores are not kept in memory": scores,
}


def filled(cards):
    def fill(match):
        title = match["title"]
        if title not in EVIDENCE:
            raise SystemExit(f"nothing computes the evidence of the card '{title}'")
        return f"{match['head']}Evidence: {EVIDENCE[title]()}\n"

    return re.sub(r"(?P<head>^## (?P<title>.*)\n(?:(?!## |Evidence:).*\n)*)Evidence:.*\n", fill, cards, flags=re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a line is not up to date")
    parser.add_argument("cards", nargs="?", type=Path, default=ROOT / "index" / "sm90a" / "cards.md")
    options = parser.parse_args()
    before = options.cards.read_text()
    after = filled(before)
    if options.check:
        if after != before:
            sys.exit(f"{options.cards}: not what the records say; run python bench/cards.py")
    elif after != before:
        options.cards.write_text(after)


if __name__ == "__main__":
    main()
