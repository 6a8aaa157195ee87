"""What benchmarks of one shape after the other have in common: arguments, building, results, table."""

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import collect
import torch


def run(doc, shapes, build, compare, line, wrong, header, name_of=str, summary=None):
    """Runs `SCRIPT RESULTS.json [WORD...]` over the shapes whose name has a word; returns the exit
    code.

    `build(folder, shape)` compiles the kernels of a shape; all are built before the first is timed.
    `compare(shape, built)` measures and gives a row of the results, `line(row)` its cells of the
    table, `wrong(shape, row)` whether its errors are too large, and `summary(rows)` what to print
    below the table.
    """
    script = f"bench/{Path(sys.argv[0]).name}"
    if len(sys.argv) < 2:
        print(doc.strip(), file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print(f"{script} needs a GPU", file=sys.stderr)
        return 1
    target, words = Path(sys.argv[1]), sys.argv[2:]
    os.environ.setdefault("FACT_COMMAND", " ".join([script, "RESULTS.json", *words]))
    shapes = [s for s in shapes if not words or any(word in name_of(s) for word in words)]
    if not shapes:
        print(f"no shape has {' or '.join(words)} in its name", file=sys.stderr)
        return 2
    torch.manual_seed(1)
    rows, lines, wrong_shapes = [], [header], []
    with tempfile.TemporaryDirectory() as folder:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            built = list(pool.map(lambda shape: build(folder, shape), shapes))
        for shape, kernels in zip(shapes, built):
            row = compare(shape, kernels)
            rows.append(row)
            if wrong(shape, row):
                wrong_shapes.append(row["shape"])
            lines.append(line(row))
            print("  ".join(lines[-1]), flush=True)
            collect.write(target, rows)
    print()
    collect.print_table(lines)
    if summary:
        print(summary(rows))
    if wrong_shapes:
        print(f"WRONG: {', '.join(wrong_shapes)}")
    return 1 if wrong_shapes else 0
