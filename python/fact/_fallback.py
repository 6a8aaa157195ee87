"""The warning that a part of a package runs as torch's operators, not as its kernel."""

import os
import sys
import warnings


class FallbackWarning(UserWarning):
    """Warns once for every pattern of an open package: which one, and why."""


def warn(text):
    """Attributes the warning to the caller's line, outside of torch and of this package."""
    warnings.warn(text, FallbackWarning, stacklevel=_depth())


def _depth():
    import torch

    inside = tuple(os.path.dirname(file) + os.sep for file in (__file__, torch.__file__))
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame, depth = frame.f_back, depth + 1
    return depth
