"""What a search saves that stops where the bound or the model says so, and what that costs.

    python bench/stopping.py RESULTS.json RUN_FOLDER

The run was made with --try-all: every candidate was measured briefly, in the model's order. From those
times follows what a search that stops would have measured, and which candidate it would have ended with.
"""

import json
import math
import statistics
import sys
from pathlib import Path

import collect

LEAST_MEASURED, LEAST_NEAR_BOUND = 8, 2  # as in src/sol/stopping.h
NEAR_BOUND, LEAST_GAIN = 0.05, 0.01
NEAR, MOST_CONTENDERS = 0.06, 3  # as in src/tune/ranking.cpp and search.cpp


def briefly(run, family):
    """The first, brief measurement of each candidate that passed, in the model's order."""
    first = {}
    for line in (run / "journal.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry.get("family") == family and "name" in entry and entry["name"] not in first:
            reply = entry["reply"]
            if reply["outcome"] == "passed" and reply["single"]["runs"]:
                first[entry["name"]] = reply | {"expected_us": entry["expected_us"]}
    return [first[name] for name in sorted(first)]


def relative(entry):
    return entry["single"]["median_us"] / entry["baseline_single"]["median_us"]


def stops_after(entries, bound_us):
    """How many are measured before the rules stop the search."""
    for count in range(1, len(entries)):
        best = min(entries[:count], key=relative)["single"]["median_us"]
        if bound_us and count >= LEAST_NEAR_BOUND and best <= bound_us * (1 + NEAR_BOUND):
            return count
        if count >= LEAST_MEASURED:
            ratios = sorted(e["single"]["median_us"] / e["expected_us"] for e in entries[:count])
            lower_quartile = ratios[(count - 1) // 4]
            expected = min(e["expected_us"] for e in entries[count:]) * lower_quartile
            if 1 - expected / best < LEAST_GAIN:
                return count
    return len(entries)


def measurements(entries):
    """How many a search takes: each candidate briefly, the contenders again, the winner once
    more."""
    best = min(map(relative, entries))
    near = sum(relative(e) <= best * (1 + NEAR) for e in entries)
    contenders = min(near, MOST_CONTENDERS)
    return len(entries) + (contenders if contenders > 1 else 0) + 1


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    run = Path(sys.argv[2])
    report = collect.read(run / "report.json")
    bounds = {row["kernel"]: row["bound_us"] for row in report["patterns"]}
    where = {row["kernel"]: row["where"] for row in report["patterns"]}
    rows = []
    for family, bound in bounds.items():
        entries = briefly(run, family)
        if len(entries) < 2:
            continue
        count = stops_after(entries, bound)
        without_stopping, with_stopping = measurements(entries), measurements(entries[:count])
        loss = min(map(relative, entries[:count])) / min(map(relative, entries)) - 1
        rows.append({"family": family, "where": where.get(family, ""), "candidates": len(entries),
                     "measured": with_stopping, "measured_all": without_stopping,
                     "slower": loss})  # fmt: skip
    saved = 1 - sum(r["measured"] for r in rows) / sum(r["measured_all"] for r in rows)
    slower = math.exp(statistics.mean(math.log(1 + r["slower"]) for r in rows)) - 1
    collect.write(Path(sys.argv[1]), {"rows": rows, "saved": saved, "slower": slower})
    lines = [["family", "candidates", "measurements", "of", "slower"]]
    for r in rows:
        lines.append([r["family"], str(r["candidates"]), str(r["measured"]),
                      str(r["measured_all"]), f"{100 * r['slower']:.2f} %"])  # fmt: skip
    collect.print_table(lines)
    print(f"stopping saves {100 * saved:.0f} % of the measurements and costs {100 * slower:.2f} %")
    return int(saved < 0.3 or slower > 0.01)


if __name__ == "__main__":
    sys.exit(main())
