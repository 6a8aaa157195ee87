"""Functions and integers of emitted kernels, element by element against f64.

    python tests/gpu/functions.py

Each text is built by `fact kernel build` and run on the GPU; where there is none it is interpreted.
A result may be off by a share of itself, however small it is: the tails of a sigmoid in bf16 too.
Integers beyond 32 bits are compared as they are.
"""

import math
import pathlib
import sys
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import kernels  # noqa: E402

# How far off a result may be, as a share of it: twice a rounding; in f32 an exp of 80.
TYPES = {
    "bf16": (torch.bfloat16, 2**-8),
    "f16": (torch.float16, 2**-11),
    "f32": (torch.float32, 1e-5),
}


def gelu_tanh(x):
    return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


# From where on to look: further down f32 itself has nothing left of what cancels.
FUNCTIONS = {
    "sigmoid": (torch.sigmoid, -80),
    "silu": (lambda x: x * torch.sigmoid(x), -80),
    "gelu_tanh": (gelu_tanh, -4),
    "softplus": (lambda x: torch.log1p(torch.exp(x)), -80),
    "mish": (lambda x: x * torch.tanh(torch.log1p(torch.exp(x))), -80),
    "tanh": (torch.tanh, -80),
    "exp": (torch.exp, -80),
}

SINCE = """\
kernel since(x: f32[M, {n}], t: i64[M, {n}], start: i64[M]) -> (y: f32[M, {n}], latest: i64[M], age: f32[M, {n}]) {{
  y = where(t >= start, x, 0.0)
  latest = max(max(t, over: {n}), index(M))
  age = f32(t - start)
}}
"""


def built(folder, text, **sizes):
    import fact

    return fact.kernel(kernels.build(text, folder, sizes))


def report(name, ok, what):
    print(f"{'ok  ' if ok else 'FAIL'} {name}: {what}")
    return not ok


def wrong_functions(folder, device):
    failed = 0
    for kind, (dtype, share) in TYPES.items():
        for name, (exact, first) in FUNCTIONS.items():
            text = f"kernel f(x: {kind}[M, 512]) -> (y: {kind}[M, 512]) {{\n  y = {name}(x)\n}}\n"
            kernel = built(folder / f"{name}_{kind}", text, M=64)
            x = torch.linspace(first, 80, 64 * 512, device=device).to(dtype).view(64, 512)
            got, want = kernel(x).double(), exact(x.double())
            # What the type has no normal numbers for is not judged.
            judged = want.abs().ge(torch.finfo(dtype).tiny) & want.abs().le(torch.finfo(dtype).max)
            off = ((got - want) / want).abs()[judged].max().item()
            failed += report(f"{name} in {kind}", off <= share, f"off by {off:.1e} of the result")
    return failed


def wide(shape, device):
    """Small numbers, half of which only the upper 32 bits tell apart."""
    small, high = torch.randint(4, shape, device=device), torch.randint(-2, 3, shape, device=device)
    return small + high * 2**32


def wrong_integers(folder, device):
    failed = 0
    for n in ("N", "512"):  # rows of any length, and of one that is known
        sizes = {"M": 64, "N": 512} if n == "N" else {"M": 64}
        kernel = built(folder / f"since_{n}", SINCE.format(n=n), **sizes)
        torch.manual_seed(1)
        x = torch.randn(64, 512, device=device)
        t, start = wide((64, 512), device), wide((64,), device)
        y, latest, age = kernel(x, t, start)
        late = t >= start[:, None]
        most = torch.maximum(t.amax(1), torch.arange(64, device=device))
        for what, got, want in (
            ("compared", y, torch.where(late, x, 0.0)),
            ("largest", latest, most),
            ("difference", age, (t - start[:, None]).float()),
        ):
            wrong = got.ne(want).sum().item()
            failed += report(f"i64 {what} over {n}", wrong == 0, f"{wrong} of {want.numel()} wrong")
    return failed


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory(prefix="fact-functions-") as folder:
        folder = pathlib.Path(folder)
        failed = wrong_functions(folder, device) + wrong_integers(folder, device)
    print(f"{failed} failed on {torch.cuda.get_device_name() if device == 'cuda' else 'the CPU'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
