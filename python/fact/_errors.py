"""Failures that are shown to the user as they are."""

import sys
import textwrap
import traceback


class BadInput(Exception):
    """Something in what the user gave; its text is all the user sees. What was raised in the user's
    code, if anything, is its cause."""


def tell(error, verbose=False):
    """Prints a BadInput to standard error, with `verbose` including the traceback of its cause."""
    text = str(error)
    if verbose and error.__cause__ is not None:
        trace = "".join(traceback.format_exception(error.__cause__)).rstrip("\n")
        text += "\n" + textwrap.indent(trace, "  ", lambda line: True)
    # The caller looks for the message at the beginning of a line, and the user's code may have left
    # one unfinished.
    print(f"\nerror: {text}", file=sys.stderr)
