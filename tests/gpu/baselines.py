"""What modules are compared with, on a GPU: python tests/gpu/baselines.py WORK

torch's precision settings stay the user's, a captured module that takes another path than a called
one is not timed as a graph, and kernels of convolutions compute in what the settings allow. One line a
check; exit code 1 where one fails.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from fact import _precision, _timing  # noqa: E402
from fact.trace import load_model  # noqa: E402

CONVOLUTION = """
import torch

{setting}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.points = torch.nn.Conv2d(512, 1024, 1)

    def forward(self, x):
        return torch.relu(self.points(x))


def get_inputs(): return [torch.randn(8, 512, 32, 32)]
def get_init_inputs(): return []
"""
FP32, TF32 = 1e-5, 2e-5  # errors below the first are fp32's, above the second TF32's

failures = 0


def check(what, fine, more=""):
    global failures
    failures += not fine
    print(f"{'ok' if fine else 'FAILED'}: {what}{': ' + more if more else ''}", flush=True)


def settings():
    """A convolution in torch is as exact as the settings say, and the benchmark leaves them alone."""
    x, weight = torch.randn(8, 64, 32, 32, device="cuda"), torch.randn(64, 64, 3, 3, device="cuda")
    exact = torch.nn.functional.conv2d(x.double(), weight.double())

    def error():
        return ((torch.nn.functional.conv2d(x, weight) - exact).abs().max() / exact.abs().max()).item()

    usual = _precision.recorded()
    check("torch's default allows TF32 in convolutions", usual["tf32_convolutions"])
    check("and not in products", not usual["tf32_products"])
    check("a convolution is TF32's", error() > TF32, f"{error():.1e}")
    with _precision.restored():
        torch.backends.cudnn.allow_tf32 = False
        check("without it fp32's", error() < FP32, f"{error():.1e}")
    check("and afterwards TF32's again", error() > TF32, f"{error():.1e}")


def captured(example):
    """A Hugging Face model's sustained time is of calls where its replay is slower than a call."""
    if not importlib.util.find_spec("transformers"):
        print(f"skipped: {example} needs the package transformers")
        return
    with torch.no_grad():
        module, inputs = load_model(str(ROOT / "examples" / f"{example}.py"), "bf16", "cuda")

        def work():
            return module(*inputs)

        again = _timing.repeatable(work)
        called = _timing.single([work], total_us=500_000.0)[0]["median_us"]
        replay = _timing.captured(work)
        if replay is None:
            return check(f"{example} cannot be captured", again.work is work, again.how)
        replayed = _timing.single([replay], total_us=500_000.0)[0]["median_us"]
        held = _timing.sustained([again.work])[0]["median_us"]
    said = f"called {called:.0f} us, replayed {replayed:.0f} us, sustained {held:.0f} us of {again.how}"
    slower = replayed > 1.1 * called
    check(f"{example} is timed as it is called", again.work is work or not slower, said)


def kernels(work):
    """The precision of a convolution's kernel, and the error torch's own is held to."""
    program = os.environ.get("FACT_PROGRAM", str(ROOT / "fact"))
    for name, setting, low, high in (
        ("usual", "", TF32, 1e-2),
        ("exact", "torch.backends.cudnn.allow_tf32 = False", 0.0, FP32),
    ):
        source, run = work / f"convolution_{name}.py", work / f"convolution_{name}"
        source.write_text(CONVOLUTION.format(setting=setting))
        done = subprocess.run(
            [program, "optimize", source, "--run-dir", run, "--effort", "2", "--no-bench", "--retune"],
            capture_output=True,
            text=True,
        )
        if not (run / "report.json").exists():
            check(f"convolution, {name}", False, done.stdout[-300:] + done.stderr[-300:])
            continue
        report = json.loads((run / "report.json").read_text())
        rows = [row for row in report["patterns"] if row["error_compiled"]]
        check(f"convolution, {name}: has a kernel", bool(rows), report["precision"])
        for row in rows:
            error = row["error_compiled"]["eager"]
            said = f"{row['precision']}, torch's error {error:.1e}, the kernel's {row['error_compiled']['kernel']:.1e}"
            check(f"convolution, {name}: torch is held to what the kernel claims", low <= error <= high, said)


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("skipped: there is no GPU")
        return 0
    torch.manual_seed(1)
    work = Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    settings()
    for example in ("vit", "qwen2"):
        captured(example)
    kernels(work)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
