"""What each example takes to optimize, from an empty cache and once more: a table and examples.json.

    python bench/examples.py OUT

OUT holds the logs NAME_cold.log and NAME_again.log that tests/gpu/run.sh leaves (cold.log and
again.log are the MiniGPT block's). Seconds, as `fact optimize` says them stage by stage.
"""

import os
import re
import sys
from pathlib import Path

from collect import print_table, write

STAGE = re.compile(r"^(trace|discover|realize|choose|compose|bench): (.*) \((\d+\.\d) s\)$", re.M)
WHOLE = re.compile(r"(\d+) s in all")
FUSED = re.compile(r"families (\d+), realized \d+, verified \d+, composed (\d+)")


def read_log(path):
    """The stages' seconds, their sum as the report has it, families and fused patterns; None where
    the run did not end."""
    text = path.read_text(errors="replace")
    whole, fused = WHOLE.search(text), FUSED.search(text)
    if not whole or not fused:
        return None
    return {
        "seconds": int(whole[1]),
        "stages": {stage: float(seconds) for stage, _, seconds in STAGE.findall(text)},
        "families": int(fused[1]),
        "composed": int(fused[2]),
    }


def read_all(folder):
    found = {}
    for log in sorted(folder.glob("*cold.log")):
        name = log.name.removesuffix(".log").removesuffix("cold").rstrip("_") or "minigpt_block"
        again = log.with_name(log.name.replace("cold", "again"))
        turns = {"cold": read_log(log), "again": read_log(again) if again.exists() else None}
        if turns["cold"]:
            found[name] = turns
    return found


def lines_of(found):
    stages = ["trace", "discover", "realize", "choose", "bench"]
    yield ["example", "families", "patterns", "cold", *stages, "again"]
    for name, turns in found.items():
        cold, again = turns["cold"], turns["again"]
        times = [f"{cold['stages'].get(stage, 0):.1f}" for stage in stages]
        yield [
            name,
            str(cold["families"]),
            str(cold["composed"]),
            f"{cold['seconds']} s",
            *times,
            f"{again['seconds']} s" if again else "-",
        ]


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    found = read_all(folder)
    if not found:
        print(f"{folder}: no run of an example ended there", file=sys.stderr)
        return 1
    write(folder / "examples.json", found)
    print_table(list(lines_of(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
