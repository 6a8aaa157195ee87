#include "graph/phases.h"

#include <gtest/gtest.h>

#include <vector>

namespace fact::graph {
namespace {

using Numbers = std::vector<std::int64_t>;

WindowDim rule_of(std::int64_t taps, std::int64_t stride, std::int64_t padding,
                  std::int64_t output_padding, std::int64_t extent, std::int64_t dilation = 1) {
    WindowDim rule;
    rule.taps = taps, rule.stride = stride, rule.before = padding, rule.dilation = dilation;
    rule.places = (extent - 1) * stride - 2 * padding + dilation * (taps - 1) + 1 + output_padding;
    return rule;
}

// What the definition gives: each element is spread over the results.
Numbers spread(const WindowDim& rule, const Numbers& x, const Numbers& w) {
    Numbers y(static_cast<std::size_t>(rule.places));
    for (std::int64_t i = 0; i < std::ssize(x); ++i)
        for (std::int64_t r = 0; r < std::ssize(w); ++r)
            if (const std::int64_t o = rule.stride * i + r * rule.dilation - rule.before;
                o >= 0 && o < rule.places)
                y[o] += x[i] * w[r];
    return y;
}

Numbers in_phases(const WindowDim& rule, const Numbers& x, const Numbers& w) {
    const Phases p = phases_of(rule, std::ssize(x));
    const auto at = [](const Numbers& list, std::int64_t i) {
        return i < 0 || i >= std::ssize(list) ? 0 : list[i];
    };
    Numbers filled(static_cast<std::size_t>(std::ssize(w) * p.apart));
    for (std::int64_t r = 0; r < std::ssize(w); ++r) filled[r * p.apart] = w[r];
    Numbers all;
    for (std::int64_t q = 0; q < p.places; ++q)
        for (std::int64_t a = 0; a < p.phases; ++a) {
            std::int64_t sum = 0;
            for (std::int64_t t = 0; t < p.taps; ++t)
                sum += at(x, q + t * p.dilation - p.before) *
                       at(filled, a + rule.stride * (p.taps - 1 - t) - p.weight_before);
            all.push_back(sum);
        }
    return {all.begin() + p.skipped, all.end() - p.dropped};
}

TEST(Phases, TogetherAreTheTransposedConvolution) {
    for (std::int64_t taps = 1; taps <= 6; ++taps)
        for (std::int64_t stride = 1; stride <= 4; ++stride)
            for (std::int64_t padding = 0; padding < taps; ++padding)
                for (std::int64_t more = 0; more < stride; ++more)
                    for (std::int64_t extent = 1; extent <= 7; ++extent) {
                        const WindowDim rule = rule_of(taps, stride, padding, more, extent);
                        if (rule.places < 1) continue;
                        Numbers x, w;
                        for (std::int64_t i = 0; i < extent; ++i) x.push_back(3 * i * i + 1);
                        for (std::int64_t r = 0; r < taps; ++r) w.push_back(7 * r + 2);
                        EXPECT_EQ(in_phases(rule, x, w), spread(rule, x, w))
                            << taps << " " << stride << " " << padding << " " << more << " "
                            << extent;
                        const Phases p = phases_of(rule, extent);
                        EXPECT_EQ(p.taps, (taps + stride - 1) / stride) << "no tap is wasted";
                        EXPECT_GE(std::min({p.before, p.after, p.weight_before, p.weight_after,
                                            p.skipped, p.dropped}),
                                  0);
                        // Places and phases are as many as windows of these rules have.
                        EXPECT_EQ(extent + p.before + p.after - p.taps + 1, p.places);
                        EXPECT_EQ(taps + p.weight_before + p.weight_after - (p.taps - 1) * stride,
                                  p.phases);
                    }
}

TEST(Phases, TapsApartAreFilledWithZerosOrStayApart) {
    for (std::int64_t taps = 2; taps <= 4; ++taps)
        for (std::int64_t stride = 1; stride <= 5; ++stride)
            for (std::int64_t dilation = 2; dilation <= 4; ++dilation)
                for (std::int64_t padding = 0; padding <= dilation * (taps - 1); ++padding) {
                    const WindowDim rule = rule_of(taps, stride, padding, stride - 1, 6, dilation);
                    if (rule.places < 1) continue;
                    const Numbers x{3, 1, 4, 1, 5, 9};
                    Numbers w;
                    for (std::int64_t r = 0; r < taps; ++r) w.push_back(7 * r + 2);
                    EXPECT_EQ(in_phases(rule, x, w), spread(rule, x, w))
                        << taps << " " << stride << " " << dilation << " " << padding;
                    const Phases p = phases_of(rule, 6);
                    EXPECT_EQ(p.apart > 1, stride > 1);
                    EXPECT_EQ(p.dilation > 1, stride == 1);
                }
}

TEST(Phases, OfStrideOneAreTheWeightsBackwards) {
    EXPECT_EQ(phases_of(rule_of(3, 1, 1, 0, 10), 10),
              (Phases{.phases = 1, .places = 10, .taps = 3, .before = 1, .after = 1}));
}

TEST(Phases, AMarginIsSkippedWhereThatSavesTaps) {
    const Phases p = phases_of(rule_of(4, 2, 1, 0, 10), 10);
    EXPECT_EQ(p, (Phases{.phases = 2,
                         .places = 11,
                         .taps = 2,
                         .before = 1,
                         .after = 1,
                         .weight_before = 0,
                         .weight_after = 0,
                         .skipped = 1,
                         .dropped = 1}));
}

}  // namespace
}  // namespace fact::graph
