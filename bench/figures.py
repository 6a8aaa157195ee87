"""Figures of what was measured, as PNG beside the results: python bench/figures.py [FOLDER]

FOLDER (bench/results/h200) holds JSON files as bench/all.sh makes them. Needs matplotlib
(pip install matplotlib). Writes, for what there is:

    modules.png         whole modules against eager and torch.compile
    attention.png       attention kernels against cuDNN's, shape by shape
    ablation_RUN.png    each family of patterns alone, all but it, all

Bars are medians; the lines on them span what the 10th and 90th percentiles allow.
"""

import json
import math
import sys
from pathlib import Path

from readme import MODULES

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit("bench/figures.py needs matplotlib: pip install matplotlib")

COLORS = {"eager": "#9a9a9a", "torch.compile": "#e0a030", "composed": "#2a6fb0"}
SINGLE, SUSTAINED = "#2a6fb0", "#8fbbe0"


def ends(times):
    """The 10th and 90th percentile; the report and the benchmark name them differently."""
    return times.get("p10_us", times.get("low_us")), times.get("p90_us", times.get("high_us"))


def speedup(times, base):
    """How much faster than `base`, and how far the spreads reach below and above."""
    (low, high), (base_low, base_high) = ends(times), ends(base)
    middle = base["median_us"] / times["median_us"]
    return middle, max(0.0, middle - base_low / high), max(0.0, base_high / low - middle)


def bars(axes, places, values, height, color, label):
    """Horizontal bars of (value, below, above), each with its number behind it."""
    axes.barh(
        places,
        [value for value, _, _ in values],
        height,
        xerr=[[below for _, below, _ in values], [above for _, _, above in values]],
        color=color,
        label=label,
        error_kw={"elinewidth": 1, "capsize": 2, "ecolor": "#333333"},
    )
    for place, (value, _, above) in zip(places, values):
        axes.text(value + above, place, f"  {value:.2f}x", va="center", fontsize=8)


def finish(figure, axes, title, label, path, legend=True):
    axes.axvline(1, color="#333333", linewidth=0.8)
    axes.set_xlabel(label)
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12, y=0.02)
    axes.set_xlim(left=0)
    axes.invert_yaxis()
    if legend:
        figure.legend(loc="outside lower right", ncols=3, frameon=False, fontsize=9)
    figure.savefig(path, dpi=140)
    plt.close(figure)
    return path


def runs_of(folder):
    """(name, run, GPU) of every run of `fact optimize` in the folder; repetitions are left out."""
    for file in sorted(folder.glob("*.json")):
        result = json.loads(file.read_text())
        runs = result.get("runs") if isinstance(result, dict) else None
        if not isinstance(runs, dict):
            continue
        for name, run in runs.items():
            if isinstance(run, dict) and "report" in run and not name.endswith("again"):
                yield name, run, (result.get("versions") or {}).get("gpu") or "GPU"


def of_what(name, run):
    """What the README calls it, or the file it was made from."""
    return MODULES.get(name) or Path(run["report"]["source"]).stem


def modules(folder):
    found = []
    for name, run, gpu in runs_of(folder):
        rows = {row["name"]: row for row in (run.get("bench") or {}).get("rows", [])}
        if name in MODULES and all(rows.get(key, {}).get("single") for key in ("eager", "composed")):
            found.append((of_what(name, run), rows, gpu))
    if not found:
        return None
    figure, axes = plt.subplots(figsize=(9, 1.4 + 0.75 * len(found)), layout="constrained")
    for place, name in enumerate(("torch.compile", "composed")):
        there = [i for i, (_, rows, _) in enumerate(found) if rows.get(name, {}).get("single")]
        values = [speedup(found[i][1][name]["single"], found[i][1]["eager"]["single"]) for i in there]
        bars(axes, [i + (place - 0.5) * 0.38 for i in there], values, 0.36, COLORS[name], name)
    labels = [
        "{}\neager {:.2f} ms, n={}".format(
            what, rows["eager"]["single"]["median_us"] / 1e3, rows["eager"]["single"]["runs"]
        )
        for what, rows, _ in found
    ]
    axes.set_yticks(range(len(found)), labels, fontsize=9)
    title = f"Whole modules on {found[0][2]}, single launches"
    label = "speedup over PyTorch eager"
    return finish(figure, axes, title, label, folder / "modules.png")


def attention(folder):
    file = folder / "attention.json"
    if not file.exists():
        return None
    result = json.loads(file.read_text())
    rows = [row for row in result["runs"] if "fact" in row["single"] and "cudnn" in row["single"]]
    if not rows:
        return None
    figure, axes = plt.subplots(figsize=(9, 1.4 + 0.55 * len(rows)), layout="constrained")
    for place, (how, color) in enumerate((("single", SINGLE), ("sustained", SUSTAINED))):
        there = [i for i, row in enumerate(rows) if {"fact", "cudnn"} <= set(row.get(how, ()))]
        values = [speedup(rows[i][how]["fact"], rows[i][how]["cudnn"]) for i in there]
        label = "single launches" if how == "single" else "sustained"
        bars(axes, [i + (place - 0.5) * 0.38 for i in there], values, 0.36, color, label)
    labels = [f"{row['shape']}\n{row['single']['fact']['median_us']:.0f} us" for row in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    over = [row["single"]["cudnn"]["median_us"] / row["single"]["fact"]["median_us"] for row in rows]
    mean = math.exp(sum(map(math.log, over)) / len(over))
    gpu = (result.get("versions") or {}).get("gpu") or "GPU"
    title = f"Attention on {gpu}: {mean:.2f}x cuDNN in geometric mean of single launches"
    label = "speedup over cuDNN's kernel in the same process"
    return finish(figure, axes, title, label, folder / "attention.png")


def ablation(folder, name, run, gpu):
    measured = run["report"].get("ablation")
    if not measured:
        return None
    eager, rows = measured["eager"], measured["families"]
    rows = sorted(rows, key=lambda row: (row["alone"] or row["all_but"])["median_us"])
    figure, axes = plt.subplots(figsize=(9, 1.6 + 0.6 * len(rows)), layout="constrained")
    alone = [i for i, row in enumerate(rows) if row["alone"]]
    values = [speedup(rows[i]["alone"], eager) for i in alone]
    bars(axes, [i - 0.19 for i in alone], values, 0.36, SINGLE, "alone")
    values = [speedup(row["all_but"], eager) for row in rows]
    bars(axes, [i + 0.19 for i in range(len(rows))], values, 0.36, SUSTAINED, "all but it")
    bars(axes, [len(rows)], [speedup(measured["all"], eager)], 0.5, "#1c4c7a", "all")
    families = [row["family"].rpartition("_")[0] + f", {row['patterns']} x" for row in rows]
    axes.set_yticks(range(len(rows) + 1), [*families, "all"], fontsize=9)
    title = f"{of_what(name, run)} on {gpu}: what each family of patterns brings"
    label = "speedup over PyTorch eager ({:.2f} ms, n={})".format(
        eager["median_us"] / 1e3, eager["runs"]
    )
    return finish(figure, axes, title, label, folder / f"ablation_{name}.png")


def main():
    if len(sys.argv) > 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    folder = Path(sys.argv[1] if len(sys.argv) == 2 else Path(__file__).parent / "results" / "h200")
    if not folder.is_dir():
        print(f"{folder}: no such folder", file=sys.stderr)
        return 2
    written = [modules(folder), attention(folder)]
    written += [ablation(folder, *entry) for entry in runs_of(folder)]
    for path in filter(None, written):
        print(path)
    return 0 if any(written) else 1


if __name__ == "__main__":
    sys.exit(main())
