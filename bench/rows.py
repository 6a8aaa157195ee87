"""Norms and softmax beside torch's own, and beside a plain copy.

    python bench/rows.py RESULTS.json [NAME...]

Each kernel is a text of the language, built by `fact kernel build`, checked against f64 and timed
in turns with torch's call and with torch's copy of half as many bytes as the kernel reads and
writes: back to back, the queue kept full, over buffers that together are several times the L2. GB/s
counts what has to be read and written once. With NAMEs (softmax, add_rms_norm, ...) only those are
measured. Without a GPU everything is built and nothing is run.
"""

import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import collect  # noqa: E402
import kernels  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}
ALLOWED = {"bf16": 2**-7, "f32": 2**-20}  # of the largest value
SHAPES = [(65536, 768), (8192, 4096), (8192, 1024), (32768, 512), (1000, 776)]
ROWS_CHECKED = 500  # at the start and at the end
ROTATED_BYTES = 400e6  # of all buffers, so that none is still in the L2 when its turn comes again
ROUNDS = 21
DEVICE = "cuda"


def _layer_norm(x, g, b):
    return F.layer_norm(x, x.shape[-1:], g, b, 1e-5)


def _rms_norm(x, g):
    return F.rms_norm(x, x.shape[-1:], g, 1e-6)


# Row parameters [M, N], weights [N], outputs [M, N], the body of the text, and torch's function.
KERNELS = {
    "layer_norm": (["x"], ["g", "b"], ["y"], "y = layer_norm(x, over: N, eps: 1e-5) * g + b", _layer_norm),
    "rms_norm": (["x"], ["g"], ["y"], "y = rms_norm(x, over: N, eps: 1e-6) * g", _rms_norm),
    "softmax": (["x"], [], ["y"], "y = softmax(x, over: N)", lambda x: F.softmax(x, -1)),
    "add_layer_norm": (
        ["x", "r"], ["g", "b"], ["s", "y"],
        "s = {cast}(x + r)\n  y = layer_norm(s, over: N, eps: 1e-5) * g + b",
        lambda x, r, g, b: (s := x + r, _layer_norm(s, g, b)),
    ),
    "add_rms_norm": (
        ["x", "r"], ["g"], ["s", "y"],
        "s = {cast}(x + r)\n  y = rms_norm(s, over: N, eps: 1e-6) * g",
        lambda x, r, g: (s := x + r, _rms_norm(s, g)),
    ),
}  # fmt: skip


class Case:
    def __init__(self, name, dtype, m, n):
        self.name, self.dtype, self.m, self.n = name, dtype, m, n
        self.rows, self.weights, self.outputs, self.body, self.torch = KERNELS[name]

    def text(self):
        params = [f"{p}: {self.dtype}[M, N]" for p in self.rows] + [f"{p}: {self.dtype}[N]" for p in self.weights]
        outputs = [f"{o}: {self.dtype}[M, N]" for o in self.outputs]
        body = self.body.format(cast="" if self.dtype == "f32" else self.dtype)
        return f"kernel rows_{self.name}({', '.join(params)}) -> ({', '.join(outputs)}) {{\n  {body}\n}}\n"

    def build(self, folder):
        stem = Path(folder) / f"{self.name}-{self.dtype}-{self.m}x{self.n}"
        return kernels.build(self.text(), stem, {"M": self.m, "N": self.n})

    def bytes(self):
        item = TYPES[self.dtype].itemsize
        return item * self.n * (self.m * (len(self.rows) + len(self.outputs)) + len(self.weights))

    def inputs(self):
        dtype = TYPES[self.dtype]
        rows = [torch.randn(self.m, self.n, device=DEVICE).to(dtype) * 2 + 0.5 for _ in self.rows]
        return rows + [torch.randn(self.n, device=DEVICE).to(dtype) for _ in self.weights]

    def errors(self, kernel):
        """The kernel's largest error over the largest value, and torch's."""
        inputs = self.inputs()

        def ends(tensor):
            return torch.cat([tensor[:ROWS_CHECKED], tensor[-ROWS_CHECKED:]])

        checked = [ends(t) if t.dim() == 2 else t for t in inputs]
        exact = _list(self.torch(*(t.double() for t in checked)))
        if len(exact) > 1:  # the norm is of the sum as it is stored
            rounded = exact[0].to(TYPES[self.dtype]).double()
            weights = [t.double() for t in checked[2:]]
            exact[1] = _list(self.torch(rounded, torch.zeros_like(rounded), *weights))[1]
        found = [[ends(t) for t in _list(kernel(*inputs))], _list(self.torch(*checked))]
        return [
            max(((a.double() - e).abs().max() / e.abs().max()).item() for a, e in zip(each, exact)) for each in found
        ]


def _list(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _rotating(function, sets):
    """The function over one set of inputs after the other; results live until their set comes again."""
    results, turn = [None] * len(sets), 0

    def work():
        nonlocal turn
        results[turn] = function(*sets[turn])
        turn = (turn + 1) % len(sets)

    return work


def _times(works, count):
    """Microseconds of one call of each work, in turns."""
    times = [[] for _ in works]
    for work in works:
        for _ in range(count):
            work()
    torch.cuda.synchronize()
    hosts = []
    for work in works:
        start = time.perf_counter()
        work()
        hosts.append((time.perf_counter() - start) * 1e6)
    torch.cuda.synchronize()
    from fact import _timing

    occupy = min(100_000.0, 2 * max(hosts) * count + 200)
    for _ in range(ROUNDS):
        for work, list_ in zip(works, times):
            list_.append(_timing._microseconds(_timing._span(work, occupy, count)) / count)
    return [_timing.summarize(list_) for list_ in times]


def measure(case, folder):
    import fact

    kernel = fact.kernel(folder)
    error, torch_error = case.errors(kernel)
    sets = [case.inputs() for _ in range(max(2, min(64, int(ROTATED_BYTES / case.bytes()))))]
    pairs = [torch.empty(2, case.bytes() // 2, dtype=torch.uint8, device=DEVICE).unbind() for _ in sets]
    works = [_rotating(kernel, sets), _rotating(case.torch, sets), _rotating(lambda x, y: y.copy_(x), pairs)]
    with torch.no_grad():
        ours, torchs, copy = _times(works, len(sets))
    return {
        "name": case.name,
        "dtype": case.dtype,
        "shape": f"{case.m}x{case.n}",
        "fact": ours,
        "torch": torchs,
        "copy": copy,
        "gb_per_s": case.bytes() / ours["median_us"] * 1e-3,
        "share": copy["median_us"] / ours["median_us"],
        "over_torch": torchs["median_us"] / ours["median_us"],
        "error": error,
        "torch_error": torch_error,
        "right": error <= max(ALLOWED[case.dtype], 2 * torch_error),  # NaN is not
    }


def cases(names):
    for name in names or KERNELS:
        for dtype in TYPES:
            for m, n in SHAPES:
                yield Case(name, dtype, 16 * m if (name, n) == ("softmax", 512) else m, n)


def table(rows):
    lines = [["kernel", "type", "shape", "us", "GB/s", "of a copy", "torch us", "over torch", "error", "torch's"]]
    for r in rows:
        lines.append([
            r["name"], r["dtype"], r["shape"], f"{r['fact']['median_us']:.1f}", f"{r['gb_per_s']:.0f}",
            f"{100 * r['share']:.0f} %", f"{r['torch']['median_us']:.1f}", f"{r['over_torch']:.2f}x",
            f"{r['error']:.1e}", f"{r['torch_error']:.1e}",
        ])  # fmt: skip
    collect.print_table(lines)


def main():
    if len(sys.argv) < 2 or any(name not in KERNELS for name in sys.argv[2:]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    os.environ.setdefault("FACT_COMMAND", " ".join(["bench/rows.py RESULTS.json", *sys.argv[2:]]))
    torch.manual_seed(1)
    wanted = list(cases(sys.argv[2:]))
    with tempfile.TemporaryDirectory() as folder:
        with ThreadPoolExecutor(int(os.environ.get("FACT_JOBS", os.cpu_count() or 1))) as pool:
            built = list(pool.map(lambda case: case.build(folder), wanted))
        print(f"{len(built)} kernels built")
        if not torch.cuda.is_available():
            print("no GPU: nothing was run", file=sys.stderr)
            return 1
        rows = []
        for case, kernel_folder in zip(wanted, built):
            rows.append(measure(case, kernel_folder))
            torch.cuda.empty_cache()
    collect.write(Path(sys.argv[1]), {"rows": rows})
    table(rows)
    large = [r["share"] for r in rows if not r["shape"].startswith("1000x")]
    print(f"least share of a copy's speed at the large shapes: {100 * min(large):.0f} %, median {100 * statistics.median(large):.0f} %")
    wrong = [f"{r['name']} {r['dtype']} {r['shape']}" for r in rows if not r["right"]]
    if wrong:
        print(f"wrong: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
