#include "compose/in_place.h"

#include <gtest/gtest.h>

#include "../graph/graph_builder.h"
#include "graph/cats.h"
#include "graph/fused.h"

namespace fact::compose {
namespace {

using graph::ValueId;
using graph::testing::GraphBuilder;
using graph::testing::tensor;
using Values = std::vector<ValueId>;

struct Net : GraphBuilder {
    // A call of the kernel `name`.
    ValueId call(const std::string& name, Values inputs, graph::TensorType type = tensor({8, 8})) {
        return node(name, std::string(graph::kFusedTarget), {{"inputs", inputs}, {"call", name}},
                    std::move(type));
    }
    ValueId torch(const std::string& name, ValueId x) {
        return node(name, "aten.sort.default", {{"self", x}}, tensor({8, 8}));
    }
    ValueId cat(const std::string& name, Values parts) {
        const auto rows = static_cast<std::int64_t>(8 * parts.size());
        return node(name, "aten.cat.default", {{"tensors", parts}, {"dim", std::int64_t{1}}},
                    tensor({8, rows}));
    }
    // Each cat that was changed, with its parts, of which a star marks those in place.
    std::string place(const Refusal& refusal = [](auto&, auto&, auto&) { return std::string(); }) {
        found = write_in_place(graph, refusal, *find_gpu("h200"));
        EXPECT_EQ(graph::verify(graph), "");
        std::string out;
        for (const auto& node : graph.nodes) {
            if (node.target != graph::kCatTarget && node.target != graph::kStackTarget) continue;
            const auto cat = graph::read_cat(graph, node);
            out += node.name + " =";
            for (std::size_t i = 0; i < cat->parts.size(); ++i)
                out += " " + graph[cat->parts[i]].name + (cat->in_place[i] ? "*" : "");
            out += "\n";
        }
        return out;
    }
    std::vector<WrittenCat> found;
};

TEST(InPlace, WhatKernelsComputeIsAndTheRestIsCopied) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto a = net.call("a", {x}), b = net.call("b", {x}), t = net.torch("t", x);
    net.output(net.cat("cat", {a, t, x, b}));
    EXPECT_EQ(net.place(), "cat = a* t x b*\n");
    ASSERT_EQ(net.found.size(), 1u);
    EXPECT_EQ(net.found[0].by_kernels, 2);
    EXPECT_EQ(net.found[0].cats, 0);
    EXPECT_EQ(net.found[0].parts, 4);
    EXPECT_EQ(net.found[0].why, "t is computed by torch");
}

TEST(InPlace, ACatOfTorchsTensorsStaysAsItIs) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    net.output(net.cat("cat", {net.torch("t", x), x}));
    EXPECT_EQ(net.place(), "");
    EXPECT_EQ(net.graph.nodes.back().target, "aten.cat.default");
}

TEST(InPlace, WhatMustBeItsOwnTensorIsCopied) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto result = net.call("result", {x}), twice = net.call("twice", {x});
    const auto read = net.call("read", {x}), good = net.call("good", {x});
    net.output(result);
    net.output(net.torch("reader", read));
    net.output(net.cat("cat", {result, twice, twice, read, good}));
    EXPECT_EQ(net.place(), "cat = result twice twice read good*\n");
    EXPECT_EQ(net.found[0].why, "result is also a result of the module");
}

TEST(InPlace, EachValueIsInOneCatOnly) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto a = net.call("a", {x}), b = net.call("b", {x});
    net.output(net.cat("one", {a, b}));
    net.output(net.cat("two", {b, x}));
    EXPECT_EQ(net.place(), "one = a* b\ntwo = b* x\n");
    EXPECT_EQ(net.found[0].why, "b lies in another cat");
}

TEST(InPlace, KernelsThatCannotWriteOrReadThereDecide) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto a = net.call("a", {x}), b = net.call("b", {x}), c = net.call("c", {x});
    net.output(net.call("reader", {b}));
    net.output(net.cat("cat", {a, b, c}));
    const auto asked = [&](const graph::Graph& graph, const graph::Node& node,
                           const Layouts& layouts) -> std::string {
        if (node.name == "a") return "its rows are short";
        if (node.name != "reader") return "";
        const auto& layout = layouts.at(graph::tensor_inputs(node)[0]);
        EXPECT_EQ(layout.offset, 8);
        EXPECT_EQ(layout.strides, (std::vector<std::int64_t>{24, 1}));
        EXPECT_EQ(graph.values.size(), 6u);
        return "not contiguous";
    };
    EXPECT_EQ(net.place(asked), "cat = a b c*\n");
    EXPECT_EQ(net.found[0].why, "a cannot be written there: its rows are short");
}

TEST(InPlace, AGrowingListOfFeaturesLiesInOneMemory) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto a = net.call("a", {x});
    const auto one = net.cat("one", {x, a});
    const auto b = net.call("b", {one});
    const auto two = net.cat("two", {x, a, b});
    const auto c = net.call("c", {two});
    net.output(net.cat("three", {x, a, b, c}));
    EXPECT_EQ(net.place(), "one = x a*\ntwo = one* b*\nthree = two* c*\n");
    EXPECT_EQ(net.found[2].by_kernels, 1);
    EXPECT_EQ(net.found[2].cats, 1);
}

// What the last cat does not read by itself any more need not live until then.
TEST(InPlace, AGrowingListTakesLessMemoryThere) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto a = net.call("a", {x}), b = net.call("b", {x});
    const auto one = net.cat("one", {a, b});
    const auto wide = net.call("wide", {one}, tensor({8, 80}));
    const auto c = net.call("c", {wide});
    net.output(net.cat("two", {a, b, c}));
    EXPECT_EQ(net.place(), "one = a* b*\ntwo = one* c*\n");
}

TEST(InPlace, UnlessAReaderNeedsAnEarlierListByItself) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto a = net.call("a", {x});
    const auto one = net.cat("one", {x, a});
    const auto b = net.call("b", {one});
    net.output(net.cat("two", {x, a, b}));
    const auto asked = [&](auto&, const graph::Node& node, const Layouts& layouts) {
        return std::string(node.name == "b" && layouts.contains(one) ? "not contiguous" : "");
    };
    EXPECT_EQ(net.place(asked), "two = x a* b*\n");
}

TEST(InPlace, ACatOfTorchsTensorsMayLieInOneThatAKernelWritesTo) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto inner = net.cat("inner", {x, net.torch("t", x)});
    net.output(
        net.node("outer", "aten.cat.default",
                 {{"tensors", Values{inner, net.call("a", {inner})}}, {"dim", std::int64_t{1}}},
                 tensor({8, 24})));
    EXPECT_EQ(net.place(), "inner = x t\nouter = inner* a*\n");
}

TEST(InPlace, CatsOfCatsThatNoKernelWritesToStayAsTheyAre) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto inner = net.cat("inner", {x, net.torch("t", x)});
    net.output(net.node("outer", "aten.cat.default",
                        {{"tensors", Values{inner}}, {"dim", std::int64_t{1}}}, tensor({8, 16})));
    EXPECT_EQ(net.place(), "");
    ASSERT_EQ(net.found.size(), 2u);
    EXPECT_EQ(net.found[1].cats, 0);
    EXPECT_EQ(net.found[1].why, "no kernel computes a part of it");
}

// A part that is there for long keeps the memory of the whole cat.
TEST(InPlace, NoMoreMemoryIsTakenAtATime) {
    const auto large = tensor({8, 80});
    for (const bool early : {true, false}) {
        Net net;
        const auto x = net.input("x", tensor({8, 8}));
        const auto busy = [&](ValueId from) {
            return net.node(
                "sum", "aten.sum.default",
                {{"self", net.node("wide", "aten.sort.default", {{"self", from}}, large)}},
                tensor({8, 8}));
        };
        const auto a = net.call("a", {x});
        const auto from = early ? busy(x) : x;
        const auto b = net.call("b", {from}), c = net.call("c", {from});
        const auto cat =
            net.node("cat", "aten.cat.default",
                     {{"tensors", Values{a, b, c}}, {"dim", std::int64_t{1}}}, tensor({8, 24}));
        const auto sum = net.node("last", "aten.sum.default", {{"self", cat}}, tensor({8, 8}));
        if (early)
            net.output(sum);
        else
            net.output(net.call("reader", {busy(sum), b}));
        EXPECT_EQ(net.place(), early ? "cat = a b* c*\n" : "cat = a* b c*\n");
        EXPECT_EQ(
            net.found[0].why,
            std::string(early ? "a" : "b") +
                " is computed so early or read so late that the module would need more memory");
    }
}

// Where other values take more at another time, a cat may be there for longer.
TEST(InPlace, UnlessMoreIsTakenAtAnotherTime) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto a = net.call("a", {x});
    const auto wide = net.node("wide", "aten.sort.default", {{"self", x}}, tensor({8, 80}));
    const auto b = net.call("b", {wide});
    const auto cat = net.cat("cat", {a, b});
    net.output(net.node("last", "aten.repeat.default", {{"self", cat}}, tensor({8, 160})));
    EXPECT_EQ(net.place(), "cat = a* b*\n");
}

TEST(InPlace, FewBytesAreNotWorthMoreLaunches) {
    Net net;
    const auto x = net.input("x", tensor({8, 8}));
    const auto y = net.input("y", tensor({8, 8}));
    const auto a = net.call("a", {x});
    net.output(net.cat("cat", {x, a, y}));
    EXPECT_EQ(net.place(), "");
    EXPECT_NE(net.found[0].why.find("more launches"), std::string::npos);
}

}  // namespace
}  // namespace fact::compose
