#include "graph/fused.h"

#include <gtest/gtest.h>

#include <functional>

#include "graph/graph_json.h"
#include "graph_builder.h"

namespace fact::graph {
namespace {

using testing::GraphBuilder;
using testing::Sizes;
using testing::tensor;

TEST(OutputGroup, OutputsOfOneTensorLieSideBySide) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 5, 8}));
    // Heads before rows, as attention reads them: [2, 5, 4 * 3] transposed.
    b.output(b.node("q", "aten.f.default", {{"self", x}}, tensor({2, 4, 5, 3}, {60, 3, 12, 1})));
    b.output(b.node("other", "aten.g.default", {{"self", x}}, tensor({7})));
    b.output(b.node("v", "aten.h.default", {{"self", x}}, tensor({2, 5, 6})));
    FusedCall call{"l00", "linears", {}, {}, std::move(b.graph)};
    call.results = {{"y", "q", {{0}, {2}, {1, 3}}}, {"y", "v", {{0}, {1}, {2}}}};
    const auto found = group_outputs(call);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].outputs, (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(found[0].length, 2 * 5 * (12 + 6));
    EXPECT_EQ(found[0].types[0].strides, (Sizes{90, 3, 18, 1}));
    EXPECT_EQ(found[0].types[0].offset, 0);
    EXPECT_EQ(found[0].types[1].strides, (Sizes{90, 18, 1}));
    EXPECT_EQ(found[0].types[1].offset, 12);
    EXPECT_EQ(found[1].outputs, (std::vector<std::size_t>{1}));
    EXPECT_EQ(found[1].types[0].strides, (Sizes{1}));
    EXPECT_EQ(found[1].length, 7);
}

// Two results of one output, read back after a change of one of them.
std::string refusal(const std::function<void(FusedCall&)>& change) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 8}));
    b.output(b.node("q", "aten.f.default", {{"self", x}}, tensor({2, 4})));
    b.output(b.node("v", "aten.g.default", {{"self", x}}, tensor({2, 6})));
    FusedCall call{"l00", "linears", {}, {}, std::move(b.graph)};
    call.params = {{"x", "x", {{0}, {1}}}};
    call.results = {{"y", "q", {{0}, {1}}}, {"y", "v", {{0}, {1}}}};
    change(call);
    const auto read = fused_call_from_json(to_json(call));
    return read ? "" : read.error().message;
}

TEST(FusedJson, RefusesDimensionsThatATensorDoesNotHave) {
    EXPECT_EQ(refusal([](FusedCall&) {}), "");
    EXPECT_EQ(refusal([](FusedCall& call) { call.params[0].dims[1] = {2}; }),
              "cannot read the fused call: x has no dimension 2");
    EXPECT_EQ(refusal([](FusedCall& call) { call.results[0].dims = {{0}, {1, 0}}; }),
              "cannot read the fused call: dimension 0 of q is bound twice");
}

TEST(FusedJson, RefusesPartsThatCannotLieSideBySide) {
    const std::string_view message =
        "cannot read the fused call: the parts of y cannot be placed side by side: the length of a "
        "row is unknown or too large";
    EXPECT_EQ(refusal([](FusedCall& call) { call.results[1].dims.clear(); }), message);
    EXPECT_EQ(refusal([](FusedCall& call) { call.results[1].value = "z"; }), message);
    EXPECT_EQ(refusal([](FusedCall& call) { call.original.values[2].type->sizes[1] = 0; }),
              message);
    EXPECT_EQ(refusal([](FusedCall& call) {
                  call.original.values[1].type->sizes[0] = 1;
                  call.original.values[1].type->strides[0] = std::int64_t{1} << 60;
              }),
              "cannot read the fused call: original: q: the tensor's size overflows 64 bits");
}

TEST(GraphJson, RefusesTensorsThatNobodyCanCount) {
    for (const auto& [sizes, strides] :
         {std::pair<Sizes, Sizes>{{-1}, {1}},
          {{2}, {-1}},
          {{2}, {1, 1}},
          {{std::int64_t{1} << 40, std::int64_t{1} << 40}, {1, 1}}}) {
        GraphBuilder b;
        b.output(b.input("x", tensor(sizes, strides)));
        EXPECT_FALSE(graph_from_json(to_json(b.graph)));
    }
}

}  // namespace
}  // namespace fact::graph
