"""The docs' tables from what was measured: python bench/readme.py [--drop] RESULTS [README.md docs/*.md]

RESULTS is a folder of `bench/all.sh`. Without files the tables are printed; with files each table
replaces what stands there between `<!-- NAME -->` and `<!-- end of NAME -->`, so that no number is
typed by hand. A table of which nothing was measured is left as it is, and named. If a table would
lose rows that it has now, because RESULTS has only a part of them, nothing is written; with --drop
those rows are removed.
"""

import argparse
import json
import math
import re
import sys
from pathlib import Path

MODULES = {  # by the run's name
    "minigpt_cold": "MiniGPT block, bf16",
    "minigpt_f32": "the same in fp32",
    "minigpt_tf32": "the same in fp32 with `--allow-tf32`",
    "llama_sdpa": "Llama 3 8B layer, batch 4, 2048 tokens, torch's attention",
    "llama_eager": "the same, attention written out",
    "llama_one": "the same, batch 1, torch's attention",
    "llama_model": "Llama 3 8B, 32 layers, batch 1, 2048 tokens",
    "gpt2": "GPT-2, 12 layers, 8 x 1024 tokens",
    "encoder": "encoder block, bias and padding mask, written out",
    "mixed": "a block FACT knows only in part",
    "vit": "ViT-L/16 of Hugging Face, 2 layers, 32 images",
    "qwen2": "Qwen2 0.5B of Hugging Face, 4 layers, 4 x 1024 tokens",
}


MODULE_PARTS = ("minigpt", "fp32", "llama", "llama_model", "gpt2", "encoder", "mixed", "hf")  # of bench/all.sh


def read(folder, part):
    path = Path(folder) / f"{part}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def runs(folder, *parts):
    found = {}
    for part in parts:
        every = read(folder, part).get("runs") or {}
        found.update({name: run for name, run in every.items() if "report" in run})
    return found


def time_text(times):
    us = times["median_us"]
    return f"{us / 1e3:.3g} ms" if us >= 1000 else f"{us:.3g} us"


def ends(times):
    """The 10th and the 90th percentile, which the report and the benchmark name differently."""
    return times.get("p10_us", times.get("low_us")), times.get("p90_us", times.get("high_us"))


def over(times, base, spread=True):
    """How much faster than `base`; with `spread` also the range that the spreads allow."""
    if not times or not base:
        return "-"
    text = f"{base['median_us'] / times['median_us']:.2f}x"
    (low, high), (base_low, base_high) = ends(times), ends(base)
    return f"{text} ({base_low / high:.2f} to {base_high / low:.2f})" if spread else text


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def spans(values):
    return f"{min(values):.2f}x to {max(values):.2f}x"


def table(*lines):
    head, *rows = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *rows]) if rows else ""


def both(row, eager):
    """Single and sustained, each against eager; or why it was not measured."""
    if not row or not row.get("single"):
        return (row or {}).get("why", "-")
    return f"{over(row['single'], eager['single'])}, {over(row.get('sustained'), eager.get('sustained'), False)}"


def modules(folder):
    found = runs(folder, *MODULE_PARTS)
    lines = [["module", "eager", "torch.compile", "composed", "eager's sustained", "optimized in"]]
    for name, what in MODULES.items():
        bench = found.get(name, {}).get("bench")
        if not bench:
            # No package: the whole module was faster as it was.
            ablation = found.get(name, {}).get("report", {}).get("ablation")
            if ablation:
                lines.append([what, time_text(ablation["eager"]), "-", "left as it is", "-", "-"])
            continue
        rows = {row["name"]: row for row in bench["rows"]}
        eager = rows["eager"]
        seconds = f"{found[name]['report']['statistics']['seconds']:.0f} s"
        again = found.get(name.replace("_cold", "_again"))
        if name.endswith("_cold") and again:
            seconds += f", again {again['report']['statistics']['seconds']:.0f} s"
        sustained = f"{time_text(eager['sustained'])}, of {eager.get('sustained_of', 'a CUDA graph')}"
        compiled, composed = (both(rows.get(key), eager) for key in ("torch.compile", "composed"))
        lines.append([what, time_text(eager["single"]), compiled, composed, sustained, seconds])
    return table(*lines)


SUMMARY = ("minigpt_cold", "minigpt_f32", "llama_sdpa", "llama_eager", "llama_model", "gpt2", "encoder", "mixed")


def summary(folder):
    """The README's table of a few modules: medians only."""
    found = runs(folder, *MODULE_PARTS)
    lines = [["module", "torch.compile", "FACT"]]
    for name in SUMMARY:
        bench = found.get(name, {}).get("bench")
        if not bench:
            continue
        rows = {row["name"]: row for row in bench["rows"]}
        cells = []
        for key in ("torch.compile", "composed"):
            row, eager = rows.get(key) or {}, rows["eager"]
            cells.append(
                f"{over(row.get('single'), eager['single'], False)}, "
                f"{over(row.get('sustained'), eager.get('sustained'), False)}"
            )
        title = "MiniGPT block, fp32" if name == "minigpt_f32" else MODULES[name]
        if name == "llama_eager":
            title = "Llama 3 8B layer, attention written out"
        lines.append([title, *cells])
    return table(*lines)


def whole(bench):
    """Every row of one benchmark."""
    if not bench:
        return ""
    eager = bench["rows"][0]
    lines = [["", "single", "against eager", "sustained", "against eager", "error against f64"]]
    for row in bench["rows"]:
        if not row.get("single"):
            lines.append([row["name"], row.get("why", "-"), "", "", "", ""])
            continue
        first = row is eager
        lines.append(
            [
                row["name"],
                time_text(row["single"]),
                "1" if first else over(row["single"], eager["single"]),
                time_text(row["sustained"]),
                "1" if first else over(row["sustained"], eager["sustained"]),
                f"{row['errors']['largest']:.2g}" if row.get("errors") else "-",
            ]
        )
    return table(*lines)


def patterns(folder):
    run = runs(folder, "minigpt").get("minigpt_cold")
    if not run:
        return ""
    lines = [["pattern", "source", "error / torch's", "time", "exported", "single", "sustained", "result"]]
    for row in run["report"]["patterns"]:
        if not row.get("single"):
            continue
        lines.append(
            [
                f"`{row['id']}`" + (f", {row['times']} times" if row["times"] > 1 else ""),
                row["where"],
                "{kernel:.1e} / {eager:.1e}".format(**row["error_compiled"]),
                time_text(row["single"]),
                time_text(row["torch_single"]),
                over(row["single"], row["torch_single"]),
                over(row["sustained"], row["torch_sustained"], False),
                "fused" if row["fused"] else "left",
            ]
        )
    return table(*lines)


def fp32(folder):
    return whole((runs(folder, "fp32").get("minigpt_f32") or {}).get("bench"))


def peers(folder):
    return whole((runs(folder, "peers").get("peers") or {}).get("bench"))


def attention(folder):
    rows = [r for r in read(folder, "attention").get("runs") or [] if "cudnn" in r["single"]]
    lines = [["attention, bf16", "shapes", "against cuDNN, single", "least to most", "sustained"]]
    for what, words in {"causal": [" causal"], "no mask": [" none"], "with a mask": [" keys", " added"]}.items():
        own = [row for row in rows if any(word in row["shape"] for word in words)]
        if not own:
            continue
        ratios = {
            how: [r[how]["cudnn"]["median_us"] / r[how]["fact"]["median_us"] for r in own if "fact" in r[how]]
            for how in ("single", "sustained")
        }
        single, sustained = ratios["single"], ratios["sustained"]
        means = [f"{geomean(values):.2f}x" for values in (single, sustained)]
        lines.append([what, str(len(own)), means[0], spans(single), means[1]])
    return table(*lines)


def timed(run):
    return [row for row in run["report"]["patterns"] if row.get("single") and row.get("torch_single")]


def products(folder):
    lines = [["twelve products with bias", "single", "least to most", "sustained", "error over torch's"]]
    for name, run in runs(folder, "products").items():
        rows = timed(run)
        if not rows:
            continue
        single = [r["torch_single"]["median_us"] / r["single"]["median_us"] for r in rows]
        sustained = [
            r["torch_sustained"]["median_us"] / r["sustained"]["median_us"] for r in rows if r["sustained"]
        ]
        errors = [r["error_compiled"]["kernel"] / r["error_compiled"]["eager"] for r in rows]
        kind = name.removeprefix("products_").replace("f32", "fp32")
        means = [f"{geomean(values):.3f}x" for values in (single, sustained)]
        lines.append([kind, means[0], spans(single), means[1], f"{geomean(errors):.2f}"])
    return table(*lines)


def rows(folder):
    found = (read(folder, "rows").get("runs") or {}).get("rows") or []
    lines = [["rows", "type", "of a copy's speed", "against torch"]]
    large = [row for row in found if not row["shape"].startswith("1000x")]
    for name, dtype in dict.fromkeys((row["name"], row["dtype"]) for row in large):
        own = [row for row in large if (row["name"], row["dtype"]) == (name, dtype)]
        share = [100 * row["share"] for row in own]
        against = spans([row["over_torch"] for row in own])
        lines.append([name.replace("_", " "), dtype, f"{min(share):.0f} % to {max(share):.0f} %", against])
    return table(*lines)


def chains(folder):
    run = runs(folder, "chains").get("chains")
    lines = [["chain, 1024x8192x8192 in fp32", "time", "torch", "single", "sustained"]]
    for row in timed(run) if run else []:
        if row["fused"]:
            sustained = over(row["sustained"], row["torch_sustained"], False)
            single = over(row["single"], row["torch_single"])
            times = [time_text(row[key]) for key in ("single", "torch_single")]
            lines.append([f"`{row['id'].partition('_')[2]}`", *times, single, sustained])
    return table(*lines)


def precision_lost(folder):
    rows = (read(folder, "range").get("runs") or {}).get("rows") or []
    powers = sorted({row["power_of_ten"] for row in rows if row["power_of_ten"]})
    lines = [["large number in", "computed in", *(f"10^{power}" for power in powers), "torch's, at most"]]
    for precision, operand in dict.fromkeys((row["precision"], row["large_in"]) for row in rows):
        own = {r["power_of_ten"]: r for r in rows if (r["precision"], r["large_in"]) == (precision, operand)}
        if not any(own):
            continue
        kind = {"exact": "fp32", "tf32": "TF32"}[precision]
        cells = [f"{own[power]['fact']:.0e}" for power in powers]
        lines.append([f"the {operand} operand", kind, *cells, f"{max(r['torch'] for r in own.values()):.0e}"])
    return table(*lines)


PARTS = "minigpt fp32 llama llama_model gpt2 encoder mixed hf peers attention products rows range chains".split()


def measured(folder):
    """Where the numbers come from: the parts that were measured at each commit, day and machine."""
    found = {}
    for part in PARTS:
        result = read(folder, part)
        if result:
            versions = result.get("versions") or {}
            key = (str(result.get("commit"))[:7], str(result.get("date"))[:10])
            key += tuple(versions.get(name) or "-" for name in ("gpu", "torch", "nvcc"))
            found.setdefault(key, []).append(part)
    lines = [["parts", "commit", "date", "GPU", "torch", "nvcc"]]
    return table(*lines, *([", ".join(parts), *key] for key, parts in found.items()))


TABLES = {
    "measured": measured,
    "summary": summary,
    "modules": modules,
    "patterns": patterns,
    "fp32": fp32,
    "peers": peers,
    "attention": attention,
    "products": products,
    "rows": rows,
    "chains": chains,
    "range": precision_lost,
}


def put(text, name, made):
    """The text with the table of that name replaced."""
    between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.S)
    return between.sub(lambda match: match[1] + made + "\n" + match[2], text)


def table_in(text, name):
    """The table of that name in the text; "" if there is none."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end of {name} -->", text, re.S)
    return found[1] if found else ""


def labels(name, made):
    """The labels of a table's rows."""
    found = []
    for line in made.splitlines()[2:]:  # below the head and its rule
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if name == "measured":
            found += cells[0].split(", ")
        else:
            found.append(", ".join(cells[: 2 if name in ("rows", "range") else 1]))
    return found


def lost_rows(text, made):
    """{table: labels of the rows that the text has and the new table does not have}."""
    lost = {}
    for name, new_table in made.items():
        new = labels(name, new_table)
        old = [label for label in labels(name, table_in(text, name)) if label not in new]
        if new_table and old:
            lost[name] = old
    return lost


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--drop", action="store_true", help="write even if tables lose rows")
    parser.add_argument("results", type=Path, help="folder of bench/all.sh")
    parser.add_argument("files", type=Path, nargs="*", help="where the tables go")
    options = parser.parse_args()
    if not options.results.is_dir():
        parser.error(f"{options.results} is not a folder")
    made = {name: make(options.results) for name, make in TABLES.items()}
    for name, text in made.items():
        if not text:
            print(f"{name}: nothing was measured", file=sys.stderr)
        elif not options.files:
            print(f"{name}\n{text}\n")
    texts = {path: path.read_text() for path in options.files}
    losing = False
    for path, text in texts.items():
        for name, lost in lost_rows(text, made).items():
            losing = True
            print(f"{path}: {name} loses {'; '.join(lost)}", file=sys.stderr)
    if losing and not options.drop:
        print(
            f"error: {options.results} lacks some of what was measured before; nothing is written\n"
            "  measure the rest with bench/all.sh, or pass --drop",
            file=sys.stderr,
        )
        return 1
    for path, text in texts.items():
        for name, new_table in made.items():
            text = put(text, name, new_table) if new_table else text
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
