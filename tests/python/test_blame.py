"""What the user's own code raises is told whole: type, message, line, causes; --verbose adds the rest."""

import contextlib
import io
import pathlib
import tempfile
import unittest

from built import ROOT  # finds the package in the working tree

from fact._blame import blame, one_line
from fact.trace import main

SOURCE = """
import torch

class Mine(Exception):
    pass

class Model(torch.nn.Module):
    def forward(self, x):
        {body}
        return x

def get_inputs(): return [torch.randn(4)]
{after}
"""


def raised(work):
    try:
        work()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


class Told(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-blame-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "odd.py"

    def trace(self, body="pass", after="", *options):
        self.path.write_text(SOURCE.format(body=body, after=after))
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = main([str(self.path), "-o", str(self.path.with_suffix(".pt2")), *options])
        self.assertEqual(code, 2, said.getvalue())
        self.assertEqual(said.getvalue().count("\nerror: "), 1)  # who reads it looks for that
        return said.getvalue().removeprefix("\nerror: ")

    def test_every_line_of_a_message(self):
        said = self.trace("raise Mine('first\\n\\nsecond\\nerror: third')")
        self.assertEqual(
            said,
            f"{self.path}:9: torch cannot export this: Mine: first\n\n    second\n    error: third\n"
            "  raise Mine('first\\n\\nsecond\\nerror: third')\n",
        )

    def test_a_long_message_is_whole_and_tells_of_verbose(self):
        said = self.trace("raise Mine('\\n'.join(f'line {i}' for i in range(3000)) + 'x' * 30000)")
        for part in (":9: torch cannot export this: Mine: line 0\n", "line 2999" + "x" * 30000):
            self.assertIn(part, said)
        self.assertTrue(said.endswith("  --verbose adds the traceback\n"))

    def test_causes_and_what_was_being_handled(self):
        said = self.trace(
            "\n".join(
                " " * 8 * bool(i) + line
                for i, line in enumerate(
                    [
                        "try:",
                        "    try:",
                        "        {}['row']",
                        "    except KeyError:",
                        "        int('a\\nb')",
                        "except ValueError as error:",
                        "    raise Mine('wrapped') from error",
                    ]
                )
            )
        )
        self.assertIn("odd.py:15: torch cannot export this: Mine: wrapped\n  raise Mine", said)
        self.assertIn("  caused by ", said)
        self.assertIn("odd.py:13: ValueError: invalid literal for int() with base 10: 'a\\nb'", said)
        self.assertIn("  raised while handling ", said)
        self.assertIn("odd.py:11: KeyError: 'row'\n    {}['row']", said)

    def test_verbose_has_the_traceback(self):
        said = self.trace("raise Mine('wrong')", "", "--verbose")
        self.assertIn(":9: torch cannot export this: Mine: wrong\n  raise Mine('wrong')\n", said)
        self.assertIn("  Traceback (most recent call last):\n", said)
        self.assertIn(f'    File "{self.path}", line 9, in forward\n', said)
        self.assertNotIn("Traceback", self.trace("raise Mine('wrong')"))

    def test_wherever_the_module_is_made(self):
        self.assertIn("odd.py:15: failed: Mine: at\n    import\n", self.trace(after="\n\nraise Mine('at\\nimport')"))
        self.assertIn("SystemExit: bye", self.trace("raise SystemExit('bye')"))
        self.assertIn("odd.py:13: SyntaxError: ", self.trace(after="def f(:"))
        trains = "def train(self, mode):\n    raise Mine('no\\ntraining')\nModel.train = train"
        self.assertIn("failed: Mine: no\n    training\n  raise Mine", self.trace(after=trains))

    def test_a_module_that_exports_and_does_not_run(self):
        body = "x = x if torch.compiler.is_compiling() else self.fails()"
        fails = "def fails(self):\n    raise Mine('two\\nlines')\nModel.fails = fails"
        said = self.trace(body, fails)
        self.assertIn("odd.py:14: the module itself fails: Mine: two\n    lines\n  raise Mine", said)

    def test_what_torch_cannot_save(self):
        named = "import collections\nPair = collections.namedtuple('Pair', 'a b')\n"
        said = self.trace("return Pair(x, x)", named)
        self.assertIn("torch cannot save what the module takes or returns: NotImplementedError: ", said)
        self.assertIn("let forward take and return tensors", said)

    def test_inputs_in_named_tuples_are_taken_apart(self):
        named = (
            "import collections\nPair = collections.namedtuple('Pair', 'a b')\n"
            "def get_inputs(): return [Pair(torch.randn(4), 3)]\n"
        )
        self.assertIn("torch cannot save what the module takes", self.trace("x = x.a", named))


class OneLine(unittest.TestCase):
    def test_notes_groups_and_messages_that_cannot_be_made(self):
        class Mute(Exception):
            def __str__(self):
                raise ValueError("no")

        self.assertIn("x: fails: Mute: (its message cannot be shown)", blame("x", Mute(), "fails"))
        error = ValueError("a\nb")
        error.__notes__ = ["a note"]
        self.assertEqual(blame("x", error, "fails"), "x: fails: ValueError: a\n    b\n    a note")

    def test_a_line_holds_all_of_a_short_message(self):
        error = raised(lambda: int("a\nb"))
        self.assertRegex(one_line(error), r"test_blame.py:\d+: ValueError: invalid literal .*'a\\nb'$")
        self.assertTrue(one_line(ValueError("x " * 5000)).endswith("with the traceback)"))


if __name__ == "__main__":
    unittest.main()
