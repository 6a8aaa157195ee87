"""KernelBench's problems, each optimized and timed beside eager, torch.compile and the bound.

    python bench/kernelbench/run.py --kernelbench CHECKOUT --level 1|2|3 [--problems 23,40-48] OUT

Problems are read from a checkout of KernelBench and not copied. Each is a run of `fact optimize` in
its own dtype and KernelBench's settings, with a time limit of its own; OUT/levelN.json has one entry
for each problem and is written after every one, so that the same command goes on where it was
stopped (--again measures everything anew). What FACT leaves to torch whole counts as 1.00x. The last
lines are a table, with fast_p as KernelBench defines it: the share of problems that are right and
more than p times as fast as eager.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import collect  # noqa: E402

THRESHOLDS = (0, 1, 1.5, 2)


def numbers(text):
    """The set of numbers in "23,40-48"; None if there is no text."""
    if not text:
        return None
    wanted = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            sys.exit(f"--problems: '{part}' is not a number or a range like 40-48")
        wanted.update(range(int(first), int(last or first) + 1))
    return wanted


def problems(checkout, level, wanted):
    """The files of a level by number."""
    folder = Path(checkout) / "KernelBench" / f"level{level}"
    found = {}
    for path in folder.glob("*.py"):
        number = re.match(r"(\d+)_", path.name)
        if number and (wanted is None or int(number[1]) in wanted):
            found[int(number[1])] = path
    if not found:
        sys.exit(f"{folder} has no such problems: --kernelbench is the folder of a checkout of KernelBench")
    return dict(sorted(found.items()))


def measured(report):
    """Median times of one call in microseconds by name."""
    return {one["name"]: one["single"]["median_us"] for one in report["whole"] or [] if one["single"]["runs"]}


def entry_of(run, status, seconds):
    """What is kept of a run."""
    report = collect.read(run / "report.json")
    entry = {"status": status, "seconds": round(seconds, 1)}
    if not report:
        return entry
    times = measured(report)
    entry |= {
        "eager_us": times.get("eager"),
        "compile_us": times.get("torch.compile"),
        "fact_us": times.get("composed"),
        "agrees": report["agrees"],
        "fused": [one["id"] for one in report["patterns"] if one["fused"]],
        "not_fused": {one["id"]: one["why"] for one in report["patterns"] if not one["fused"]},
        "left_alone": {one["node"]: one["reason"] for one in report["left_alone"]},
        "no_package": report["no_package"],
    }
    return entry


def optimize(path, run, arguments):
    """Runs `fact optimize` on a problem; the exit status, 124 if the time was up, and the seconds."""
    command = [os.environ.get("FACT_PROGRAM", str(ROOT / "fact")), "optimize", str(path), "--run-dir", str(run)]
    command += ["--effort", arguments.effort]
    started = time.monotonic()
    run.parent.mkdir(parents=True, exist_ok=True)
    with open(run.with_suffix(".log"), "w") as log:
        try:
            status = subprocess.run(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, timeout=arguments.limit
            ).returncode
        except subprocess.TimeoutExpired:
            status = 124
    return status, time.monotonic() - started


def speedup(entry, name="fact_us"):
    """Over eager; what was left to torch is eager itself."""
    if entry.get(name) and entry.get("eager_us"):
        return entry["eager_us"] / entry[name]
    return 1.0 if name == "fact_us" and entry.get("status") == 0 and not entry.get("fused") else None


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def shown(value, form="{:.2f}x"):
    return form.format(value) if value is not None else "-"


def table(results):
    lines = ["| problem | eager | torch.compile | FACT | kernels | left to torch |", "|---|---|---|---|---|---|"]
    for name, entry in results.items():
        left = sorted(set(entry.get("left_alone", {}).values()))
        lines.append(
            f"| {name} | {shown(entry.get('eager_us'), '{:.0f} us')} | {shown(speedup(entry, 'compile_us'))} | "
            f"{shown(speedup(entry))} | {len(entry.get('fused', []))} | {'; '.join(left)[:60]} |"
        )
    ours = {name: speedup(entry) for name, entry in results.items()}
    both = [(ours[name], speedup(entry, "compile_us")) for name, entry in results.items()]
    both = [(a, b) for a, b in both if a and b]
    lines.append("")
    lines.append(
        f"{len(results)} problems: FACT {shown(geomean([a for a in ours.values() if a]))}, where both were timed "
        f"{shown(geomean([a for a, _ in both]))} and torch.compile {shown(geomean([b for _, b in both]))}; "
        f"ahead of torch.compile or within 3 % in {sum(a >= 0.97 * b for a, b in both)} of {len(both)}"
    )
    right = [a for name, a in ours.items() if a and results[name].get("agrees") is not False]
    for p in THRESHOLDS:
        fast = sum(a > p for a in right) / len(results)
        lines.append(f"fast_{p} = {fast:.2f}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelbench", required=True, metavar="CHECKOUT", help="a checkout of KernelBench")
    parser.add_argument("--level", type=int, required=True, choices=(1, 2, 3))
    parser.add_argument("--problems", help="numbers and ranges, such as 23,40-48; all if not given")
    parser.add_argument("--limit", type=float, default=150, help="seconds a problem may take (default: 150)")
    parser.add_argument("--effort", default="quick", help="of `fact optimize` (default: quick)")
    parser.add_argument("--seconds", type=float, help="begin no problem after this many seconds")
    parser.add_argument("--again", action="store_true", help="measure again what OUT has already")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for the results")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"level{arguments.level}.json"
    kept = collect.read(path) or {}
    results = {} if arguments.again else kept.get("problems", {})
    began = time.monotonic()
    for number, problem in problems(arguments.kernelbench, arguments.level, numbers(arguments.problems)).items():
        if problem.stem in results:
            continue
        if arguments.seconds and time.monotonic() - began > arguments.seconds:
            print(f"left for the next call: from {problem.stem}")
            break
        run = arguments.out / "runs" / f"level{arguments.level}" / str(number)
        status, seconds = optimize(problem, run, arguments)
        results[problem.stem] = entry_of(run, status, seconds)
        print(f"{problem.stem}: {shown(speedup(results[problem.stem]))} ({seconds:.0f} s, status {status})", flush=True)
        document = {
            "date": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
            "commit": collect.commit(),
            "versions": collect.versions(),
            "command": f"bench/kernelbench/run.py --level {arguments.level} --effort {arguments.effort}",
            "problems": results,
        }
        partial = path.with_suffix(".new")
        partial.write_text(json.dumps(document, indent=1) + "\n")
        partial.replace(path)
    print(table(results))


if __name__ == "__main__":
    main()
