#include "graph/operators.h"

#include <gtest/gtest.h>

#include "graph/identity.h"

namespace fact::graph {
namespace {

Node call(std::string target) {
    Node node;
    node.target = std::move(target);
    node.outputs = {ValueId{0}};
    return node;
}

TEST(Operators, AreKnownByNameWhateverTheOverload) {
    for (const char* target : {"aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims",
                               "aten.view.default", "aten._unsafe_view.default"})
        EXPECT_TRUE(is_reshape(call(target))) << target;
    EXPECT_EQ(facts_of(call("aten.sum.dim_IntList")).along, Along::dims);
    EXPECT_EQ(facts_of(call("aten.linear.default")).kind, OperatorKind::product);
    EXPECT_EQ(facts_of(call("mine.view.default")).kind, OperatorKind::unknown);
}

TEST(Operators, SomeOverloadsAreOperatorsOfTheirOwn) {
    EXPECT_FALSE(is_reshape(call("aten.view.dtype"))) << "other numbers";
    EXPECT_TRUE(is_view(call("aten.view.dtype"))) << "of the same memory";
    EXPECT_EQ(facts_of(call("aten.max.dim")).kind, OperatorKind::reduction);
    EXPECT_EQ(facts_of(call("aten.max.other")).kind, OperatorKind::pointwise);
    EXPECT_EQ(facts_of(call("aten._native_batch_norm_legit.no_stats")).along, Along::batch);
    EXPECT_EQ(facts_of(call("aten._native_batch_norm_legit.default")).along, Along::nothing);
}

TEST(Operators, CopiesKeepElementsAndAreNoViews) {
    EXPECT_EQ(facts_of(call("aten.clone.default")).motion, Motion::same);
    EXPECT_FALSE(is_plain_view(call("aten.clone.default")));
    EXPECT_TRUE(is_plain_view(call("aten.detach.default")));
    EXPECT_FALSE(is_plain_view(call("aten.as_strided.default"))) << "any elements in any order";
    Node check = call("aten._assert_scalar.default");
    EXPECT_EQ(facts_of(check).kind, OperatorKind::nothing);
}

}  // namespace
}  // namespace fact::graph
