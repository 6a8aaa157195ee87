"""KernelBench's problems, each optimized and timed beside eager, torch.compile and the bound.

    python bench/kernelbench/run.py --kernelbench CHECKOUT --level 1|2|3 [--problems 23,40-48] OUT

Problems are read from a checkout of KernelBench and not copied. Each is a run of `fact optimize` in
its own dtype and KernelBench's settings, which leave modules in training mode, with a time limit of
its own. Its package is then exported (`fact export --kernelbench`) and judged by the checkout's own
evaluator, whose verdict stands beside ours (judge.py; --no-evaluator leaves it out).

OUT/levelN.json has one entry for each problem and is written after every one, so that the same
command goes on where it was stopped (--again measures everything anew). What FACT leaves to torch
whole counts as 1.00x, and has no ModelNew to judge. The last lines are a table, with fast_p as
KernelBench defines it: the share of problems that are right and more than p times as fast as eager.
FACT_PYTHON is the Python that the evaluator runs in, by default the one that runs this.
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
HERE = Path(__file__).resolve().parent
EXPORT_LIMIT = 60  # seconds
EVALUATOR_LIMIT = 300  # seconds, as in KernelBench's own scripts


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
    timed = [one for one in report["whole"] or [] if one["single"] and one["single"]["runs"]]
    return {one["name"]: one["single"]["median_us"] for one in timed}


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
        "package": bool(report["package"]),
        "no_package": report["no_package"],
    }
    return entry


def status_of(command, limit, log):
    """The exit status of a command, 124 if the time was up; what it prints goes to the file `log`."""
    with open(log, "a") as file:
        try:
            return subprocess.run(
                command, stdout=file, stderr=file, stdin=subprocess.DEVNULL, timeout=limit
            ).returncode
        except subprocess.TimeoutExpired:
            return 124


def fact(*words):
    return [os.environ.get("FACT_PROGRAM", str(ROOT / "fact")), *map(str, words)]


def script(name, *words):
    return [os.environ.get("FACT_PYTHON", sys.executable), str(HERE / name), *map(str, words)]


def optimize(path, run, arguments):
    """Runs `fact optimize` on a problem; the entry for it."""
    started = time.monotonic()
    run.parent.mkdir(parents=True, exist_ok=True)
    run.with_suffix(".log").write_text("")
    command = fact("optimize", path, "--training", "--run-dir", run, "--effort", arguments.effort)
    status = status_of(command, arguments.limit, run.with_suffix(".log"))
    return entry_of(run, status, time.monotonic() - started)


def answer(command, limit, run, path):
    """The JSON that a command writes to `path`, and its exit status."""
    path.unlink(missing_ok=True)
    status = status_of(command, limit, run.with_suffix(".log"))
    return collect.read(path), status


def bound(run):
    """The least time of the whole problem in microseconds, as `fact sol` computes it."""
    done = subprocess.run(fact("sol", run, "--json"), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)["whole"]["ideal_us"] if done.returncode == 0 else None


def baselines(path, run, limit):
    """Times of eager and torch.compile where `fact optimize` has measured none."""
    found, _ = answer(script("baselines.py", path, run.with_suffix(".times")), limit, run, run.with_suffix(".times"))
    times = found or {}
    return {"eager_us": times.get("eager"), "compile_us": times.get("torch.compile")}


def judged(path, run, entry, arguments):
    """The verdict of KernelBench's evaluator on the package of a run."""
    if not entry.get("package"):
        return {"why": "there is no package"}
    solution, verdict, log = (run.with_suffix(end) for end in (".py", ".verdict", ".log"))
    status = status_of(fact("export", "--kernelbench", run / "package", "-o", solution), EXPORT_LIMIT, log)
    if status:
        return {"why": f"the export failed with status {status}: see {log.name}"}
    command = script("judge.py", arguments.kernelbench, path, solution, verdict)
    found, status = answer(command, EVALUATOR_LIMIT, run, verdict)
    if found:
        return collect.without_paths(found, run)
    # KernelBench's scripts count both as not compiled.
    why = f"took more than {EVALUATOR_LIMIT} s" if status == 124 else f"ended with status {status}: see {log.name}"
    return {"compiled": False, "correct": False, "why": f"the evaluator {why}"}


def speedup(entry, name="fact_us"):
    """Over eager; what was left to torch is eager itself."""
    if entry.get(name) and entry.get("eager_us"):
        return entry["eager_us"] / entry[name]
    return 1.0 if name == "fact_us" and entry.get("status") == 0 and not entry.get("fused") else None


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def shown(value, form="{:.2f}x"):
    return form.format(value) if value is not None else "-"


def opinion(verdict):
    """The evaluator's verdict in a few words."""
    if not verdict:
        return "-"
    why = " ".join(verdict.get("why", "").split())[:60]
    if "correct" not in verdict:
        return why
    if not verdict["correct"]:
        return ("wrong: " if verdict["compiled"] else "does not compile: ") + why
    said = f"correct, {shown(verdict.get('speedup'))}"
    return said + (", fell back" if verdict.get("fallbacks") else "")


def table(results):
    lines = [
        "| problem | eager | bound | torch.compile | FACT | KernelBench's evaluator | kernels | left to torch |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, entry in results.items():
        left = sorted(set(entry.get("left_alone", {}).values()))
        lines.append(
            f"| {name} | {shown(entry.get('eager_us'), '{:.0f} us')} | {shown(entry.get('bound_us'), '{:.0f} us')} | "
            f"{shown(speedup(entry, 'compile_us'))} | {shown(speedup(entry))} | {opinion(entry.get('evaluator'))} | "
            f"{len(entry.get('fused', []))} | {'; '.join(left)[:60]} |"
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
        fast = sum(a > p for a in right) / max(1, len(results))
        lines.append(f"fast_{p} = {fast:.2f}")
    return "\n".join(lines + evaluator_lines(results))


def evaluator_lines(results):
    """What KernelBench's evaluator says of all, and where it differs from what we found."""
    verdicts = {name: entry.get("evaluator") or {} for name, entry in results.items()}
    verdicts = {name: one for name, one in verdicts.items() if "correct" in one}
    if not verdicts:
        return []
    correct = [one for one in verdicts.values() if one["correct"]]
    fast = [one["speedup"] for one in correct if one.get("speedup")]
    lines = [
        f"KernelBench's evaluator: {len(verdicts)} judged, {sum(one['compiled'] for one in verdicts.values())} "
        f"compiled, {len(correct)} correct, {shown(geomean(fast))} over eager"
    ]
    lines += [f"fast_{p} = {sum(a > p for a in fast) / len(verdicts):.2f} of those judged" for p in THRESHOLDS]
    # A module that draws random numbers has no verdict of ours.
    disputed = [name for name, one in verdicts.items() if results[name].get("agrees") is (not one["correct"])]
    if disputed:
        lines.append(f"right to us and not to the evaluator, or the other way: {', '.join(disputed)}")
    return lines


def write(path, results, arguments):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelbench", required=True, metavar="CHECKOUT", help="a checkout of KernelBench")
    parser.add_argument("--level", type=int, required=True, choices=(1, 2, 3))
    parser.add_argument("--problems", help="numbers and ranges, such as 23,40-48; all if not given")
    parser.add_argument("--limit", type=float, default=150, help="seconds to optimize a problem (default: 150)")
    parser.add_argument("--effort", default="quick", help="of `fact optimize` (default: quick)")
    parser.add_argument("--seconds", type=float, help="begin no problem after this many seconds")
    parser.add_argument("--no-evaluator", action="store_true", help="leave out KernelBench's evaluator")
    parser.add_argument("--again", action="store_true", help="measure again what OUT has already")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for the results")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"level{arguments.level}.json"
    kept = collect.read(path) or {}
    results = {} if arguments.again else kept.get("problems", {})
    began = time.monotonic()
    for number, problem in problems(arguments.kernelbench, arguments.level, numbers(arguments.problems)).items():
        entry = results.get(problem.stem)
        judging = not arguments.no_evaluator and "evaluator" not in (entry or {})
        if entry and not judging:
            continue
        if arguments.seconds and time.monotonic() - began > arguments.seconds:
            print(f"left for the next call: from {problem.stem}")
            break
        run = arguments.out / "runs" / f"level{arguments.level}" / str(number)
        if not entry:
            entry = optimize(problem, run, arguments)
            if not entry.get("eager_us"):
                entry |= baselines(problem, run, arguments.limit)
            entry["bound_us"] = bound(run)
            results[problem.stem] = entry
            write(path, results, arguments)
        if judging:
            entry["evaluator"] = judged(problem, run, entry, arguments)
            write(path, results, arguments)
        print(
            f"{problem.stem}: {shown(speedup(entry))} ({entry['seconds']:.0f} s, status {entry['status']}); "
            f"KernelBench's evaluator: {opinion(entry.get('evaluator'))}",
            flush=True,
        )
    print(table(results))


if __name__ == "__main__":
    main()
