"""What a 12-node epilogue costs, beside the same kernels from CUTLASS's collective builder.

    python bench/epilogue/run.py OUT

Builds plain.fact, epilogue.fact, residual.fact and stock.cu for every schedule, checks all of them against f64,
times them and torch's own product in turns, writes OUT/epilogue.json and prints a table. CUTLASS is
looked for in CUTLASS_DIR, in FACT_DEPS_DIR and where ./fact installs it.
"""

import ctypes
import itertools
import os
import subprocess
import sys
import tempfile
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

SHAPES = [  # M, N, K
    (65536, 768, 3072),
    (65536, 3072, 768),
    (8192, 8192, 8192),
    (4096, 4096, 4096),
]
TEXTS = ["plain", "epilogue", "residual"]
MOST_LINES = 120  # of an emitted kernel
ROUNDING = 2.0**-8  # of bf16: smaller errors pass whatever torch's own are
WALKS = list(itertools.product([1, 2], [1, 2, 4, 8]))  # CUTLASS's rasters and swizzles
COMPILE_SECONDS = 500


class Schedule(NamedTuple):
    tile_m: int
    tile_n: int
    mainloop: str
    stages: int

    def __str__(self):
        return (
            f"tile {self.tile_m}x{self.tile_n}x64 cluster 2x1 mainloop {self.mainloop}"
            f" stages {self.stages}"
        )

    def name(self):
        return f"{self.tile_m}x{self.tile_n}-{self.mainloop}"


SCHEDULES = [
    Schedule(128, 256, "cooperative", 4),
    Schedule(128, 128, "pingpong", 6),
    Schedule(64, 256, "pingpong", 4),
]


def command(*arguments):
    done = subprocess.run(
        arguments, cwd=ROOT, capture_output=True, text=True, timeout=COMPILE_SECONDS
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


# ---- building -----------------------------------------------------------------------------------


def build_ours(text, schedule, work):
    folder = work / f"{text}-{schedule.name()}"
    said = command(
        str(ROOT / "fact"), "kernel", "build", str(HERE / f"{text}.fact"),
        "--schedule", str(schedule), "-o", str(folder),
    )  # fmt: skip
    lines = len((folder / "kernel.cu").read_text().splitlines())
    return folder, {"lines": lines, "compiler": next(s for s in said.splitlines() if "spill" in s)}


def cutlass_include():
    prefixes = [os.environ.get("CUTLASS_DIR"), os.environ.get("FACT_DEPS_DIR")]
    prefixes.append(ROOT / ".fact/cutlass/cutlass_library/source")
    for prefix in filter(None, prefixes):
        if (Path(prefix) / "include/cutlass/version.h").exists():
            return Path(prefix) / "include"
    sys.exit("CUTLASS is not found: set CUTLASS_DIR")


def build_stock(text, schedule, work):
    library = work / f"stock-{text}-{schedule.name()}.so"
    macros = {
        "TILE_M": schedule.tile_m,
        "TILE_N": schedule.tile_n,
        "CLUSTER_M": 2,
        "PINGPONG": int(schedule.mainloop == "pingpong"),
        "STAGES": schedule.stages,
        "EPILOGUE": TEXTS.index(text),
    }
    command(
        os.environ.get("FACT_NVCC", "nvcc"), "-arch=sm_90a", "-std=c++17", "-O3", "-DNDEBUG",
        "--expt-relaxed-constexpr", "-shared", "-Xcompiler", "-fPIC", f"-I{cutlass_include()}",
        *(f"-D{name}={value}" for name, value in macros.items()),
        str(HERE / "stock.cu"), "-o", str(library),
    )  # fmt: skip
    return library


def build_all(work):
    """Folders of our kernels, libraries of the stock ones and facts about our sources, by (text,
    schedule)."""
    pairs = list(itertools.product(TEXTS, SCHEDULES))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        stock = {pair: pool.submit(build_stock, *pair, work) for pair in pairs}
        ours = {pair: pool.submit(build_ours, *pair, work) for pair in pairs}
        return (
            {pair: job.result()[0] for pair, job in ours.items()},
            {pair: job.result() for pair, job in stock.items()},
            {f"{p[0]}, {p[1]}": job.result()[1] for p, job in ours.items()},
        )


# ---- operands and results -----------------------------------------------------------------------


def operands(m, n, k, device="cuda"):
    torch.manual_seed(1)

    def normal(*sizes, scale=1.0, mean=0.0):
        return (torch.randn(*sizes, device=device) * scale + mean).to(torch.bfloat16)

    return {
        "x": normal(m, k),
        "w": normal(n, k, scale=k**-0.5),
        "alpha": torch.tensor(1.25, device=device),
        "bias": normal(n, scale=0.5),
        "gain": normal(n, scale=0.2, mean=1.0),
        "shift": normal(n, scale=0.2),
        "keep": (torch.rand(m, device=device) < 0.9).to(torch.bfloat16),
        "beta": torch.tensor(1 / 0.9, device=device),
        "offset": normal(m),
        "residual": normal(m, n),
    }


def by_torch(o):
    """What the texts compute, in the operands' own type."""
    acc = o["x"] @ o["w"].T
    hidden = torch.nn.functional.silu(o["alpha"] * acc + o["bias"])
    scaled = torch.clamp(o["gain"] * hidden + o["shift"], -6.0, 6.0)
    branch = (o["beta"] * o["keep"])[:, None] * scaled
    return {
        "plain": acc,
        "epilogue": torch.relu((o["offset"][:, None] + branch) * 0.70710678),
        "residual": torch.relu((o["residual"] + branch) * 0.70710678),
    }


def error(result, exact):
    """Largest and root-mean-square error over the exact result's."""
    difference = result.double() - exact
    return {
        "largest": (difference.abs().max() / exact.abs().max()).item(),
        "rms": (difference.norm() / exact.norm()).item(),
    }


class Oracle:
    """Errors against f64, and whether they are at most twice torch's own."""

    def __init__(self, o):
        self.exact = by_torch({name: tensor.double() for name, tensor in o.items()})
        self.torch = {text: error(y, self.exact[text]) for text, y in by_torch(o).items()}

    def judge(self, text, result):
        errors = error(result, self.exact[text])
        passes = all(e <= max(2 * self.torch[text][kind], ROUNDING) for kind, e in errors.items())
        return errors | {"torch": self.torch[text], "passes": passes}


class StockOperands(ctypes.Structure):
    ORDER = ["x", "w", "y", "alpha", "beta", "bias", "gain", "shift", "keep", "offset", "residual"]
    _fields_ = [(name, ctypes.c_void_p) for name in ORDER]


def stock_function(library, o, y):
    """The library's kernel as a function of CUTLASS's raster and swizzle, writing y."""
    run = ctypes.CDLL(str(library)).run
    pointers = StockOperands(*((o | {"y": y})[name].data_ptr() for name in StockOperands.ORDER))
    m, n, k = *y.shape, o["x"].shape[1]

    def call(walk):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if status := run(ctypes.byref(pointers), m, n, k, *walk, stream):
            raise RuntimeError(f"{library.name}: CUTLASS's status {status}")

    return call


# ---- measuring ----------------------------------------------------------------------------------


def best_walk(call):
    """The fastest raster and swizzle of a stock kernel: it pads its grid to whole swizzles, so the
    best depends on the shape."""
    times = _timing.single([lambda walk=walk: call(walk) for walk in WALKS], total_us=100_000)
    return WALKS[min(range(len(WALKS)), key=lambda i: times[i]["median_us"])]


def spread(over, under):
    """over / under: of the medians, and the least and most that the spreads allow."""
    return {
        "median": over["median_us"] / under["median_us"],
        "low": over["low_us"] / under["high_us"],
        "high": over["high_us"] / under["low_us"],
    }


PAIRS = [  # the first's time over the second's
    ("epilogue", "plain"),
    ("residual", "plain"),
    ("stock_plain", "plain"),
    ("stock_epilogue", "epilogue"),
    ("stock_residual", "residual"),
    ("torch", "plain"),
]
MODES = {"single": _timing.single, "sustained": _timing.sustained}


def measure(shape, schedule, o, oracle, ours, stock):
    y = torch.empty(shape[:2], dtype=torch.bfloat16, device="cuda")
    works, errors, walks = {}, {}, {}
    for text in TEXTS:
        kernel = fact.kernel(ours[text, schedule])
        inputs = [o[name] for name in kernel.params]
        works[text] = lambda kernel=kernel, inputs=inputs: kernel(*inputs)
        errors[text] = oracle.judge(text, works[text]())
    for text in TEXTS:
        name, call = f"stock_{text}", stock_function(stock[text, schedule], o, y)
        y.fill_(float("nan"))
        call(WALKS[0])
        errors[name] = oracle.judge(text, y)
        walks[name] = best_walk(call)
        works[name] = lambda call=call, walk=walks[name]: call(walk)
    works["torch"] = lambda: o["x"] @ o["w"].T
    row = {"shape": "x".join(map(str, shape)), "schedule": str(schedule)}
    row |= {"errors": errors, "stock_raster_and_swizzle": walks}
    for mode, clock in MODES.items():
        times = dict(zip(works, clock(list(works.values()))))
        ratios = {f"{a} / {b}": spread(times[a], times[b]) for a, b in PAIRS}
        row[mode] = {"times": times, "ratios": ratios}
    return row


def fastest(rows):
    """Every kernel's fastest schedule for each shape, by single and sustained launches together."""
    found = {}
    for row in rows:
        for name in row["single"]["times"]:
            times = {f"{mode}_us": row[mode]["times"][name]["median_us"] for mode in MODES}
            entry = {"schedule": row["schedule"]} | times
            best = found.setdefault(row["shape"], {}).setdefault(name, entry)
            if sum(times.values()) < sum(best[key] for key in times):
                found[row["shape"]][name] = entry
    return found


def row_lines(rows, found):
    yield ["shape", "schedule", "epilogue us", *(f"{a} / {b}" for a, b in PAIRS), "errors"]
    for row in rows:
        best = found[row["shape"]]["epilogue"]["schedule"] == row["schedule"]
        ratios = zip(*(row[mode]["ratios"].values() for mode in MODES))
        yield [
            row["shape"],
            row["schedule"] + (" *" if best else ""),
            f"{row['single']['times']['epilogue']['median_us']:.0f}",
            *("{:.3f}, {:.3f}".format(*(ratio["median"] for ratio in two)) for two in ratios),
            "fine" if all(e["passes"] for e in row["errors"].values()) else "WRONG",
        ]


def fastest_lines(found):
    for shape, kernels in found.items():
        ratios = (
            [kernels[a][f"{mode}_us"] / kernels[b][f"{mode}_us"] for mode in MODES] for a, b in PAIRS
        )
        best = ["{:.3f}, {:.3f}".format(*two) for two in ratios]
        yield [shape, "each its fastest", f"{kernels['epilogue']['single_us']:.0f}", *best, ""]


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    os.environ.setdefault("FACT_COMMAND", "bench/epilogue/run.py OUT")
    command(str(ROOT / "fact"), "version")  # builds it where that is needed
    with tempfile.TemporaryDirectory() as folder:
        ours, stock, sources = build_all(Path(folder))
        for name, source in sources.items():
            print(f"{name}: {source['lines']} lines, {source['compiler']}", flush=True)
        rows = []
        for shape in SHAPES:
            o = operands(*shape)
            oracle = Oracle(o)
            for schedule in SCHEDULES:
                rows.append(measure(shape, schedule, o, oracle, ours, stock))
                print(f"{rows[-1]['shape']}, {schedule}: measured", flush=True)
    found = fastest(rows)
    results = {"sources": sources, "rows": rows, "fastest": found}
    collect.write(Path(sys.argv[1]) / "epilogue.json", results)
    print("\nratios: single, sustained; *: the epilogue's fastest schedule")
    collect.print_table([*row_lines(rows, found), *fastest_lines(found)])
    wrong = any(not e["passes"] for row in rows for e in row["errors"].values())
    return int(wrong or any(source["lines"] >= MOST_LINES for source in sources.values()))


if __name__ == "__main__":
    sys.exit(main())
