"""FACT from Python: load a package that `fact optimize` wrote.

    module = fact.load("model.fact")
    y = module(x)
"""

__all__ = ["load"]


def __getattr__(name):
    # Importing torch takes seconds: only what is used is imported.
    if name == "load":
        from fact.package import load

        return load
    raise AttributeError(f"module 'fact' has no attribute {name!r}")
