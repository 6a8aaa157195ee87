#include "graph/fused.h"

#include <gtest/gtest.h>

#include "graph_builder.h"

namespace fact::graph {
namespace {

using testing::GraphBuilder;
using testing::Sizes;
using testing::tensor;

TEST(Together, OutputsOfOneTensorLieSideBySide) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 5, 8}));
    // Heads before rows, as attention reads them: [2, 5, 4 * 3] transposed.
    b.output(b.node("q", "aten.f.default", {{"self", x}}, tensor({2, 4, 5, 3}, {60, 3, 12, 1})));
    b.output(b.node("other", "aten.g.default", {{"self", x}}, tensor({7})));
    b.output(b.node("v", "aten.h.default", {{"self", x}}, tensor({2, 5, 6})));
    FusedCall call{"l00", "linears", {}, {}, std::move(b.graph)};
    call.results = {{"y", "q", {{0}, {2}, {1, 3}}}, {"y", "v", {{0}, {1}, {2}}}};
    const auto found = outputs_together(call);
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

}  // namespace
}  // namespace fact::graph
