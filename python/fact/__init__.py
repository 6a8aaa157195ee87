"""FACT from Python: load a package that `fact optimize` wrote, call a kernel that `fact kernel
build` compiled.

    module = fact.load("model.fact")
    y = module(x)

    mlp_up = fact.kernel("mlp_up.sm90a")
    y = mlp_up(x, w, b)

Call `fact.load_operators()` before loading a program that torch.export or torch.jit saved of such a
module or kernel.
"""

__all__ = ["FallbackWarning", "kernel", "load", "load_operators"]


def __getattr__(name):
    # Importing torch takes seconds: only what is used is imported.
    if name == "load":
        from fact.package import load

        return load
    if name == "kernel":
        from fact._kernel import kernel

        return kernel
    if name == "FallbackWarning":
        from fact._fallback import FallbackWarning

        return FallbackWarning
    if name == "load_operators":
        from fact._ops import load_operators

        return load_operators
    raise AttributeError(f"module 'fact' has no attribute {name!r}")
