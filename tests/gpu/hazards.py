"""What goes wrong with kernels only on a busy GPU, in reused memory, or at sizes beyond 2^31.

    python tests/gpu/hazards.py

One line a check; the exit status says whether one failed. Kernels are built by `fact kernel build`.
"""

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import kernels  # noqa: E402
import torch  # noqa: E402

ROWS, LENGTH = 540_672, 4096  # 2.2e9 elements
FLAT = 2**31 + 2048

# name: text, extents, options
TEXTS = {
    "softmax": (
        "kernel softmax_rows(x: bf16[M, N]) -> (y: bf16[M, N]) {\n  y = softmax(x, over: N)\n}\n",
        {"M": ROWS, "N": LENGTH},
    ),
    "pointwise": (
        "kernel scaled(x: bf16[M, N], b: bf16[N]) -> (y: bf16[M, N]) {\n  y = relu(x) * 2.0 + b\n}\n",
        {"M": ROWS, "N": LENGTH},
    ),
    "elements": (  # rows that do not lie in one piece
        "kernel turned(x: bf16[M, N]) -> (y: bf16[N, M]) {\n  y = -x.T\n}\n",
        {"M": ROWS, "N": LENGTH},
    ),
    "columns": (
        "kernel column_sums(x: bf16[M, N]) -> (y: f32[N]) {\n  y = sum(x, over: M)\n}\n",
        {"M": ROWS, "N": LENGTH},
    ),
    "flat": ("kernel doubled(x: bf16[N]) -> (y: bf16[N]) {\n  y = 2.0 * x\n}\n", {"N": 4096}),
    "product": (
        "kernel linear(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  y = x @ w.T\n}\n",
        {"M": ROWS, "N": LENGTH, "K": 64},
    ),
    "product_mma": (  # the skeleton of GPUs before sm90
        "kernel linear(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  y = x @ w.T\n}\n",
        {"M": ROWS, "N": LENGTH, "K": 64},
        "--no-tma",
    ),
    "weight": (
        "kernel weight(v: f32[M, N]) -> (w: f32[N]) {\n  w = max(v, over: M)\n}\n",
        {"M": 8, "N": 4096},
    ),
    "norm": (
        "kernel norm(x: bf16[M, N], w: f32[N]) -> (y: bf16[M, N]) {\n"
        "  y = rms_norm(x, over: N, eps: 1e-6) * w\n}\n",
        {"M": 264, "N": 4096},
    ),
    "streamed": (
        "kernel linear(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  acc = x @ w.T\n  y = acc\n}\n"
        "schedule linear.acc on sm90a {\n  tile 128x256x64  cluster 2x1  mainloop cooperative\n"
        "  scheduler streamk(raster: m, swizzle: 8)\n}\n",
        {"M": 2560, "N": 2560, "K": 2048},
    ),
    "streamed_alone": (  # clusters of one block, ping-pong, fewer tiles than multiprocessors
        "kernel linear(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  acc = x @ w.T\n  y = acc\n}\n"
        "schedule linear.acc on sm90a {\n  tile 128x128x64  cluster 1x1  mainloop pingpong\n"
        "  scheduler streamk(raster: m, swizzle: 8)\n}\n",
        {"M": 1024, "N": 1280, "K": 4096},
    ),
    "divided": (
        "kernel linear(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  acc = x @ w.T\n  y = acc\n}\n"
        "schedule linear.acc on sm90a {\n  tile 128x128x64  cluster 1x1  mainloop cooperative\n"
        "  scheduler splitk(raster: m, swizzle: 8)\n}\n",
        {"M": 256, "N": 512, "K": 8192},
    ),
    "statistics": (
        "kernel norm_linear(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  acc = x @ w.T\n"
        "  y = acc * rsqrt(mean(x * x, over: K) + 1e-6)\n}\n"
        "schedule norm_linear.acc on sm90a {\n  tile 128x256x64  cluster 2x1  mainloop cooperative\n"
        "  scheduler streamk(raster: m, swizzle: 8)\n}\n",
        {"M": 5120, "N": 3584, "K": 2048},
    ),
}
MEAN = "kernel column_mean(x: bf16[M, N]) -> (y: f32[N]) {\n  y = mean(x, over: M)\n}\n"

failures = 0


def check(name, holds, more=""):
    global failures
    failures += not holds
    print(f"{'ok    ' if holds else 'FAILED'} {name}{': ' + more if more else ''}", flush=True)


def near(got, want, least=1e-3):
    return torch.allclose(got.float(), want.float(), rtol=1e-2, atol=least)


def some_rows(rows):
    """The first, those where 2^31 elements and bytes are passed, and the last."""
    marks = [0, 2**30 // LENGTH, 2**31 // LENGTH, rows]
    return torch.cat([torch.arange(max(m - 20, 0), min(m + 20, rows)) for m in marks]).cuda()


def large(built):
    """Tensors of more than 2^31 elements: addresses are computed in 64 bits."""
    x = torch.empty(ROWS, LENGTH, device="cuda", dtype=torch.bfloat16).normal_()
    at = some_rows(ROWS)
    check("softmax of 2.2e9 elements", near(built["softmax"](x)[at], x[at].float().softmax(-1), 0))
    bias = torch.randn(LENGTH, device="cuda").bfloat16()
    want = x[at].float().relu() * 2 + bias.float()
    check("pointwise of 2.2e9 elements", near(built["pointwise"](x, bias)[at], want))
    check("a transposed tensor of 2.2e9 elements", torch.equal(built["elements"](x)[:, at], -x[at].T))
    sums = torch.zeros(LENGTH, device="cuda", dtype=torch.float64)
    for part in x.split(1 << 16):
        sums += part.double().sum(0)
    error = ((built["columns"](x).double() - sums).abs().max() / ROWS**0.5).item()
    check("sums along columns of 2.2e9 elements", error < 1e-4, f"{error:.1e} of their size")
    del x

    x = torch.randn(ROWS, 64, device="cuda").bfloat16()
    w = torch.randn(LENGTH, 64, device="cuda").bfloat16() / 8
    for name in ("product", "product_mma"):
        check(f"{name} of 2.2e9 results", near(built[name](x, w)[at], x[at].float() @ w.float().T))

    x = torch.ones(FLAT, device="cuda", dtype=torch.bfloat16)
    try:
        built["flat"](x)
        why = "it was launched"
    except RuntimeError as refused:
        why = str(refused).splitlines()[0]
    check("a dimension beyond 2^31 is refused", "more than kernels count to" in why, why)
    torch.cuda.empty_cache()


def previous(built):
    """Kernels that start before the one before them ends read what that one wrote, not what was there."""
    weights = [torch.full((8, 4096), float(i), device="cuda") for i in range(1, 5)]
    x = torch.ones(264, 4096, device="cuda", dtype=torch.bfloat16)
    wrong = torch.zeros((), device="cuda", dtype=torch.int64)
    for i in range(400):
        y = built["norm"](x, built["weight"](weights[i % 4]))
        wrong += (y != i % 4 + 1).any()
    check("400 norms by a weight that was just written", wrong.item() == 0, f"{wrong.item()} wrong")


def poisoned():
    """Memory that was just given back, with something in it that counters could be."""
    for value in (0, -1, 1, 2**31 + 7, 143):
        torch.full((1 << 25,), value, device="cuda", dtype=torch.int64)
        yield value


def waiting(built):
    """Kernels whose blocks wait for others: in reused memory, in graphs, beside others."""
    for name in ("streamed", "streamed_alone", "divided", "statistics"):
        kernel, (_, extents, *_) = built[name], TEXTS[name]
        x = torch.randn(extents["M"], extents["K"], device="cuda").bfloat16()
        w = torch.randn(extents["N"], extents["K"], device="cuda").bfloat16() / extents["K"] ** 0.5
        exact = x.float() @ w.float().T
        if name == "statistics":
            exact = exact * (x.float().square().mean(-1, keepdim=True) + 1e-6).rsqrt()
        want = kernel(x, w)
        right = near(want, exact)
        same = sum(torch.equal(kernel(x, w), want) for _ in poisoned())
        check(f"{name}: in memory with anything in it", right and same == 5, f"{same} of 5 the same")

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = [kernel(x, w) for _ in range(3)]
        wrong = 0
        for _ in range(50):
            for result in results:
                result.fill_(float("nan"))
            graph.replay()
            wrong += not all(torch.equal(result, want) for result in results)
        check(f"{name}: 150 replays", wrong == 0, f"{wrong} wrong")

        # Others hold some of the multiprocessors, and calls on several streams the rest of each other's.
        streams = [torch.cuda.Stream() for _ in range(4)]
        busy = torch.randn(1024, 1024, device="cuda").bfloat16()
        torch.cuda.synchronize()
        found = []
        for i in range(80):
            with torch.cuda.stream(streams[i % 4]):
                if i % 4 == 3:
                    busy @ busy
                else:
                    found.append(kernel(x, w))
        torch.cuda.synchronize()
        wrong = sum(not torch.equal(y, want) for y in found)
        check(f"{name}: {len(found)} calls on three streams beside others", wrong == 0, f"{wrong} wrong")


def barriers(folder):
    """Columns that a block's lanes take side by side, of numbers that do not fill the block."""
    import fact

    kernel = fact.kernel(kernels.build(MEAN, Path(folder) / "mean", {"M": 100, "N": 33}))
    wrong = []
    for rows, columns in ((1, 1), (100, 33), (1000, 31), (257, 4129), (64, 70)):
        x = torch.randn(rows, columns, device="cuda").bfloat16()
        if not near(kernel(x), x.float().mean(0)):
            wrong.append(f"{rows}x{columns}")
    check("means of columns that do not fill a block", not wrong, " ".join(wrong))


def main():
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        print("tests/gpu/hazards.py needs a GPU of sm90")
        return 0
    import fact

    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:

        def build(name):
            text, extents, *options = TEXTS[name]
            return kernels.build(text, Path(folder) / name, extents, *options)

        first, *others = TEXTS  # which may have to set up what the others share
        folders = [build(first), *pool.map(build, others)]
        built = {name: fact.kernel(at) for name, at in zip(TEXTS, folders)}
        previous(built)
        waiting(built)
        barriers(folder)
        free, _ = torch.cuda.mem_get_info()
        if free < 24 * 2**30:
            print("too little memory for the large tensors")
        else:
            large(built)
    print(f"{failures} failed")
    return failures > 0


sys.exit(main())
