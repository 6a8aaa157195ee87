"""Failures that are told to the user as they are."""


class BadInput(Exception):
    """Something in what the user gave; its text is all the user sees."""
