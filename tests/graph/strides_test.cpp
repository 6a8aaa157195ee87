#include "graph/strides.h"

#include <gtest/gtest.h>

#include "graph_builder.h"

namespace fact::graph {
namespace {

using testing::Sizes;
using testing::tensor;

TEST(Strides, AReshapeIsAViewWhereElementsLieAtOneDistance) {
    EXPECT_EQ(reshaped(tensor({2, 3, 4}), {6, 4}).strides, (Sizes{4, 1}));
    EXPECT_EQ(reshaped(tensor({6, 4}), {2, 3, 1, 2, 2}).strides, (Sizes{12, 4, 4, 2, 1}));
    // The last dimension lies apart from the others, which can be one.
    const TensorType turned = permuted(tensor({4, 2, 3}), Sizes{1, 2, 0});
    EXPECT_EQ(turned.strides, (Sizes{3, 1, 6}));
    EXPECT_EQ(reshaped(turned, {6, 4}).strides, (Sizes{1, 6}));
    // All three cannot: torch copies them.
    EXPECT_EQ(reshaped(turned, {24}).strides, (Sizes{1}));
    EXPECT_EQ(reshaped(turned, {2, 12}).strides, (Sizes{12, 1}));
}

TEST(Strides, PointwiseResultsLieAsTheirOperands) {
    const TensorType turned = permuted(tensor({4, 3}), Sizes{1, 0});
    EXPECT_EQ(broadcast_result({3, 4}, std::vector{turned, tensor({4})}).strides, (Sizes{1, 3}));
    EXPECT_EQ(broadcast_result({3, 4}, std::vector{tensor({3, 4}), turned}).strides, (Sizes{4, 1}));
    // Operands of which each has a part of the dimensions leave the order as it is.
    EXPECT_EQ(broadcast_result({3, 4}, std::vector{tensor({3, 1}), tensor({4})}).strides,
              (Sizes{4, 1}));
}

}  // namespace
}  // namespace fact::graph
