"""The table of bench/agent/run.sh: python bench/agent/table.py agent.json

For each module the time of the rules' package (eager's where they fuse nothing) over the model's, with
the spread, and what the model cost; geometric means last.
"""

import json
import math
import sys


def rows_of(run):
    return {row["name"]: row["single"] for row in (run["bench"] or {}).get("rows", []) if row.get("single")}


def gain(before, after):
    return before["median_us"] / after["median_us"]


def spread(before, after):
    return before["low_us"] / after["high_us"], before["high_us"] / after["low_us"]


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def lines(runs, kind):
    for name, run in runs.items():
        if not name.startswith(kind + "_"):
            continue
        module = name.removeprefix(kind + "_")
        timed = rows_of(run)
        after = timed.get("composed")
        # Where rules fuse nothing there is no package: the module stays as it was.
        before = rows_of(runs["rules_" + module]).get("composed") if "rules_" + module in runs else None
        before = before or timed.get("eager")
        if not before or not after:
            yield [module, "-", "-", "-", "-", "-", "not timed"], None
            continue
        agent = run["report"].get("agent") or {}
        cost = f"{agent['accepted']} of {agent['named']}, {agent['calls']} calls" if agent else "no model"
        ratio = gain(before, after)
        yield [
            module,
            f"{timed['torch.compile']['median_us']:.1f}" if "torch.compile" in timed else "-",
            f"{before['median_us']:.1f}",
            f"{after['median_us']:.1f}",
            f"{ratio:.2f}x ({'{:.2f} to {:.2f}'.format(*spread(before, after))})",
            "yes" if run["report"].get("agrees") else str(run["report"].get("agrees")),
            cost,
        ], ratio


def main():
    with open(sys.argv[1]) as file:
        runs = json.load(file)["runs"]
    for kind in ("model", "learned"):
        rows = [["module", "torch.compile us", "rules us", kind + " us", "gain", "agrees", "accepted"]]
        ratios = []
        for row, ratio in lines(runs, kind):
            rows.append(row)
            if ratio:
                ratios.append(ratio)
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        least = min(ratios, default=math.nan)
        print(f"{kind} over rules: geomean {geomean(ratios):.3f}x of {len(ratios)}, least {least:.3f}x\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
