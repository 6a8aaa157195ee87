"""The tables of bench/agent/papers.sh: python bench/agent/papers.py papers.json

First the three ways of asking (arms), side by side. Then what other policies of stopping would have
cost and gained, replayed on the texts of the arms that are never stopped early: a policy sees the
texts of a set of operators one after the other, and decides after which no more are asked for.
"""

import json
import math
import sys

ARMS = {"cuda": "CUDA", "language": "the language", "bounds": "the language, told the bounds"}
NEAR = 1.1  # within 10 % of the bound


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def speedup(run):
    """Eager's time over the composed module's; 1 where nothing was worth composing."""
    ablation = run["report"].get("ablation")
    return ablation["eager"]["median_us"] / ablation["kept"]["median_us"] if ablation else 1.0


def by_arm(all_runs):
    """{arm: {problem: run}} of the problems whose runs have ended in every arm."""
    found = {arm: {} for arm in ARMS}
    for name, run in all_runs.items():
        arm, problem = name.split("_", 1)
        if run.get("report"):
            found[arm][problem] = run
    ended = set.intersection(*(set(runs) for runs in found.values()))
    return {arm: {name: runs[name] for name in sorted(ended)} for arm, runs in found.items()}


def sets_of(run):
    """The sets of operators for which a text was written."""
    agent = run["report"].get("agent") or {}
    return [row for row in agent.get("proposals", []) if row.get("texts")]


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    print()


def compare(arms):
    rows = [["", "sets", "first text compiled", "verified", "calls", "tokens", "geomean", "faster than eager"]]
    for arm, runs in arms.items():
        sets = [proposal for run in runs.values() for proposal in sets_of(run)]
        agents = [run["report"]["agent"] for run in runs.values()]
        gains = [speedup(run) for run in runs.values()]
        rows.append(
            [
                ARMS[arm],
                str(len(sets)),
                f"{sum(proposal['first_compiled'] for proposal in sets)}",
                f"{sum(proposal['verified'] for proposal in sets)}",
                str(sum(agent["calls"] for agent in agents)),
                str(sum(agent["tokens_in"] + agent["tokens_out"] for agent in agents)),
                f"{geomean(gains):.3f}x",
                f"{sum(gain > 1.01 for gain in gains)} of {len(gains)}",
            ]
        )
    table(rows)
    rows = [["problem", *ARMS.values()]]
    for problem in arms["cuda"]:
        rows.append([problem, *(f"{speedup(runs[problem]):.2f}x" for runs in arms.values())])
    table(rows)


def spent(proposal, enough):
    """(tokens, best time or None) of a set of operators that ends when `enough(texts so far, set)`
    is true."""
    tokens, best = 0, None
    for count, text in enumerate(proposal["texts"], 1):
        tokens += text["tokens"]
        if text["time_us"] and (best is None or text["time_us"] < best):
            best = text["time_us"]
        if enough(proposal["texts"][:count], proposal):
            break
    return tokens, best


def best_of(texts):
    return min((text["time_us"] for text in texts if text["time_us"]), default=None)


def near_bound(texts, proposal):
    best = best_of(texts)
    return best is not None and best <= NEAR * proposal["bound_us"]


def no_better(texts, proposal):
    """Whether the last text was not timed, or is less than 2 % faster than the best before it."""
    before, last = best_of(texts[:-1]), texts[-1]["time_us"]
    return before is not None and (not last or last > 0.98 * before)


POLICIES = {
    "all attempts": lambda texts, proposal: False,
    "the first text": lambda texts, proposal: True,
    "the first that is accepted": lambda texts, proposal: texts[-1]["accepted"],
    "within 10 % of the bound": near_bound,
    "the last brought nothing": no_better,
    "near the bound, or the last brought nothing": lambda texts, proposal: (
        near_bound(texts, proposal) or no_better(texts, proposal)
    ),
}


def gain(proposal, time):
    """The operators' time in torch's kernels over the best text's; 1 if no text is faster."""
    return max(1.0, proposal["now_us"] / time) if time else 1.0


def stopping(runs):
    sets = [proposal for run in runs.values() for proposal in sets_of(run)]
    whole_tokens = sum(spent(proposal, POLICIES["all attempts"])[0] for proposal in sets)
    whole_gain = geomean([gain(proposal, best_of(proposal["texts"])) for proposal in sets])
    rows = [["stops at", "tokens", "saved", "gain", "of the whole gain"]]
    for name, enough in POLICIES.items():
        ended = [(proposal, *spent(proposal, enough)) for proposal in sets]
        tokens = sum(cost for _, cost, _ in ended)
        reached = geomean([gain(proposal, time) for proposal, _, time in ended])
        saved = 1 - tokens / whole_tokens if whole_tokens else 0
        share = (
            f"{math.log(reached) / math.log(whole_gain):.0%}"
            if whole_gain > 1
            else "nothing gained"
        )
        rows.append([name, str(tokens), f"{saved:.0%}", f"{reached:.3f}x", share])
    table(rows)


def main():
    with open(sys.argv[1]) as file:
        arms = by_arm(json.load(file)["runs"])
    if not arms["cuda"]:
        print("no problem has ended in every arm")
        return 0
    compare(arms)
    for arm in ("cuda", "language"):
        print(f"stopping, {ARMS[arm]}:")
        stopping(arms[arm])
    return 0


if __name__ == "__main__":
    sys.exit(main())
