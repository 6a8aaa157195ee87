"""Whether a package and a kernel stay what they are on a GPU: under torch.compile, torch.export and
torch.jit.trace, pickled, in other processes, and with another mask than was built in.

    python tests/gpu/compiled.py PACKAGE SPEC [DTYPE]

The package must hold a kernel. One line a check; what runs is read off the profiler's CUDA
activities, by the names of the package's own kernels.
"""

import io
import json
import os
import pathlib
import sys
import tempfile

# Examples ask whether there is a GPU; by default torch's answer ends all hope of a fork.
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"

import torch  # noqa: E402
import torch.multiprocessing as multiprocessing  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench")]

import fact  # noqa: E402
import kernels  # noqa: E402
from fact.trace import load_model  # noqa: E402

TEXT = """\
kernel linear_relu(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {
  acc = x @ w.T
  y = relu(acc)
}
"""


def entries(folder):
    """The names of its kernels in the cubins."""
    names = set()
    for record in pathlib.Path(folder).rglob("record.json"):
        names |= {launch["entry"] for launch in json.loads(record.read_text())["launches"]}
    return names


def launched(call, *args):
    """The names of all kernels that a call runs on the GPU."""
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call(*args)
        torch.cuda.synchronize()
    return {event.name for event in profile.events() if event.device_type.name == "CUDA"}


def leaves(value):
    return [x for x in torch.utils._pytree.tree_leaves(value) if isinstance(x, torch.Tensor)]


def close(got, want):
    """Kernels may sum in another order from call to call."""
    return all(
        (a.double() - b.double()).abs().max() <= 2e-2 * b.double().abs().max() + 1e-6
        for a, b in zip(leaves(got), leaves(want), strict=True)
    )


def in_child(module, inputs, results):
    with torch.no_grad():
        inputs = [x.cuda() if isinstance(x, torch.Tensor) else x for x in inputs]
        results.put([x.float().cpu().numpy() for x in leaves(module.cuda()(*inputs))])


def child(method, module, inputs):
    context = multiprocessing.get_context(method)
    results = context.Queue()
    process = context.Process(target=in_child, args=(module, inputs, results))
    process.start()
    try:
        return [torch.from_numpy(x) for x in results.get(timeout=90)]
    finally:
        process.join(20)
        process.kill()  # one that hangs


class Checks:
    failed = 0

    def __call__(self, name, fine, more=""):
        self.failed += not fine
        print(f"{'ok' if fine else 'FAILED'}: {name}{'' if fine else f' ({more})'}", flush=True)

    def of(self, name, call):
        """A check that may throw."""
        try:
            fine, more = call()
        except Exception as error:
            fine, more = False, f"{type(error).__name__}: {str(error)[:600]}"
        self(name, fine, more)


def refuses(module, inputs):
    try:
        module(*inputs)
    except RuntimeError as error:
        return "was changed" in str(error)
    return False


def ways(module, inputs):
    """Named functions that give the module in another form."""

    def saved():
        file = io.BytesIO()
        torch.save(module, file)
        file.seek(0)
        return torch.load(file, weights_only=False)

    return {
        "torch.compile": lambda: torch.compile(module),
        "torch.compile, fullgraph": lambda: torch.compile(module, fullgraph=True),
        "torch.compile, CUDA graphs": lambda: torch.compile(module, mode="reduce-overhead"),
        "torch.export": lambda: torch.export.export(module, inputs).module(),
        "torch.export, strict": lambda: torch.export.export(module, inputs, strict=True).module(),
        "torch.export, compiled": lambda: torch.compile(
            torch.export.export(module, inputs).module(), fullgraph=True
        ),
        "torch.jit.trace": lambda: torch.jit.trace(module, inputs),
        "torch.save": saved,
    }


def check_masks(check, module, inputs):
    masks = [name for name, buffer in module.named_buffers() if buffer.dim() >= 2]
    for name in masks:
        mask = module.get_buffer(name)
        before = mask.clone()
        mask.zero_()
        if not refuses(module, inputs):  # read, not built in
            mask.copy_(before)
            continue
        check(f"{name} changed in place is refused", True)
        mask.copy_(before)
        module(*inputs)
        check(f"{name} as it was runs", True)
        module.cpu()
        module.get_buffer(name).zero_()
        module.cuda()
        check(f"{name} changed on the CPU is refused", refuses(module, inputs))
        module.get_buffer(name).copy_(before)
        with torch.inference_mode():
            owner, _, last = name.rpartition(".")
            counted = module.get_buffer(name)
            module.get_submodule(owner)._buffers[last] = before.clone()
            module(*inputs)
            module.get_buffer(name).zero_()
            check(f"{name} changed where torch counts nothing is refused", refuses(module, inputs))
            module.get_submodule(owner)._buffers[last] = counted
        module(*inputs)


def check_kernel(check):
    with tempfile.TemporaryDirectory() as folder:
        built = kernels.build(TEXT, pathlib.Path(folder) / "linear_relu", {"M": 256, "N": 256, "K": 128})
        kernel = fact.kernel(built)
        own = entries(built)
        w = torch.randn(256, 128, device="cuda", dtype=torch.bfloat16)
        run = torch.compile(lambda x: kernel(x * 2, w) + 1, fullgraph=True)
        for rows in (256, 512, 384):
            x = torch.randn(rows, 128, device="cuda", dtype=torch.bfloat16)
            want = torch.relu((x * 2).double() @ w.double().T) + 1
            fine = close(run(x), want) and bool(own & launched(run, x))
            check(f"fact.kernel under torch.compile, {rows} rows", fine)


def main():
    package, spec, *dtype = sys.argv[1:]
    check = Checks()
    own = entries(package)
    early = fact.load(package)
    on_cpu = load_model(spec, *dtype)[1]
    forked = None
    try:  # before anything has touched the GPU here
        forked = child("fork", early, on_cpu)
    except Exception as error:
        check("fork before CUDA is used", False, repr(error))
    inputs = tuple(x.cuda() if isinstance(x, torch.Tensor) else x for x in on_cpu)
    module = early.cuda()
    with torch.no_grad():
        want = module(*inputs)
        expected = own & launched(module, *inputs)
        check("the package runs its kernels", bool(expected), f"none of {sorted(own)}")
        on_host = [x.float().cpu() for x in leaves(want)]
        if forked is not None:
            check("fork before CUDA is used", close(forked, on_host))
        check.of("spawn", lambda: (close(child("spawn", module.cpu(), on_cpu), on_host), ""))
        module.cuda()
        for name, way in ways(module, inputs).items():

            def same_kernels(way=way):
                torch._dynamo.reset()
                call = way()
                for _ in range(3):
                    got = call(*inputs)
                if not close(got, want):
                    return False, "other results"
                missing = expected - launched(call, *inputs)
                return not missing, f"{sorted(missing)} did not run"

            check.of(f"{name} keeps the kernels", same_kernels)
        check.of("masks", lambda: (check_masks(check, module, inputs) is None, ""))
        check.of("kernels", lambda: (check_kernel(check) is None, ""))
    return check.failed > 0


if __name__ == "__main__":
    sys.exit(main())
