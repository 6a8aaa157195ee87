#include "ir/needed.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fact::ir {
namespace {

TEST(Needed, GoesDownToWhatIsGiven) {
    Kernel kernel{"f", {}, {}, {}, {}};
    Builder build{kernel};
    const std::vector<DimId> dims{kernel.dim("M")};
    kernel.params.push_back({"x", {DType::f32, dims}, {}});
    const ExprId x = build.param(0), other = build.literal(2);
    const ExprId e = build.unary(UnaryOp::exp, x), t = build.unary(UnaryOp::tanh, e);
    const ExprId sum = build.binary(BinaryOp::add, t, t);
    const auto needed = [&](std::vector<ExprId> roots, std::vector<ExprId> given) {
        std::vector<ExprId> all;
        const auto found = needed_for(kernel, roots, [&](ExprId id) {
            return std::find(given.begin(), given.end(), id) != given.end();
        });
        for (std::size_t i = 0; i < found.size(); ++i)
            if (found[i]) all.push_back(static_cast<ExprId>(i));
        return all;
    };
    EXPECT_EQ(needed({sum}, {}), (std::vector{x, e, t, sum}));
    EXPECT_EQ(needed({sum}, {e}), (std::vector{e, t, sum}));
    EXPECT_EQ(needed({sum}, {sum}), (std::vector{sum}));
    EXPECT_EQ(needed({e, other}, {}), (std::vector{x, other, e}));
}

}  // namespace
}  // namespace fact::ir
