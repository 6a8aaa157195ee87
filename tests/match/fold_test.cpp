// A norm before a product: beside the two patterns, the one that folds the norm into the product.
#include "match/fold.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using graph::ValueId;
using testing::Net;
using testing::Sizes;
using Names = std::vector<std::string>;

constexpr std::int64_t kB = 2, kT = 40, kK = 192, kN = 96;

struct Normed : Net {
    ValueId x = input("x", {kB, kT, kK});
    ValueId g = weight("g", {kK}), b = weight("b", {kK}), w = weight("w", {kN, kK});

    ValueId layer_norm(const std::string& name, ValueId of, bool gain = true, bool shift = true) {
        std::vector<std::pair<std::string, graph::Argument>> arguments{
            {"input", of}, {"normalized_shape", Sizes{kK}}};
        if (gain) arguments.emplace_back("weight", g);
        if (shift) arguments.emplace_back("bias", b);
        return op(name, "layer_norm.default", std::move(arguments), graph[of].type->sizes);
    }
    ValueId rms_norm(const std::string& name, ValueId of) {
        return op(name, "rms_norm.default",
                  {{"input", of}, {"normalized_shape", Sizes{kK}}, {"weight", g}, {"eps", 1e-6}},
                  graph[of].type->sizes);
    }
    ValueId mean(const std::string& name, ValueId of) {
        return op(name, "mean.dim", {{"self", of}, {"dim", Sizes{-1}}, {"keepdim", true}},
                  {kB, kT, 1});
    }
    ValueId squares(const std::string& name, ValueId of) {
        return op(name, "pow.Tensor_Scalar", {{"self", of}, {"exponent", std::int64_t{2}}},
                  graph[of].type->sizes);
    }
};

Names ids(const Discovery& found) {
    Names names;
    for (const auto& pattern : found.patterns) names.push_back(pattern.id);
    return names;
}

[[maybe_unused]] const Pattern& pattern(const Discovery& found, const std::string& id) {
    for (const auto& pattern : found.patterns)
        if (pattern.id == id) return pattern;
    ADD_FAILURE() << id << " was not found";
    return found.patterns.front();
}

TEST(Fold, AnRmsNormIsAFactorOfTheRow) {
    Normed net;
    net.output(net.linear("y", net.rms_norm("n", net.x), net.w));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"n00_rms_norm_rows", "p00_linear", "p00b_rms_norm_linear"}));
    const Pattern& p = found.patterns.back();
    EXPECT_EQ(p.nodes, (Names{"n", "y"}));
    EXPECT_EQ(p.inputs, (Names{"x", "g", "w"}));
    EXPECT_EQ(p.params[0].value, "x");
    EXPECT_EQ(p.params[0].dims, (std::vector<std::vector<int>>{{0, 1}, {2}}));
    EXPECT_EQ(p.kernel, "");
    EXPECT_TRUE(found.left_alone.empty());
}

TEST(Fold, ALayerNormTakesItsMeanAndShiftToTheSums) {
    Normed net;
    net.output(net.linear("y", net.layer_norm("n", net.x), net.w));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"n00_layer_norm_rows", "p00_linear", "p00b_layer_norm_linear"}));
    EXPECT_EQ(found.patterns.back().kernel, "");
}

}  // namespace
}  // namespace fact::match
