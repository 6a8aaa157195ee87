"""Matrix products and what usually follows them: the operator chains of KernelBench's product
problems (levels 1 and 2) in modules of our own, each a factory: `examples.chains:l2_30`.

A factory returns (module, inputs). A chain whose meaning depends on it is meant to be traced in
training mode (`--training`): BatchNorm then takes its statistics from the batch and dropout drops.
`CHAINS` lists them all; `level1` and `level2` are modules that run all of a level side by side,
`sample` one that runs a few of level 2.
With CHAINS_FULL=1 most extents are KernelBench's, else all are small.
"""

import os

import torch
import torch.nn.functional as F
from torch import nn

FULL = os.environ.get("CHAINS_FULL") == "1"
ROWS, FEATURES, OUTPUTS = (1024, 8192, 8192) if FULL else (64, 48, 128)
CHAINS = {}


class Function(nn.Module):
    """A function of tensors as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class AfterLinear(nn.Module):
    """What follows a linear layer; `parts` are the layers and parameters it needs."""

    def __init__(self, follow, **parts):
        super().__init__()
        self.linear = nn.Linear(FEATURES, OUTPUTS)
        self.follow = follow
        for name, part in parts.items():
            setattr(self, name, nn.Parameter(part) if isinstance(part, torch.Tensor) else part)

    def forward(self, x, *others):
        return self.follow(self, self.linear(x), x, *others)


def chain(name):
    def register(factory):
        CHAINS[name] = factory
        globals()[name] = factory
        return factory

    return register


def product(name, function, *shapes):
    chain(name)(lambda: (Function(function), [torch.rand(shape) for shape in shapes]))


def linear(name, follow, *others, **parts):
    """`parts` and `others` (more inputs) are given as functions: each module gets its own."""

    def make():
        module = AfterLinear(follow, **{key: part() for key, part in parts.items()})
        return module, [torch.rand(ROWS, FEATURES), *(other() for other in others)]

    chain(name)(make)


def pool(function, x, size):
    return function(x.unsqueeze(1), kernel_size=size).squeeze(1)


def full(large, small):
    return large if FULL else small


# Level 1: products.
product("l1_01", torch.matmul, *full([(4096, 4096)] * 2, [(96, 96)] * 2))
product("l1_02", torch.matmul, *full([(2048, 8192), (8192, 4096)], [(64, 48), (48, 128)]))
product("l1_03", torch.bmm, *full([(128, 512, 1024), (128, 1024, 2048)], [(4, 64, 48), (4, 48, 128)]))
product("l1_04", torch.matmul, *full([(2048, 131072), (131072, 1)], [(96, 160), (160, 1)]))
product("l1_06", torch.matmul, *full([(256, 524288), (524288, 256)], [(64, 8192), (8192, 64)]))
product("l1_07", torch.matmul, *full([(32768, 64), (64, 32768)], [(256, 16), (16, 256)]))
product("l1_08", torch.matmul, *full([(8205, 2949), (2949, 5921)], [(205, 149), (149, 121)]))
product("l1_09", torch.matmul, *full([(32768, 32), (32, 32768)], [(256, 16), (16, 256)]))
product("l1_10", torch.matmul, *full([(16, 1024, 2048), (2048, 768)], [(4, 64, 48), (48, 128)]))
product("l1_11", lambda a, b: torch.einsum("bijl,lk->bijk", a, b), (2, 8, 16, 32), (32, 64))
product("l1_13", lambda a, b: torch.matmul(a + a.T, b), (96, 96), (96, 96))
product("l1_14", lambda a, b: torch.triu(torch.matmul(a, b)), (96, 96), (96, 96))
product("l1_15", lambda a, b: torch.tril(torch.matmul(a, b)), (96, 96), (96, 96))
product("l1_16", lambda a, b: torch.matmul(a.T, b), (48, 64), (48, 128))
product("l1_17", lambda a, b: torch.matmul(a, b.T), (64, 48), (128, 48))
product("l1_18", lambda a, b: torch.matmul(a.T, b.T), (48, 64), (128, 48))
product("l1_97", F.scaled_dot_product_attention, *[(2, 4, 64, 64)] * 3)


@chain("l1_87")
def pointwise_convolution():
    return nn.Conv2d(16, 32, kernel_size=1), [torch.rand(4, 16, 12, 16)]


# Level 2: elementwise.
linear("l2_09", lambda m, y, x: F.relu((y - 2.0) * 1.5))
linear("l2_12", lambda m, y, x: F.leaky_relu(y * 2.0, 0.1))
linear("l2_29", lambda m, y, x: F.mish(F.mish(y)))
linear("l2_40", lambda m, y, x: y * 0.5 + y.clone().detach())
linear("l2_53", lambda m, y, x: F.gelu(F.hardtanh(y * 0.5, -2, 2)))
linear("l2_59", lambda m, y, x: y * torch.sigmoid(y) * 2.0)
linear("l2_63", lambda m, y, x: F.relu(y) / 2.0)
linear("l2_68", lambda m, y, x: torch.min(y, m.limit) - m.limit, limit=lambda: torch.tensor(2.0))
linear("l2_70", lambda m, y, x: torch.sigmoid(y) * 2.0 + y)
linear("l2_76", lambda m, y, x: F.relu(y + m.bias), bias=lambda: torch.randn(OUTPUTS))
linear(
    "l2_81",
    lambda m, y, x: torch.clamp(
        torch.tanh(torch.clamp(y * torch.sigmoid(y) / 2.0, min=-1.0, max=1.0)), min=-1.0, max=1.0
    ),
)
linear("l2_86", lambda m, y, x: F.gelu(y / 10.0))
linear(
    "l2_95",
    lambda m, y, x: F.hardtanh(F.gelu(torch.tanh(torch.sigmoid(y + m.add) * (y + m.add))), -1, 1),
    add=lambda: torch.randn(OUTPUTS),
)

# Level 2: reductions of a row, softmax.
linear("l2_14", lambda m, y, x: torch.sum(y / 2, dim=1, keepdim=True) * 1.5)


@chain("l2_18")
def reductions_of_one_column():
    def follow(m, y, x):
        y = torch.sum(y, dim=1, keepdim=True)
        y = torch.max(y, dim=1, keepdim=True)[0]
        y = torch.mean(y, dim=1, keepdim=True)
        y = torch.logsumexp(y, dim=1, keepdim=True)
        return torch.logsumexp(y, dim=1, keepdim=True)

    return AfterLinear(follow), [torch.rand(ROWS, FEATURES)]


@chain("l2_22")
def logsumexp_mish():
    def follow(m, y, x):
        y = y * 2.0
        y = torch.clamp(y + y, -10.0, 10.0)
        y = torch.logsumexp(y, dim=1, keepdim=True)
        return y * F.mish(y)

    return AfterLinear(follow), [torch.rand(ROWS, FEATURES)]


@chain("l2_45")
def two_layers():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(FEATURES, OUTPUTS)
            self.second = nn.Linear(OUTPUTS, OUTPUTS // 2)

        def forward(self, x):
            return torch.logsumexp(self.second(torch.sigmoid(self.first(x))), dim=1)

    return Model(), [torch.rand(ROWS, FEATURES)]


@chain("l2_51")
def pooled_and_added():
    def follow(m, y, x):
        y = torch.mean(y - m.subtract, dim=1, keepdim=True)
        y = F.gelu(torch.logsumexp(y, dim=1, keepdim=True))
        return y + x.clone().detach()

    return AfterLinear(follow, subtract=torch.randn(OUTPUTS)), [torch.rand(ROWS, FEATURES)]


linear("l2_55", lambda m, y, x: torch.sum(pool(F.max_pool1d, y, 2), dim=1) * 0.5)
linear("l2_56", lambda m, y, x: torch.sum(torch.sigmoid(y), dim=1, keepdim=True))
linear(
    "l2_64",
    lambda m, y, x: F.gelu(
        F.gelu(F.leaky_relu(F.leaky_relu(torch.logsumexp(y, dim=1, keepdim=True), 0.01), 0.01))
    ),
)
linear("l2_66", lambda m, y, x: torch.softmax(m.dropout(y), dim=1), dropout=lambda: nn.Dropout(0.2))


@chain("l2_80")
def maximum_minus_its_mean():
    def follow(m, y, x):
        y = torch.max(y, dim=1, keepdim=True).values
        return F.gelu(y - y.mean(dim=1, keepdim=True))

    return AfterLinear(follow), [torch.rand(ROWS, FEATURES)]


linear("l2_98", lambda m, y, x: torch.max(F.gelu(pool(F.avg_pool1d, y, 16)) * 2.0, dim=1).values)
linear("l2_99", lambda m, y, x: F.softmax(F.gelu(y), dim=1))

# Level 2: group and instance norms.


@chain("l2_28")
def instance_norm_of_rows():
    def follow(m, y, x, other):
        y = m.norm(y.unsqueeze(1).unsqueeze(1)).squeeze(1).squeeze(1)
        return (y + other) * other

    module = AfterLinear(follow, norm=nn.InstanceNorm2d(OUTPUTS))
    return module, [torch.rand(ROWS, FEATURES), torch.rand(ROWS, OUTPUTS)]


def groups():
    norm = nn.GroupNorm(8, OUTPUTS)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    return norm


linear("l2_30", lambda m, y, x: F.hardtanh(m.norm(y), -2.0, 2.0), norm=groups)
linear(
    "l2_37",
    lambda m, y, x: m.norm(torch.sigmoid(y) * y + m.bias),
    norm=groups,
    bias=lambda: torch.randn(OUTPUTS),
)


@chain("l2_62")
def group_norm_doubled():
    def follow(m, y, x):
        y = F.leaky_relu(m.norm(y), 0.01)
        return y + y

    return AfterLinear(follow, norm=groups()), [torch.rand(ROWS, FEATURES)]


linear(
    "l2_75",
    lambda m, y, x: torch.min(m.norm(y), dim=1, keepdim=True)[0] + m.bias,
    norm=groups,
    bias=lambda: torch.randn(1, OUTPUTS, 1, 1),
)


@chain("l2_88")
def group_norm_swish_twice():
    def follow(m, y, x):
        y = m.norm(y)
        y = y * torch.sigmoid(y) * m.factor
        return y * torch.sigmoid(y)

    module = AfterLinear(follow, norm=groups(), factor=torch.randn(OUTPUTS))
    return module, [torch.rand(ROWS, FEATURES)]


linear(
    "l2_94",
    lambda m, y, x: m.norm(F.mish(F.hardtanh(y + m.bias))),
    norm=groups,
    bias=lambda: torch.randn(OUTPUTS),
)

# Level 2: batch norm, in training mode by the batch's statistics.


def batches():
    return nn.BatchNorm1d(OUTPUTS)


linear("l2_33", lambda m, y, x: m.norm(y * m.scale), norm=batches, scale=lambda: torch.randn(OUTPUTS))
linear("l2_39", lambda m, y, x: m.norm(y * m.scale), norm=batches, scale=lambda: torch.randn(OUTPUTS))
linear("l2_41", lambda m, y, x: F.relu(F.gelu(m.norm(y))), norm=batches)
linear(
    "l2_84",
    lambda m, y, x: F.softmax(m.scale * m.norm(y), dim=1),
    norm=batches,
    scale=lambda: torch.ones(1),
)


@chain("l2_97")
def batch_norm_bias_swish():
    def follow(m, y, x):
        y = (m.norm(y) + m.bias) / 2.0
        return y * torch.sigmoid(y)

    return AfterLinear(follow, norm=batches(), bias=torch.randn(1)), [torch.rand(ROWS, FEATURES)]


class SideBySide(nn.Module):
    """Several modules, each on its own inputs; the results as a list."""

    def __init__(self, modules, counts):
        super().__init__()
        self.parts = nn.ModuleList(modules)
        self.counts = counts

    def forward(self, *inputs):
        results = []
        for part, count in zip(self.parts, self.counts):
            results.append(part(*inputs[:count]))
            inputs = inputs[count:]
        return results


def _side_by_side(names):
    modules, inputs, counts = [], [], []
    for name in names:
        module, own = CHAINS[name]()
        if isinstance(module, AfterLinear) and modules and isinstance(modules[0], AfterLinear):
            module.linear = modules[0].linear  # one weight for all: the archive stays small
        modules.append(module)
        inputs += own
        counts.append(len(own))
    return SideBySide(modules, counts), inputs


def level1():
    return _side_by_side(name for name in CHAINS if name.startswith("l1_"))


def level2():
    return _side_by_side(name for name in CHAINS if name.startswith("l2_"))


# Of each kind: pointwise work, rows reduced, softmax, group norm, batch norm.
SAMPLE = ("l2_76", "l2_86", "l2_59", "l2_56", "l2_22", "l2_99", "l2_62", "l2_97")


def sample():
    return _side_by_side(SAMPLE)
