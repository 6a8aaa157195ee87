"""KernelBench's problems, each optimized and timed beside eager, torch.compile and the bound.

    python bench/kernelbench/run.py --kernelbench CHECKOUT --level 1|2|3 [--problems 23,40-48] OUT

Problems are read from a checkout of KernelBench and not copied. Each is a run of `fact optimize` in
its own dtype and KernelBench's settings, which leave modules in training mode, with a time limit of
its own. Its package is then exported (`fact export --kernelbench`) and judged by the checkout's own
evaluator, whose verdict stands beside ours (judge.py; --no-evaluator leaves it out).

With --jobs N, N problems are worked on side by side: while one traces, compiles or makes its inputs,
others use the GPU, together where they prove kernels and alone where they time something. Waiting for
it, each may take N times as long. One that ran out of memory or time beside others is tried once more,
alone, after them. FACT_TURN_LOG names a file for who used the GPU when (docs/search.md).

OUT/levelN.json has one entry for each problem, which names its commit, and is written after every
one, so that the same command goes on where it was stopped (--again measures everything anew). What
FACT leaves to torch whole, or finds no right kernel for, counts as 1.00x, and has no ModelNew to
judge. The last lines are a table, with fast_p as KernelBench defines it: the share of problems that
are right and more than p times as fast as eager.
FACT_PYTHON is the Python that the evaluator runs in, by default the one that runs this.
"""

import argparse
import json
import math
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(HERE)]

import collect  # noqa: E402
from crew import TIME_IS_UP, Crew, short_of_room, spread  # noqa: E402

THRESHOLDS = (0, 1, 1.5, 2)
EXPORT_LIMIT = SOL_LIMIT = 60  # seconds
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


def number_of(name):
    return int(re.match(r"\d+", name)[0])


def fact(*words):
    return [os.environ.get("FACT_PROGRAM", str(ROOT / "fact")), *map(str, words)]


def script(name, *words):
    return [os.environ.get("FACT_PYTHON", sys.executable), str(HERE / name), *map(str, words)]


class Problem:
    """One problem and the files of its run; `crew` runs its commands."""

    def __init__(self, path, arguments, crew):
        self.path, self.arguments, self.crew = path, arguments, crew
        self.name = path.stem
        self.run = arguments.out / "runs" / f"level{arguments.level}" / str(number_of(path.name))
        self.log = self.run.with_suffix(".log")

    def status(self, command, limit):
        with open(self.log, "a") as file:
            return self.crew.status(command, limit * self.crew.jobs, file)

    def answer(self, command, limit, path):
        """The JSON that a command writes to `path`, and its exit status."""
        path.unlink(missing_ok=True)
        status = self.status(command, limit)
        return collect.read(path), status

    def measured(self, anew):
        """The entry without a verdict. `anew`: nothing of an earlier attempt is used, whose times may be
        of what memory was left."""
        self.run.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")
        if anew:
            shutil.rmtree(self.run, ignore_errors=True)
        started = time.monotonic()
        command = fact("optimize", self.path, "--training", "--run-dir", self.run, "--effort", self.arguments.effort)
        command += ["--jobs", str(self.crew.compilers())] if self.crew.jobs > 1 else []
        command += ["--retune"] if anew else []
        status = self.status(command, self.arguments.limit)
        entry = entry_of(self.run, status, time.monotonic() - started)
        if not entry.get("eager_us"):
            entry |= self.baselines()
        return entry | {"bound_us": self.bound(), "commit": collect.commit()}

    def bound(self):
        """The least time of the whole problem in microseconds, as `fact sol` computes it."""
        with tempfile.TemporaryFile("w+") as printed:
            if self.crew.status(fact("sol", self.run, "--json"), SOL_LIMIT, printed):
                return None
            printed.seek(0)
            return json.loads(printed.read())["whole"]["ideal_us"]

    def baselines(self):
        """Times of eager and torch.compile where `fact optimize` has measured none."""
        times = self.run.with_suffix(".times")
        found, _ = self.answer(script("baselines.py", self.path, times), self.arguments.limit, times)
        found = found or {}
        return {"eager_us": found.get("eager"), "compile_us": found.get("torch.compile")}

    def judged(self, entry):
        """The verdict of KernelBench's evaluator on the package of the run, and its exit status."""
        if not entry.get("package"):
            return {"why": "there is no package"}, 0
        solution, verdict = (self.run.with_suffix(end) for end in (".py", ".verdict"))
        status = self.status(fact("export", "--kernelbench", self.run / "package", "-o", solution), EXPORT_LIMIT)
        if status:
            return {"why": f"the export failed with status {status}: see {self.log.name}"}, status
        command = script("judge.py", self.arguments.kernelbench, self.path, solution, verdict)
        found, status = self.answer(command, EVALUATOR_LIMIT, verdict)
        if found:
            return collect.without_paths(found, self.run), status
        # KernelBench's scripts count both as not compiled.
        why = f"ended with status {status}: see {self.log.name}"
        if status == TIME_IS_UP:
            why = f"took more than {EVALUATOR_LIMIT} s"
        return {"compiled": False, "correct": False, "why": f"the evaluator {why}"}, status

    def said(self, begin=0):
        """What the log says from byte `begin` on."""
        return self.log.read_bytes()[begin:].decode(errors="replace") if self.log.exists() else ""

    def work(self, entry, keep):
        """Measures and judges what the entry has not yet, and calls keep(entry) after each step."""
        beside = self.crew.jobs > 1
        reason = entry.pop("alone", None) if entry else None
        if not entry or reason == "fact":
            entry = self.measured(anew=reason is not None)
            report = self.run / "report.json"
            if beside and short_of_room(entry["status"], self.said(), report.read_text() if report.exists() else ""):
                entry["alone"] = "fact"
            keep(entry)
        if not self.arguments.no_evaluator and "evaluator" not in entry and "alone" not in entry:
            begin = self.log.stat().st_size if self.log.exists() else 0
            verdict, status = self.judged(entry)
            if beside and short_of_room(status, self.said(begin), json.dumps(verdict)):
                entry["alone"] = "evaluator"
            else:
                entry["evaluator"] = verdict
            keep(entry)
        return entry


def speedup(entry, name="fact_us"):
    """Over eager; what was left to torch, or has no kernel that is right, is eager itself."""
    if entry.get(name) and entry.get("eager_us"):
        return entry["eager_us"] / entry[name]
    return 1.0 if name == "fact_us" and entry.get("package") is False else None


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
    without = [one for one in results.values() if one.get("package") is False]
    failed = sum(one["status"] != 0 for one in without)
    lines.append(
        f"of these {len(without)} have no package and count as 1.00x: {len(without) - failed} are left to torch, "
        f"in {failed} no kernel passed"
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


class Results:
    """OUT/levelN.json: the entries by problem, in their order."""

    def __init__(self, arguments):
        self._path = arguments.out / f"level{arguments.level}.json"
        command = f"bench/kernelbench/run.py --level {arguments.level} --effort {arguments.effort}"
        self._about = {"commit": collect.commit(), "versions": collect.versions(), "command": command}
        self._changing = threading.Lock()
        kept = {} if arguments.again else (collect.read(self._path) or {})
        self.entries = kept.get("problems", {})

    def keep(self, name, entry):
        with self._changing:
            self.entries[name] = entry
            self.entries = dict(sorted(self.entries.items(), key=lambda one: number_of(one[0])))
            date = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
            partial = self._path.with_suffix(".new")
            partial.write_text(json.dumps({"date": date, **self._about, "problems": self.entries}, indent=1) + "\n")
            partial.replace(self._path)


def work_on_all(paths, arguments, results):
    """What is missing of the results; returns the names of what was left because the time was up."""
    began = time.monotonic()

    def unfinished(path, alone):
        entry = results.entries.get(path.stem)
        if not entry:
            return not alone
        judging = not arguments.no_evaluator and "evaluator" not in entry
        return alone == ("alone" in entry) and (judging or entry.get("alone") == "fact")

    def may_begin():
        return not arguments.seconds or time.monotonic() - began <= arguments.seconds

    left = []
    for alone in (False, True):
        crew = Crew(1 if alone else arguments.jobs)

        def work(path, crew=crew):
            problem = Problem(path, arguments, crew)
            known = dict(results.entries.get(path.stem, {}))
            entry = problem.work(known, lambda entry: results.keep(path.stem, dict(entry)))
            again = "; beside others it ran out of memory or time: tried again alone" if "alone" in entry else ""
            print(  # as one text: others print too
                f"{path.stem}: {shown(speedup(entry))} ({entry['seconds']:.0f} s, status {entry['status']}); "
                f"KernelBench's evaluator: {opinion(entry.get('evaluator'))}{again}\n",
                end="",
                flush=True,
            )

        todo = spread((path for path in paths if unfinished(path, alone)), crew.jobs)
        left += [path.stem for path in crew.share_out(todo, work, may_begin)]
    return left


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelbench", required=True, metavar="CHECKOUT", help="a checkout of KernelBench")
    parser.add_argument("--level", type=int, required=True, choices=(1, 2, 3))
    parser.add_argument("--problems", help="numbers and ranges, such as 23,40-48; all if not given")
    parser.add_argument("--limit", type=float, default=150, help="seconds to optimize a problem (default: 150)")
    parser.add_argument("--effort", default="quick", help="of `fact optimize` (default: quick)")
    parser.add_argument("--seconds", type=float, help="begin no problem after this many seconds")
    parser.add_argument("--jobs", type=int, default=1, help="problems at a time (default: 1)")
    parser.add_argument("--no-evaluator", action="store_true", help="leave out KernelBench's evaluator")
    parser.add_argument("--again", action="store_true", help="measure again what OUT has already")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for the results")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error("--jobs: at least 1")
    arguments.out.mkdir(parents=True, exist_ok=True)
    paths = problems(arguments.kernelbench, arguments.level, numbers(arguments.problems))
    results = Results(arguments)
    try:
        left = work_on_all(paths.values(), arguments, results)
    except KeyboardInterrupt:
        print(f"stopped: the same command goes on from {len(results.entries)} problems")
        sys.exit(130)
    if left:
        print(f"left for the next call: {len(left)}, from {min(left, key=number_of)}")
    print(table(results.entries))


if __name__ == "__main__":
    # What `timeout` sends ends the problems as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    main()
