"""What is timed and repeated, by stand-ins for the timers."""

import unittest
from unittest import mock

import built  # noqa: F401 (where the package is)
from fact import _timing


class Sustained(unittest.TestCase):
    """What is repeated, by stand-ins for the timers: works are numbers, their times in microseconds."""

    def repeatable(self, gpu, host, replay):
        def single(works, total_us=None, brief=False):
            return [{"median_us": {"call": gpu, "graph": replay}[work]} for work in works]

        with (
            mock.patch.object(_timing, "_estimate", lambda work: (gpu, host)),
            mock.patch.object(_timing, "captured", lambda work: replay and "graph"),
            mock.patch.object(_timing, "single", single),
        ):
            return _timing.repeatable("call")

    def test_calls_where_the_host_keeps_up(self):
        self.assertEqual(self.repeatable(gpu=2180, host=900, replay=2000)[:2], ("call", "calls"))

    def test_a_graph_where_the_host_does_not(self):
        again = self.repeatable(gpu=100, host=400, replay=98)
        self.assertEqual(again, ("graph", "a CUDA graph", None))

    def test_no_graph_that_takes_longer_than_a_call(self):
        again = self.repeatable(gpu=2180, host=2500, replay=4830)
        self.assertEqual(again[:2], ("call", "calls, limited by the host"))
        self.assertEqual(again.refused, {"median_us": 4830})

    def test_calls_where_nothing_can_be_captured(self):
        again = self.repeatable(gpu=100, host=400, replay=None)
        self.assertEqual(again, ("call", "calls, limited by the host", None))


class Summary(unittest.TestCase):
    def test_percentiles(self):
        from fact._timing import summarize

        result = summarize(list(range(100, 0, -1)))
        self.assertEqual(result, {"median_us": 50.5, "low_us": 10, "high_us": 90, "runs": 100})
        self.assertEqual(summarize([])["runs"], 0)


if __name__ == "__main__":
    unittest.main()
