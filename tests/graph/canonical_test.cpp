#include "graph/canonical.h"

#include <gtest/gtest.h>

#include "graph_builder.h"

namespace fact::graph {
namespace {

using testing::GraphBuilder;
using testing::Sizes;
using testing::tensor;

using Arguments = std::vector<NamedArgument>;

NamedArgument number(const char* name, std::int64_t value) {
    return {name, value};
}
NamedArgument numbers(const char* name, Sizes value) {
    return {name, std::move(value)};
}

// Canonicalizes relu(op(x)) and gives the target of op, or "" when it was dropped.
std::string target_after(const std::string& target, Arguments arguments, TensorType before,
                         TensorType after, Node* rewritten = nullptr) {
    GraphBuilder b;
    const ValueId x = b.input("x", std::move(before));
    arguments.insert(arguments.begin(), {"self", x});
    const ValueId y = b.node("y", target, std::move(arguments), after);
    b.output(b.node("z", "aten.relu.default", {{"self", y}}, after));
    const Graph result = canonicalize(b.graph);
    EXPECT_EQ(verify(result), "");
    EXPECT_EQ(result[*result.outputs.at(0).value].name, "z");
    if (result.nodes.size() == 1) return "";
    if (rewritten != nullptr) *rewritten = result.nodes.at(0);
    return result.nodes.at(0).target;
}

// What another tensor holds does not matter to a cast to its type.
TEST(Canonical, TypeAsIsACast) {
    GraphBuilder b;
    const ValueId x = b.input("x", tensor({2, 4})), like = b.input("like", tensor({3}));
    TensorType narrow = tensor({2, 4});
    narrow.dtype = DType::bf16;
    b.output(b.node("y", "aten.type_as.default", {{"self", x}, {"other", like}}, narrow));
    const Graph result = canonicalize(b.graph);
    ASSERT_EQ(result.nodes.size(), 1u);
    EXPECT_EQ(result.nodes[0].target, "aten._to_copy.default");
    EXPECT_EQ(result.nodes[0].inputs,
              (Arguments{{"self", x}, {"dtype", DTypeArg{DType::bf16}, true}}));
}

// Heads that turn as a whole are put together with what is left of them: nothing.
TEST(Canonical, PuttingNothingToATensorIsACopy) {
    const auto after = [](TensorType type, bool twice) {
        GraphBuilder b;
        const ValueId x = b.input("x", type), empty = b.input("empty", tensor({2, 0}));
        std::vector<ValueId> parts{x, empty};
        TensorType whole = tensor({2, 4});
        if (twice) parts.push_back(x), whole = tensor({2, 8});
        const ValueId y =
            b.node("y", "aten.cat.default", {{"tensors", parts}, {"dim", std::int64_t{1}}}, whole);
        b.output(b.node("z", "aten.relu.default", {{"self", y}}, whole));
        return canonicalize(b.graph);
    };
    EXPECT_EQ(after(tensor({2, 4}), false).nodes.size(), 1u);
    const Graph turned = after(tensor({2, 4}, {1, 2}), false);
    ASSERT_EQ(turned.nodes.size(), 2u);
    EXPECT_EQ(turned.nodes[0].target, "aten.clone.default");
    EXPECT_EQ(turned.nodes[0].inputs.at(1).value, Argument(MemoryFormatArg{1}));
    EXPECT_EQ(after(tensor({2, 4}), true).nodes.at(0).target, "aten.cat.default");
}

// `a & b` is exported under Python's name for it.
TEST(Canonical, PythonsOperatorsAreBitwiseOnes) {
    TensorType flags = tensor({2, 4});
    flags.dtype = DType::boolean;
    GraphBuilder b;
    const ValueId x = b.input("x", flags), y = b.input("y", flags);
    b.output(b.node("both", "aten.__and__.Tensor", {{"self", x}, {"other", y}}, flags));
    const Graph result = canonicalize(b.graph);
    ASSERT_EQ(result.nodes.size(), 1u);
    EXPECT_EQ(result.nodes[0].target, "aten.bitwise_and.Tensor");
}

TEST(Canonical, AliasesAreThePlainOperators) {
    const TensorType t = tensor({2, 4});
    EXPECT_EQ(target_after("aten.multiply.Tensor", {}, t, t), "aten.mul.Tensor");
    EXPECT_EQ(target_after("aten.true_divide.Scalar", {}, t, t), "aten.div.Scalar");
    EXPECT_EQ(target_after("aten.clip.default", {}, t, t), "aten.clamp.default");
}

TEST(Canonical, DropsWhatDoesNothing) {
    const TensorType t = tensor({2, 4});
    EXPECT_EQ(target_after("aten.alias.default", {}, t, t), "");
    EXPECT_EQ(target_after("aten.detach.default", {}, t, t), "");
    EXPECT_EQ(target_after("aten.lift_fresh_copy.default", {}, t, t), "");
    EXPECT_EQ(target_after("aten.clone.default", {}, t, t), "");
    EXPECT_EQ(target_after("aten.contiguous.default", {}, t, t), "");
    EXPECT_EQ(target_after("aten._to_copy.default", {{"dtype", DTypeArg{DType::f32}, true}}, t, t),
              "");
    EXPECT_EQ(target_after("aten.to.dtype", {{"dtype", DTypeArg{DType::f32}}}, t, t), "");
    EXPECT_EQ(target_after("aten.view.default", {numbers("size", {-1, 4})}, t, t), "");
    EXPECT_EQ(target_after("aten.expand.default", {numbers("size", {2, -1})}, t, t), "");
    EXPECT_EQ(
        target_after("aten.slice.Tensor",
                     {number("dim", -1), number("start", 0), number("end", 9223372036854775807)}, t,
                     t),
        "");
    EXPECT_EQ(target_after("aten.slice.Tensor", {}, t, t), "");
    EXPECT_EQ(target_after("aten.permute.default", {numbers("dims", {0, -1})}, t, t), "");
    EXPECT_EQ(target_after("aten.dropout.default", {{"p", 0.5}, {"train", false}}, t, t), "");
    EXPECT_EQ(target_after("aten.dropout.default", {{"p", 0.0}, {"train", true}}, t, t), "");
    EXPECT_EQ(target_after("aten.t.default", {}, tensor({4}), tensor({4})), "");
    // The stride along a single element does not matter.
    EXPECT_EQ(target_after("aten.clone.default", {}, tensor({1, 4}, {99, 1}), tensor({1, 4})), "");
}

TEST(Canonical, KeepsWhatDoesSomething) {
    const TensorType t = tensor({4, 4}), transposed = tensor({4, 4}, {1, 4});
    TensorType half = t, shifted = t, dynamic = t, gpu = t;
    half.dtype = DType::f16;
    shifted.offset = 4;
    dynamic.dynamic = true;
    gpu.device = "cuda:0";
    EXPECT_EQ(target_after("aten.clone.default", {}, transposed, t), "aten.clone.default");
    EXPECT_EQ(target_after("aten.clone.default", {}, shifted, t), "aten.clone.default");
    EXPECT_EQ(target_after("aten.clone.default", {}, dynamic, dynamic), "aten.clone.default");
    EXPECT_EQ(target_after("aten.contiguous.default", {}, transposed, t),
              "aten.contiguous.default");
    EXPECT_EQ(
        target_after("aten._to_copy.default", {{"dtype", DTypeArg{DType::f16}, true}}, t, half),
        "aten._to_copy.default");
    EXPECT_EQ(
        target_after("aten._to_copy.default", {{"device", DeviceArg{"cuda:0"}, true}}, t, gpu),
        "aten._to_copy.default");
    EXPECT_EQ(target_after("aten.expand.default", {numbers("size", {4, 4})}, tensor({1, 4}),
                           tensor({4, 4}, {0, 1})),
              "aten.expand.default");
    EXPECT_EQ(target_after("aten.slice.Tensor", {number("end", 2)}, t, tensor({2, 4})),
              "aten.slice.Tensor");
    EXPECT_EQ(target_after("aten.dropout.default", {{"p", 0.5}, {"train", true}}, t, t),
              "aten.dropout.default");
    EXPECT_EQ(target_after("aten.relu.default", {}, t, t), "aten.relu.default");
    EXPECT_EQ(target_after("mylib.clone.default", {}, t, t), "mylib.clone.default");
}

TEST(Canonical, SpellsTranspositionsAsPermute) {
    const auto dims = [](const std::string& target, Arguments arguments, Sizes sizes,
                         Sizes result) {
        Node node;
        // Other strides than the dense ones, so that nothing looks like an identity.
        Sizes strides(result.size(), 7);
        EXPECT_EQ(target_after(target, std::move(arguments), tensor(std::move(sizes)),
                               tensor(std::move(result), strides), &node),
                  "aten.permute.default");
        EXPECT_EQ(node.inputs.size(), 2u);
        return std::get<Sizes>(*find_argument(node, "dims"));
    };
    EXPECT_EQ(dims("aten.t.default", {}, {2, 3}, {3, 2}), (Sizes{1, 0}));
    EXPECT_EQ(
        dims("aten.transpose.int", {number("dim0", -2), number("dim1", -1)}, {2, 3, 4}, {2, 4, 3}),
        (Sizes{0, 2, 1}));
    EXPECT_EQ(dims("aten.mT.default", {}, {2, 3, 4}, {2, 4, 3}), (Sizes{0, 2, 1}));
    EXPECT_EQ(dims("aten.swapaxes.default", {number("axis0", 0), number("axis1", -1)}, {2, 3, 4},
                   {4, 3, 2}),
              (Sizes{2, 1, 0}));
    EXPECT_EQ(dims("aten.permute.default", {numbers("dims", {-1, 0, 1})}, {2, 3, 4}, {4, 2, 3}),
              (Sizes{2, 0, 1}));
}

TEST(Canonical, MakesDimsAndBoundsExplicit) {
    const auto rewritten = [](const std::string& target, Arguments arguments, Sizes sizes,
                              Sizes result) {
        Node node;
        EXPECT_EQ(target_after(target, std::move(arguments), tensor(std::move(sizes)),
                               tensor(std::move(result)), &node),
                  target);
        return node;
    };
    const auto argument = [](const Node& node, const char* name) {
        const Argument* found = find_argument(node, name);
        return found == nullptr ? Argument(std::string("missing")) : *found;
    };
    const auto is = [](std::int64_t value) { return Argument(value); };

    EXPECT_EQ(
        argument(rewritten("aten.softmax.int", {number("dim", -1)}, {2, 3, 4}, {2, 3, 4}), "dim"),
        is(2));
    EXPECT_EQ(argument(rewritten("aten.unsqueeze.default", {number("dim", -1)}, {2, 3}, {2, 3, 1}),
                       "dim"),
              is(2));
    EXPECT_EQ(
        argument(rewritten("aten.mean.dim", {numbers("dim", {-1, -2})}, {2, 3, 4}, {2}), "dim"),
        Argument(Sizes{2, 1}));
    const Node slice =
        rewritten("aten.slice.Tensor", {number("dim", -1), number("start", -3), number("end", 100)},
                  {2, 5}, {2, 3});
    EXPECT_EQ(argument(slice, "dim"), is(1));
    EXPECT_EQ(argument(slice, "start"), is(2));
    EXPECT_EQ(argument(slice, "end"), is(5));
    EXPECT_EQ(argument(slice, "step"), is(1));
    const Node select =
        rewritten("aten.select.int", {number("dim", -1), number("index", -1)}, {2, 5}, {2});
    EXPECT_EQ(argument(select, "dim"), is(1));
    EXPECT_EQ(argument(select, "index"), is(4));
    EXPECT_EQ(
        argument(rewritten("aten.view.default", {numbers("size", {-1})}, {2, 5}, {10}), "size"),
        Argument(Sizes{10}));
    // Another meaning of -1, and another operator's dims, are left alone.
    EXPECT_EQ(argument(rewritten("aten._weight_norm.default", {number("dim", -1)}, {2, 5}, {2, 5}),
                       "dim"),
              is(-1));
    EXPECT_EQ(argument(rewritten("mylib.op.default", {number("dim", -1)}, {2, 5}, {2, 5}), "dim"),
              is(-1));
}

TEST(Canonical, CountsDimsOfListsInTheResult) {
    GraphBuilder b;
    const ValueId x = b.input("x", tensor({2, 3}));
    b.output(b.node("cat", "aten.cat.default",
                    {{"tensors", std::vector<ValueId>{x, x}}, number("dim", -1)}, tensor({2, 6})));
    b.output(b.node("stack", "aten.stack.default",
                    {{"tensors", std::vector<ValueId>{x, x}}, number("dim", -1)},
                    tensor({2, 3, 2})));
    const Graph result = canonicalize(b.graph);
    EXPECT_EQ(*find_argument(result.nodes[0], "dim"), Argument(std::int64_t{1}));
    EXPECT_EQ(*find_argument(result.nodes[1], "dim"), Argument(std::int64_t{2}));
}

TEST(Canonical, RemovesWhatNobodyReads) {
    GraphBuilder b;
    const ValueId x = b.input("x", tensor({2}));
    const ValueId unread = b.node("unread", "aten.relu.default", {{"self", x}}, tensor({2}));
    b.node("unread_too", "aten.relu.default", {{"self", unread}}, tensor({2}));
    b.check("meta", "aten._assert_tensor_metadata.default", {{"a", x}});
    b.check("scalar", "aten._assert_scalar.default", {{"self", x}});
    b.check("range", "aten.sym_constrain_range_for_size.default", {{"size", x}});
    b.check("effect", "mylib.log.default", {{"self", x}});
    b.node("custom", "mylib.count.default", {{"self", x}}, tensor({2}));
    b.output(b.node("y", "aten.relu.default", {{"self", x}}, tensor({2})));
    const Graph result = canonicalize(b.graph);
    EXPECT_EQ(verify(result), "");
    std::vector<std::string> names;
    for (const Node& node : result.nodes) names.push_back(node.name);
    EXPECT_EQ(names, (std::vector<std::string>{"effect", "custom", "y"}));
}

TEST(Canonical, DropsBroadcastsOfEqualShapes) {
    for (const std::int64_t rows : {4, 1}) {
        GraphBuilder b;
        const auto x = b.input("x", tensor({4, 8})), y = b.input("y", tensor({rows, 8}));
        const auto both = b.node("both", "aten.broadcast_tensors.default",
                                 {{"tensors", std::vector{x, y}}}, tensor({4, 8}));
        const auto second = b.graph.add_value({"second", tensor({4, 8}), b.graph[both].producer});
        b.graph.nodes.back().outputs.push_back(second);
        b.output(
            b.node("z", "aten.mul.Tensor", {{"self", both}, {"other", second}}, tensor({4, 8})));
        const Graph graph = canonicalize(b.graph);
        EXPECT_EQ(graph.nodes.size(), rows == 4 ? 1u : 2u);
        if (rows == 4) {
            EXPECT_EQ(tensor_inputs(graph.nodes[0]),
                      (std::vector{graph.inputs[0].value, graph.inputs[1].value}));
        }
    }
}

// As in x / norm(x).expand_as(x): division broadcasts by itself.
TEST(Canonical, BroadcastingOperatorsReadBeforeExpands) {
    const auto read_by = [](const std::string& target, Sizes small, Sizes other) {
        GraphBuilder b;
        const ValueId x = b.input("x", tensor(std::move(other)));
        const ValueId norm = b.input("norm", tensor(std::move(small)));
        const ValueId wide = b.node("wide", "aten.expand.default",
                                    {{"self", norm}, numbers("size", {8, 4})}, tensor({8, 4}));
        b.output(b.node("y", target, {{"self", x}, {"other", wide}}, tensor({8, 4})));
        const Graph result = canonicalize(b.graph);
        EXPECT_EQ(verify(result), "");
        return result[tensor_inputs(result.nodes.back()).back()].name;
    };
    EXPECT_EQ(read_by("aten.div.Tensor", {8, 1}, {8, 4}), "norm");
    EXPECT_EQ(read_by("aten.div.Tensor", {4}, {8, 1}), "norm");
    EXPECT_EQ(read_by("aten.div.Tensor", {4}, {4}), "wide") << "the result would be smaller";
    EXPECT_EQ(read_by("aten.div.Tensor", {}, {8, 4}), "wide") << "one number does not set the type";
    EXPECT_EQ(read_by("aten.matmul.default", {8, 1}, {8, 4}), "wide");
}

TEST(Canonical, RedirectsOutputs) {
    GraphBuilder b;
    const ValueId x = b.input("x", tensor({2}));
    const ValueId y = b.node("y", "aten.relu.default", {{"self", x}}, tensor({2}));
    const ValueId z = b.node("z", "aten.clone.default", {{"self", y}}, tensor({2}));
    b.output(b.node("out", "aten.alias.default", {{"self", z}}, tensor({2})));
    const Graph result = canonicalize(b.graph);
    ASSERT_EQ(result.nodes.size(), 1u);
    EXPECT_EQ(result[*result.outputs[0].value].name, "y");
}

TEST(Canonical, KeepsCopiesThatSeparateOutputs) {
    const auto nodes_left = [](bool of_input, bool through_view, int num_copies, bool original) {
        GraphBuilder b;
        ValueId source = b.input("x", tensor({2}));
        if (!of_input) source = b.node("r", "aten.relu.default", {{"self", source}}, tensor({2}));
        for (int i = 0; i < num_copies; ++i) {
            const std::string number = std::to_string(i);
            ValueId copy =
                b.node("c" + number, "aten.clone.default", {{"self", source}}, tensor({2}));
            if (through_view)
                copy = b.node("v" + number, "aten.view.default",
                              {{"self", copy}, numbers("size", {1, 2})}, tensor({1, 2}));
            b.output(copy);
        }
        if (original) b.output(source);
        const Graph result = canonicalize(b.graph);
        EXPECT_EQ(verify(result), "");
        return result.nodes.size();
    };
    EXPECT_EQ(nodes_left(true, false, 1, false), 1u);   // the copy of an input
    EXPECT_EQ(nodes_left(true, true, 1, false), 2u);    // the same under a view
    EXPECT_EQ(nodes_left(false, false, 1, false), 1u);  // relu alone
    EXPECT_EQ(nodes_left(false, true, 1, false), 2u);   // relu and the view
    EXPECT_EQ(nodes_left(false, false, 1, true), 2u);   // relu and its copy are both returned
    EXPECT_EQ(nodes_left(false, false, 2, false), 2u);  // two copies: one may be relu itself
}

TEST(Canonical, KeepsValuesNamedInOpaqueArguments) {
    GraphBuilder b;
    const ValueId x = b.input("x", tensor({2}));
    b.node("size", "aten.sym_size.int", {{"self", x}, number("dim", -1)}, tensor({}));
    b.node("alias", "aten.alias.default", {{"self", x}}, tensor({2}));
    b.output(b.node("full", "aten.full.default",
                    {{"size", OpaqueArg{"as_sym_ints", R"([{"as_name": "size"}])"}},
                     {"like", OpaqueArg{"as_nested_tensors", R"([[{"name": "alias"}]])"}}},
                    tensor({2})));
    const Graph result = canonicalize(b.graph);
    EXPECT_EQ(verify(result), "");
    EXPECT_EQ(result.nodes.size(), 3u);
}

TEST(Canonical, DropsInertDropoutWithItsMask) {
    const auto nodes_left = [](bool mask_read) {
        GraphBuilder b;
        const ValueId x = b.input("x", tensor({2}));
        const ValueId y = b.node("y", "aten.native_dropout.default",
                                 {{"input", x}, {"p", 0.5}, {"train", false}}, tensor({2}));
        const ValueId mask = b.graph.add_value({"mask", tensor({2}, DType::boolean), NodeId{0}});
        b.graph.nodes[0].outputs.push_back(mask);
        b.output(b.node("z", "aten.relu.default", {{"self", y}}, tensor({2})));
        if (mask_read) b.output(mask);
        const Graph result = canonicalize(b.graph);
        EXPECT_EQ(verify(result), "");
        return result.nodes.size();
    };
    EXPECT_EQ(nodes_left(false), 1u);
    EXPECT_EQ(nodes_left(true), 2u);
}

TEST(Canonical, IsIdempotent) {
    GraphBuilder b;
    const ValueId x = b.input("x", tensor({2, 3}));
    const ValueId t = b.node("t", "aten.t.default", {{"self", x}}, tensor({3, 2}, {1, 3}));
    b.output(b.node("s", "aten.slice.Tensor", {{"self", t}, number("start", -2)},
                    tensor({2, 2}, {1, 3})));
    const Graph once = canonicalize(b.graph), twice = canonicalize(once);
    ASSERT_EQ(once.nodes.size(), twice.nodes.size());
    for (std::size_t i = 0; i < once.nodes.size(); ++i) {
        EXPECT_EQ(once.nodes[i].target, twice.nodes[i].target);
        EXPECT_EQ(once.nodes[i].inputs, twice.nodes[i].inputs);
    }
}

}  // namespace
}  // namespace fact::graph
