"""Every legal schedule of a product on many shapes, beside what the model would have tried first.

    python bench/schedules/run.py OUT [SHAPE...]
    python bench/schedules/run.py --judge RESULTS.json

Builds every schedule of the space once, checks each against torch's product on every shape, times
all of them and torch in turns (the quick ones again, longer), writes OUT/schedules.json and prints
for each shape how far the best of the model's first 8 lies from the best of all. A SHAPE is one of
SHAPES' names. --judge prints the same from the times of an earlier run, for the model as it is now;
it needs no GPU.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(HERE.parent)]

import collect  # noqa: E402
import fact  # noqa: E402
import torch  # noqa: E402
from fact import _timing  # noqa: E402

FIRST = 8  # schedules of the model's order that are judged
AGAIN = 12  # schedules, the quickest, that are measured once more
LARGEST_ERROR = 0.02  # of the largest value: a wrong tile is far off


class Shape(NamedTuple):
    text: str
    m: int
    n: int
    k: int
    batch: int = 1

    def name(self):
        batch = f"{self.batch}x" if self.batch > 1 else ""
        return f"{batch}{self.m}x{self.n}x{self.k}"

    def settings(self):
        batch = f"B={self.batch}," if self.batch > 1 else ""
        return f"{batch}M={self.m},N={self.n},K={self.k}"

    def operands(self):
        torch.manual_seed(1)
        lead = (self.batch,) if self.batch > 1 else ()
        right = (self.n, self.k) if self.text == "product" else (self.k, self.n)

        def normal(*sizes, scale=1.0):
            return (torch.randn(*sizes, device="cuda", dtype=torch.bfloat16) * scale).contiguous()

        return normal(*lead, self.m, self.k), normal(*lead, *right, scale=self.k**-0.5)

    def by_torch(self, x, w):
        return x @ (w.mT if self.text == "product" else w)


SHAPES = [
    Shape("product", 4096, 4096, 4096),
    Shape("product_kn", 4096, 4096, 4096),
    Shape("product", 8192, 8192, 8192),
    Shape("product", 65536, 3072, 768),
    Shape("product", 65536, 768, 3072),
    Shape("product", 65536, 2304, 768),
    Shape("product", 65536, 768, 768),
    Shape("product", 8192, 28672, 4096),
    Shape("product", 8192, 4096, 14336),
    Shape("product", 8192, 6144, 4096),
    Shape("product", 8192, 4096, 4096),
    Shape("product", 2048, 8192, 2048),
    Shape("batched", 512, 2048, 1024, 128),
    Shape("product_kn", 256, 256, 524288),
    Shape("product", 128, 4096, 4096),
    Shape("product", 512, 1024, 16384),
    Shape("product", 1000, 1032, 776),
    Shape("product_kn", 1024, 8192, 8192),
]


def command(*arguments):
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def program():
    return os.environ.get("FACT_PROGRAM", str(ROOT / "fact"))


def schedules_of(shape):
    """The whole space in the model's order."""
    listed = command(
        program(), "kernel", "schedules", str(HERE / f"{shape.text}.fact"),
        "--set", shape.settings(), "--most", "0", "--json",
    )  # fmt: skip
    return json.loads(listed)


def without_walk(schedule):
    """Without raster and swizzle, which do not change the compiled kernel."""
    return re.sub(r"\(.*\)", "", schedule)


def build(text, schedule, folder):
    said = command(
        program(), "kernel", "build", str(HERE / f"{text}.fact"), "--schedule", schedule,
        "-o", str(folder),
    )  # fmt: skip
    spilled = int(re.search(r"(\d+) bytes spilled", said)[1])
    seconds = float(re.search(r"compiled in ([\d.]+) s", said)[1])
    return {"spilled": spilled, "seconds": seconds, "earlier": "by an earlier run" in said}


def build_all(pairs, work):
    """{(text, schedule): folder}, and spills and compile time of each distinct kernel."""
    folders = {pair: work / f"{pair[0]}-{i}" for i, pair in enumerate(sorted(pairs))}
    distinct = {}
    for pair in folders:
        distinct.setdefault((pair[0], without_walk(pair[1])), pair)
    started, said = time.time(), {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {p: pool.submit(build, *p, folders[p]) for p in distinct.values()}
        for pair, job in jobs.items():
            said[f"{pair[0]}: {without_walk(pair[1])}"] = job.result()
        print(f"{len(distinct)} kernels compiled in {time.time() - started:.0f} s", flush=True)
        others = [p for p in folders if p not in jobs]  # their kernels are in the cache by now
        list(pool.map(lambda p: build(*p, folders[p]), others))
    print(f"{len(folders)} schedules built in {time.time() - started:.0f} s", flush=True)
    return folders, said


def measure(shape, ranked, folders):
    x, w = shape.operands()
    expected = shape.by_torch(x, w)
    scale = expected.abs().max()
    works, wrong = [lambda: shape.by_torch(x, w)], []
    for entry in ranked:
        kernel = fact.kernel(folders[shape.text, entry["schedule"]])
        error = ((kernel(x, w) - expected).abs().max() / scale).item()
        if not error <= LARGEST_ERROR:
            wrong.append({"schedule": entry["schedule"], "error": error})
        works.append(lambda kernel=kernel: kernel(x, w))
    times = quick_times(works)
    order = sorted(range(1, len(works)), key=lambda i: times[i])
    # What the model proposes first is judged by the same long measurement as the quickest.
    remeasured = sorted(set(order[:AGAIN]) | set(range(1, 1 + min(FIRST, len(ranked)))))
    slow_times = _timing.single([works[0], *(works[i] for i in remeasured)], 900_000)
    long = dict(zip([0, *remeasured], slow_times))
    best = min(remeasured, key=lambda i: long[i]["median_us"])
    first = min(range(1, 1 + min(FIRST, len(ranked))), key=lambda i: long[i]["median_us"])
    # The quick times of all, so that another model can be judged by them.
    quick = {entry["schedule"]: round(us, 2) for entry, us in zip(ranked, times[1:])}
    return {
        "shape": shape.name(),
        "text": shape.text,
        "schedules": len(ranked),
        "wrong": wrong,
        "torch": long[0],
        "best": {"schedule": ranked[best - 1]["schedule"], "rank": best, **long[best]},
        "model_best": {"schedule": ranked[first - 1]["schedule"], "rank": first, **long[first]},
        "quick_us": quick,
    }


def quick_times(works, rounds=3):
    for work in works:
        work()
    torch.cuda.synchronize()
    times = [[] for _ in works]
    for _ in range(rounds):
        spans = [_timing._span(work, 60) for work in works]
        for list_, span in zip(times, spans):
            list_.append(_timing._microseconds(span))
    return [sorted(list_)[len(list_) // 2] for list_ in times]


def lines_of(rows):
    yield ["shape", "text", "space", "wrong", "torch us", "best us", "torch / best", "rank",
           "model's 8 / best", "best schedule"]  # fmt: skip
    for row in rows:
        best, first = row["best"], row["model_best"]
        yield [
            row["shape"], row["text"], str(row["schedules"]), str(len(row["wrong"])),
            f"{row['torch']['median_us']:.1f}", f"{best['median_us']:.1f}",
            f"{row['torch']['median_us'] / best['median_us']:.3f}", str(best["rank"]),
            f"{first['median_us'] / best['median_us']:.3f}",
            re.sub("  (cluster|mainloop|scheduler|stages) ", " ", best["schedule"]),
        ]  # fmt: skip


def compact(said, rows):
    """Every schedule's spelling once; the rows' quick times by its number."""
    names = sorted({schedule for row in rows for schedule in row["quick_us"]})
    number = {schedule: i for i, schedule in enumerate(names)}
    short = [row | {"quick_us": [[number[s], us] for s, us in row["quick_us"].items()]} for row in rows]
    return {"kernels": said, "schedules": names, "rows": short}


def judge(results):
    """The present model's first 8 among the quick times of an earlier run."""
    lines = [["shape", "text", "space", "best us", "model's 8 / best", "first / best", "rank"]]
    shapes = {(shape.name(), shape.text): shape for shape in SHAPES}
    runs = json.loads(Path(results).read_text())["runs"]
    for row in runs["rows"]:
        quick = {runs["schedules"][i]: us for i, us in row["quick_us"]}
        ranked = [e["schedule"] for e in schedules_of(shapes[row["shape"], row["text"]])]
        times = [quick[schedule] for schedule in ranked if schedule in quick]
        best = min(times)
        lines.append([row["shape"], row["text"], str(len(times)), f"{best:.1f}",
                      f"{min(times[:FIRST]) / best:.3f}", f"{times[0] / best:.3f}",
                      str(times.index(best) + 1)])  # fmt: skip
    collect.print_table(lines)
    return 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--judge":
        return judge(sys.argv[2])
    if len(sys.argv) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    os.environ.setdefault("FACT_COMMAND", " ".join(["bench/schedules/run.py OUT", *sys.argv[2:]]))
    wanted = [s for s in SHAPES if len(sys.argv) == 2 or s.name() in sys.argv[2:]]
    ranked = {shape: schedules_of(shape) for shape in wanted}
    pairs = {(shape.text, e["schedule"]) for shape, list_ in ranked.items() for e in list_}
    rows = []
    with tempfile.TemporaryDirectory() as work:
        folders, said = build_all(pairs, Path(work))
        for shape in wanted:
            started = time.time()
            rows.append(measure(shape, ranked[shape], folders))
            print(f"{shape.name()}: {time.time() - started:.1f} s", flush=True)
            collect.write(Path(sys.argv[1]) / "schedules.json", compact(said, rows))
    collect.print_table(list(lines_of(rows)))
    spilled = sum(entry["spilled"] > 0 for entry in said.values())
    print(f"{len(said)} kernels, {spilled} with spills")
    return int(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
