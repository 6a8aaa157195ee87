"""The error of a module's results against the same module in f64, and whether it is small enough."""

import torch

# Errors below these always pass: one rounding of the result, as in the verifier.
FLOOR = {torch.bfloat16: 2**-8, torch.float16: 2**-11, torch.float32: 1e-6, torch.float64: 1e-13}
DIFFERENT = 0.1  # of the largest magnitude: more than rounding explains
WRONG = 1e300  # stands for an infinite error, which JSON cannot hold
KINDS = ("largest", "rms", "row")

LEAST_ROW = 16  # elements: all values of a shorter row may be tiny by chance
SMALLEST_ROW = 2**-16  # of the largest magnitude: the least that a row's errors are divided by


def error(want, got):
    """Largest error over the largest magnitude, rms error over rms, and the largest error of a row
    over that row's own magnitude: only the last shows a wrong row of small values."""
    if want.shape != got.shape:
        return dict.fromkeys(KINDS, WRONG)
    want, got = want.double(), got.double()
    if want.numel() == 0:
        return dict.fromkeys(KINDS, 0.0)
    finite = want.isfinite()
    # NaN and infinities have to be in the same places.
    if (
        not torch.equal(finite, got.isfinite())
        or not torch.equal(want.isnan(), got.isnan())
        or not torch.equal(want[want.isinf()], got[want.isinf()])
    ):
        return dict.fromkeys(KINDS, WRONG)
    off = torch.where(finite, got - want, 0.0).abs_()
    value = torch.where(finite, want, 0.0).abs_()
    largest = value.max().item() or 1.0
    of_all = off.max().item() / largest
    of_row = of_all
    if want.dim() > 1 and want.shape[-1] >= LEAST_ROW:
        magnitude = value.amax(-1).clamp_(min=SMALLEST_ROW * largest)
        of_row = (off.amax(-1) / magnitude).max().item()
    return {
        "largest": of_all,
        "rms": (off.norm() / max(value.norm().item(), 1e-300)).item(),
        "row": of_row,
    }


def errors(exact, results):
    """The errors of every output."""
    if len(exact) != len(results):
        return [dict.fromkeys(KINDS, WRONG)]
    return [error(want, got) for want, got in zip(exact, results)]


def worst(each):
    """The largest error of each kind over all outputs; `each` is what `errors` returned."""
    return {key: max([0.0] + [output[key] for output in each]) for key in KINDS}


def agrees(each, eager, dtypes):
    """Whether the errors of every output are no worse than twice eager's, or below the floor of its
    own dtype; `each` and `eager` are what `errors` returned. Where eager itself is wrong (it
    overflows), nothing can be said of that output."""
    return len(each) == len(eager) and all(
        own[key] <= max(2 * eagers[key], FLOOR.get(dtype, 0.0))
        for own, eagers, dtype in zip(each, eager, dtypes)
        for key in KINDS
    )
