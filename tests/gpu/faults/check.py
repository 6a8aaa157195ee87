"""Compares what became of the hostile kernels with the verdicts they ask for.

    python tests/gpu/faults/check.py RESULTS.json RUN_FOLDER[:KERNELS]...

Each run folder is one of `fact optimize tests/gpu/faults/problem.py --also ...`, or of the problem
and the kernels in the folder KERNELS beside it (`gate`, `attention`). Prints a table
fault | expected | got | ok, writes RESULTS.json, and fails where a fault was not found, got another
verdict or was not tried, or where an honest kernel was thrown out. Without a GPU, faults that cannot
be simulated are left out.
"""

import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[2] / "bench"))

import collect  # noqa: E402


def expected_verdicts(kernels):
    """By the name of the file: the verdicts that are right, any of which will do."""
    verdicts = {}
    for file in sorted((FOLDER / kernels).glob("*.cu")):
        found = re.search(r"fact-verdict: (.*)", file.read_text())
        if not found:
            raise SystemExit(f"{file.name} does not say which verdict it expects")
        verdicts[file.stem] = found[1].strip().split(" | ")
    return verdicts


def verdict_of(reply):
    return reply["finding"] or reply["outcome"].replace("_", " ")


def last_replies(run):
    """What the journal says of each candidate in the end."""
    replies = {}
    for line in (run / "journal.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if "reply" in entry:  # else the end of a stage
            replies[entry["name"]] = entry["reply"]
    return replies


def rows(run, kernels, on_gpu):
    replies = last_replies(run)
    for name, expected in expected_verdicts(kernels).items():
        reply = replies.pop(name, None)
        if not on_gpu and (reply is None or "cannot be simulated" in reply["why"]):
            continue
        # Where nothing is launched, doing nothing gives zeros.
        if not on_gpu and name == "wrong":
            expected = ["wrong result"]
        got = verdict_of(reply) if reply else "not tried"
        yield {"fault": name, "expected": " | ".join(expected), "got": got,
               "ok": got in expected, "why": reply["why"] if reply else "", "note":
               reply.get("note", "") if reply else ""}  # fmt: skip
    for name, reply in replies.items():  # the schedules
        got = verdict_of(reply)
        yield {"fault": f"(none: {name})", "expected": "passed", "got": got,
               "ok": got == "passed", "why": reply["why"], "note": reply.get("note", "")}  # fmt: skip


def main():
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    import torch

    on_gpu = torch.cuda.is_available()
    results, failed = {}, 0
    for argument in sys.argv[2:]:
        folder, _, kernels = argument.partition(":")
        run = pathlib.Path(folder)
        table = list(rows(run, kernels, on_gpu))
        results[run.name] = collect.without_paths({"faults": table}, run)
        print(f"\n{run.name}")
        lines = [["fault", "expected", "got", "ok"]]
        lines += [[r["fault"], r["expected"], r["got"], "yes" if r["ok"] else "NO"] for r in table]
        collect.print_table(lines)
        for row in table:
            if not row["ok"]:
                failed += 1
                print(f"NOT OK {row['fault']}: {row['why'] or 'no reply'}")
        if not any(r["ok"] and r["expected"] == "passed" for r in table):
            failed += 1
            print("no honest kernel was accepted")
    collect.write(pathlib.Path(sys.argv[1]), results)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
