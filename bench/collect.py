"""Joins the reports of several runs into one results file and prints its table.

    python bench/collect.py [--never-slower] [--quiet] RESULTS.json RUN_FOLDER...
    python bench/collect.py --join RESULTS.json PART.json...
    python bench/collect.py --current RESULTS.json

Each run folder holds what `fact optimize` left: report.json, and bench.json where the whole module
was timed. The results file adds the date, the commit, the versions and the command, and names the
runs that have not ended. With --never-slower a composed module that is slower than eager by more than
the spread is a failure; with --quiet nothing is printed. --current exits with 0 if the results are
complete and of this commit.
"""

import datetime
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def read(path):
    return json.loads(path.read_text()) if path.exists() else None


def commit():
    if os.environ.get("FACT_COMMIT"):  # a copy of the tree, without its history
        return os.environ["FACT_COMMIT"]
    answer = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    return answer.stdout.strip() if answer.returncode == 0 else None


def without_paths(value, folder):
    """The same with run folders and the repository's root taken out of every text."""
    if isinstance(value, dict):
        return {key: without_paths(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [without_paths(item, folder) for item in value]
    if isinstance(value, str):
        root = str(Path(__file__).resolve().parent.parent)
        value = re.sub(rf"{re.escape(tempfile.gettempdir())}/fact-\S+?/", "", value)
        return value.replace(f"{folder.parent}/", "").replace(f"{root}/", "")
    return value


def output_of(*words):
    """What a program prints; "" if it is not installed."""
    try:
        return subprocess.run(words, capture_output=True, text=True).stdout
    except OSError:
        return ""


def versions():
    """Without importing torch, which takes seconds of a machine's time."""
    found = importlib.util.find_spec("torch")
    text = Path(found.origin).with_name("version.py").read_text() if found else ""
    torch = re.search(r"^__version__ = '(.*)'", text, re.M)
    nvcc = re.findall(r"\bV(\S+)", output_of(os.environ.get("FACT_NVCC", "nvcc"), "--version"))
    gpus = output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()
    return {
        "torch": torch[1] if torch else None,
        "nvcc": nvcc[-1] if nvcc else None,
        "gpu": gpus[0].strip() if gpus else None,
    }


def ratio(times, base):
    """`base` over `times`: of the medians, and the least and most that the spreads allow."""
    if not times or not base or not times.get("runs") or not base.get("runs"):
        return "-"
    # The report names the percentiles, the benchmark the ends of the spread: the same numbers.
    low, high = ("p10_us", "p90_us") if "p10_us" in times else ("low_us", "high_us")
    return "{:.3f}x ({:.3f}..{:.3f}, n={})".format(
        base["median_us"] / times["median_us"],
        base[low] / times[high],
        base[high] / times[low],
        times["runs"],
    )


def by_kernel(report):
    """The report with one row for all patterns with the same kernel and outcome: `times` counts
    them."""
    rows = {}
    for row in report["patterns"]:
        first = rows.setdefault((row["kernel"], row.get("fused"), row.get("why")), dict(row, times=0))
        first["times"] += 1
    return {**report, "patterns": list(rows.values())}


def pattern_lines(report):
    for row in report["patterns"]:
        single = row.get("single") or {}
        yield [
            row["id"] + (f", {row['times']} times" if row["times"] > 1 else ""),
            "fused" if row.get("fused") else "left",
            f"{single.get('median_us', 0):.1f} us" if single.get("runs") else "-",
            ratio(row.get("single"), row.get("torch_single")),
            ratio(row.get("sustained"), row.get("torch_sustained")),
            "{kernel:.2g} / {eager:.2g}".format(**row["error_compiled"])
            if row.get("error_compiled")
            else row.get("why", "-"),
            row.get("schedule", ""),
        ]


def module_lines(bench):
    base = bench["rows"][0]
    for row in bench["rows"]:
        yield [
            row["name"],
            "",
            f"{row['single']['median_us'] / 1e3:.3f} ms" if row.get("single") else "-",
            ratio(row.get("single"), base.get("single")),
            ratio(row.get("sustained"), base.get("sustained")),
            f"{row['errors']['largest']:.2g}" if row.get("errors") else row.get("why", "-"),
            "",
        ]


def ablation_lines(ablation):
    """Each family alone and left out, all and none, as rows of the same table."""
    eager = ablation["eager"]
    yield ["", "", "", "", "", "", ""]
    yield ["ablation", "kept", "alone", "over eager", "all but it, over eager", "patterns", ""]
    for row in ablation["families"]:
        alone = row["alone"]
        yield [
            row["family"],
            "yes" if row["kept"] else "no",
            f"{alone['median_us'] / 1e3:.3f} ms" if alone else "-",
            ratio(alone, eager),
            ratio(row["all_but"], eager),
            str(row["patterns"]),
            "",
        ]
    every = ablation["all"]
    count = str(ablation["patterns"])
    yield ["all", "", f"{every['median_us'] / 1e3:.3f} ms", ratio(every, eager), "", count, ""]


def slower(bench):
    """Whether the composed module lost against eager by more than what the spreads allow."""
    rows = {row["name"]: row for row in bench["rows"]}
    return any(
        rows["composed"][how]["low_us"] > rows["eager"][how]["high_us"]
        for how in ("single", "sustained")
        if rows["composed"].get(how) and rows["eager"].get(how)
    )


def print_table(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def main():
    if sys.argv[1:2] == ["--current"] and len(sys.argv) == 3:
        return 0 if current(Path(sys.argv[2])) else 1
    options = {word for word in sys.argv[1:] if word in ("--never-slower", "--quiet")}
    sys.argv[1:] = [word for word in sys.argv[1:] if word not in options]
    strict, quiet = "--never-slower" in options, "--quiet" in options
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if sys.argv[1] == "--join":
        parts = {Path(part).stem: read(Path(part)) for part in sys.argv[3:]}
        write(Path(sys.argv[2]), parts)
        return 0
    target = Path(sys.argv[1])
    runs, missing = {}, []
    for folder in map(Path, sys.argv[2:]):
        report = read(folder / "report.json")
        if report is None:
            missing.append(folder.name)
            if not quiet:
                print(f"{folder}: no report.json, the run did not finish", file=sys.stderr)
            continue
        run = {"report": by_kernel(report), "bench": read(folder / "bench.json")}
        runs[folder.name] = without_paths(run, folder)
    write(target, runs, missing)
    for name, run in () if quiet else runs.items():
        print(f"\n{name}")
        lines = [["", "", "single", "over torch, single", "sustained", "error", "schedule"]]
        lines += pattern_lines(run["report"])
        if run["bench"]:
            lines += module_lines(run["bench"])
        if run["report"].get("ablation"):
            lines += ablation_lines(run["report"]["ablation"])
        print_table(lines)
    losers = [name for name, run in runs.items() if run["bench"] and slower(run["bench"])]
    if strict and losers:
        print(f"FAILED: slower than eager: {', '.join(losers)}", file=sys.stderr)
    return int(strict and bool(losers))


def current(path):
    """Whether the results exist, are complete and of this commit."""
    result = read(path) or {}
    return bool(result.get("commit")) and result["commit"] == commit() and not result.get("missing")


def write(target, runs, missing=()):
    result = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "versions": versions(),
        "command": os.environ.get("FACT_COMMAND", " ".join(sys.argv)),
        "runs": runs,
    }
    if missing:
        result["missing"] = list(missing)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(result, indent=1) + "\n")
    temporary.replace(target)


if __name__ == "__main__":
    sys.exit(main())
