"""Failures that are shown to the user as they are."""

import sys
import textwrap
import traceback


class BadInput(Exception):
    """A mistake in what the user gave; this text is all the user sees. If the user's code raised an
    exception, that is the cause."""


def print_error(error, verbose=False):
    """Prints a BadInput to standard error, with `verbose` including the traceback of its cause."""
    text = str(error)
    if verbose and error.__cause__ is not None:
        trace = "".join(traceback.format_exception(error.__cause__)).rstrip("\n")
        text += "\n" + textwrap.indent(trace, "  ", lambda line: True)
    # The caller looks for the message at the beginning of a line, and the user's code may have
    # printed one without its end.
    print(f"\nerror: {text}", file=sys.stderr)
