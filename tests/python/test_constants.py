"""What a module computes from its weights alone runs once, until a weight changes."""

import pathlib
import tempfile
import unittest
from collections import Counter

import torch
from built import needs_ops
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.weight = nn.Parameter(torch.randn(32, 32))
        self.gain = nn.Parameter(torch.randn(32))
        self.register_buffer("calls", torch.zeros(32))

    def forward(self, x):
        w = torch.tanh(self.weight) * self.gain
        table = torch.sin(torch.arange(32.0))
        row = self.weight[0]  # a view, read by what is kept and by what is not
        x = x * row + torch.exp(row)
        self.calls += 1
        return x @ w.t() + table + torch.cos(self.calls), torch.erf(self.weight).t()


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))

    def forward(self, x):
        return x + torch.exp(torch.rand_like(self.weight))


def loaded(module, x, folder):
    import fact
    from fact.trace import export, save

    path = pathlib.Path(folder) / "model.pt2"
    save(export(module, [x]), path, module)
    return fact.load(str(path))


def operators(call):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    return Counter(event.name for event in profile.events())


@needs_ops
class Constants(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-constants-")
        self.addCleanup(folder.cleanup)
        self.x = torch.randn(4, 32)
        self.eager = Model()
        self.module = loaded(Model(), self.x, folder.name)
        self.folder = folder.name

    def check(self):
        with torch.no_grad():
            for mine, theirs in zip(self.module(self.x), self.eager(self.x)):
                torch.testing.assert_close(mine, theirs)

    def test_the_second_call_computes_only_what_depends_on_its_input(self):
        self.check()
        ran = operators(self.check)
        self.assertEqual(ran["aten::tanh"], 1)  # eager's own
        self.assertEqual(ran["aten::sin"], 1)
        self.assertEqual(ran["aten::exp"], 1)
        self.assertEqual(ran["aten::cos"], 2)  # of a buffer that every call changes
        self.assertEqual(ran["aten::erf"], 2)  # a result, which the caller may change
        self.check()

    def test_changed_weights_are_seen(self):
        self.check()
        for module in (self.module, self.eager):
            with torch.no_grad():
                module.get_parameter("weight").add_(0.5)
        self.assertEqual(operators(self.check)["aten::tanh"], 2)
        self.assertEqual(operators(self.check)["aten::tanh"], 1)
        state = {name: torch.randn_like(value) for name, value in self.eager.state_dict().items()}
        for module in (self.module, self.eager):
            module.load_state_dict(state)
        self.check()

    def test_changes_that_torch_does_not_count_are_seen_after_a_refresh(self):
        self.check()
        for module in (self.module, self.eager):
            module.get_parameter("gain").detach().numpy()[:] = 2
        with self.assertRaises(AssertionError):
            self.check()
        self.module.refresh()
        self.check()

    def test_a_result_belongs_to_the_caller(self):
        self.check()
        with torch.no_grad():
            self.module(self.x)[1].zero_()
            self.eager(self.x)
        self.check()

    def test_weights_whose_changes_torch_does_not_count_are_read_in_every_call(self):
        with torch.inference_mode():
            weights = {name: value + 1 for name, value in self.eager.state_dict().items()}
            self.module.load_state_dict(weights, assign=True)
            for _ in range(2):
                ran = operators(lambda: self.module(self.x))
                self.assertEqual(ran["aten::tanh"], 1)

    def test_random_numbers_are_drawn_in_every_call(self):
        noisy = loaded(Noisy(), torch.zeros(64), self.folder)
        self.assertFalse(torch.equal(noisy(torch.zeros(64)), noisy(torch.zeros(64))))


if __name__ == "__main__":
    unittest.main()
