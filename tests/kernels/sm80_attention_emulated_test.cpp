// The attention skeleton for mma.sync, run on the host over emulated instructions, beside f64.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "emulated/device.h"

namespace fact {
using std::max;
using std::min;
}  // namespace fact
#include "sm80/attention.cuh"

namespace fact::sm80 {

alignas(128) unsigned char shared[99 * 1024];

namespace {

template <class Element_, int kDepth_, int kWidth_, int kRows_, int kColumns_, bool kCausal_,
          bool kBias_ = false, int kRepeats_ = 1, bool kZeroUnseen_ = false, int kCap_ = 0,
          int kWindow_ = 0>
struct Config {
    using Element = Element_;
    static constexpr int kDepth = kDepth_, kWidth = kWidth_, kRows = kRows_, kColumns = kColumns_;
    static constexpr bool kCausal = kCausal_, kBias = kBias_, kZeroUnseen = kZeroUnseen_;
    static constexpr float kScale = 0.125f, kCap = kCap_;
    static constexpr int kHeads = 1, kRepeats = kRepeats_, kWindow = kWindow_;
};

struct Added {
    StridedMatrix<float> values;
    struct Fetched {
        StridedMatrix<float>::Fetched values;
    };
    Fetched fetch(Slab const& slab) const { return {values.fetch(slab)}; }
    float operator()(float, Fetched const& at, Slab const&, int i) const { return at.values.at(i); }
};
// Keys that nobody sees.
struct Seen {
    StridedRow<bool> values;
    struct Fetched {
        StridedRow<bool>::Fetched values;
    };
    Fetched fetch(Slab const& slab) const { return {values.fetch(slab)}; }
    float operator()(float, Fetched const& at, Slab const&, int i) const {
        return at.values.at(i) ? 0.f : -INFINITY;
    }
};

// [batch, rows, heads, features], with more between the rows than there are features: strangers'.
template <class Element>
struct Heads {
    static constexpr int kBetween = 8;
    int batch, rows, heads, features;
    std::vector<Element> data;

    Heads(int batch_, int rows_, int heads_, int features_, std::mt19937* random)
        : batch(batch_),
          rows(rows_),
          heads(heads_),
          features(features_),
          data(static_cast<std::size_t>(batch * rows * stride()), narrow<Element>(NAN)) {
        std::normal_distribution<float> normal;
        for (int b = 0; b < batch && random; ++b)
            for (int r = 0; r < rows; ++r)
                for (int h = 0; h < heads; ++h)
                    for (int f = 0; f < features; ++f)
                        data[place(b, r, h, f)] = narrow<Element>(normal(*random));
    }
    int pitch() const { return features + kBetween; }
    int stride() const { return heads * pitch(); }
    std::size_t place(int b, int r, int h, int f) const {
        return static_cast<std::size_t>((b * rows + r) * stride() + h * pitch() + f);
    }
    double at(int b, int r, int h, int f) const { return widen(data[place(b, r, h, f)]); }
    Source<Element> source() const {
        emulated::allow(data.data(), data.size() * sizeof(Element));
        return {data.data(), stride(), 1, {rows * stride(), pitch()}};
    }
};

struct Problem {
    int batch = 1, heads = 1, rows, columns;
};

// What is added to a score, by batch, head, row and column.
using Score = std::function<double(int, int, int, int)>;

struct ExactRow {
    std::vector<double> values;
    double log_sum;
};

// One row of attention in f64, its weights rounded as the IR says they are.
template <class Config, class Element>
ExactRow exact_row(Heads<Element> const& q, Heads<Element> const& k, Heads<Element> const& v,
                   Score const& added, int b, int h, int r) {
    int const shared_head = h / Config::kRepeats;
    std::vector<double> weights;
    double top = -INFINITY, sum = 0;
    for (int c = 0; c < k.rows; ++c) {
        double score = 0;
        for (int f = 0; f < q.features; ++f) score += q.at(b, r, h, f) * k.at(b, c, shared_head, f);
        score *= double{Config::kScale};
        if (Config::kCap > 0) score = Config::kCap * std::tanh(score / Config::kCap);
        score += added(b, h, r, c);
        if (Config::kCausal && c > r) score = -INFINITY;
        if (Config::kWindow > 0 && std::abs(c - r) >= Config::kWindow) score = -INFINITY;
        weights.push_back(score);
        top = std::max(top, score);
    }
    std::vector<double> result(static_cast<std::size_t>(v.features));
    if (top == -INFINITY)
        return {std::vector(result.size(), Config::kZeroUnseen ? 0.0 : NAN), -INFINITY};
    for (double& weight : weights) sum += weight = std::exp(weight - top);
    for (int c = 0; c < k.rows; ++c)
        for (int f = 0; f < v.features; ++f)
            result[static_cast<std::size_t>(f)] +=
                weights[static_cast<std::size_t>(c)] / sum * v.at(b, c, shared_head, f);
    return {result, top + std::log(sum)};
}

template <class Config, class Bias>
void prove(Problem const& p, Bias const& bias, Score const& added, unsigned seed) {
    using Element = typename Config::Element;
    using Shapes = AttentionShapes<Config>;
    static_assert(Shapes::kQBytes + 2 * Shapes::kStageBytes <= sizeof(shared));
    std::mt19937 random(seed);
    Heads<Element> const q(p.batch, p.rows, p.heads, Config::kDepth, &random);
    Heads<Element> const k(p.batch, p.columns, p.heads / Config::kRepeats, Config::kDepth, &random);
    Heads<Element> const v(p.batch, p.columns, p.heads / Config::kRepeats, Config::kWidth, &random);
    auto const from_q = q.source(), from_k = k.source(), from_v = v.source();
    for (bool const late : {false, true}) {
        Heads<Element> y(p.batch, p.rows, p.heads, Config::kWidth, nullptr);
        Output<Element> const to{y.data.data(), y.stride(), 1, {y.rows * y.stride(), y.pitch()}};
        AttentionExtents const extents{p.rows, p.columns, Config::kWidth, {p.batch, p.heads}};
        std::memset(shared, 0xff, sizeof(shared));  // NaN
        // By row, then by head and batch: the kernel is given strides.
        std::vector<float> sums(static_cast<std::size_t>(p.rows * p.heads * p.batch), NAN);
        LogSums const to_sums{sums.data(), p.heads * p.batch, {1, p.batch}};
        emulated::run({2, Shapes::kThreads, late, seed}, [&] {
            attention<Config>(from_q, from_k, from_v, to, extents, bias, to_sums);
        });
        EXPECT_EQ(emulated::copies_outside(), 0);
        double const allowed = std::is_same_v<Element, half> ? 3e-3 : 2e-2;
        double worst = 0;
        for (int b = 0; b < p.batch; ++b)
            for (int h = 0; h < p.heads; ++h)
                for (int r = 0; r < p.rows; ++r) {
                    auto const want = exact_row<Config>(q, k, v, added, b, h, r);
                    float const sum =
                        sums[static_cast<std::size_t>((r * p.heads + h) * p.batch + b)];
                    if (std::isinf(want.log_sum))
                        EXPECT_EQ(sum, want.log_sum) << r;
                    else
                        EXPECT_NEAR(sum, want.log_sum, 1e-3) << r;
                    for (int f = 0; f < y.pitch(); ++f) {
                        double const got = y.at(b, r, h, f);
                        double const wanted =
                            f < y.features ? want.values[static_cast<std::size_t>(f)] : NAN;
                        if (std::isnan(got) && std::isnan(wanted)) continue;
                        double const off = std::abs(got - wanted);
                        if (!(off <= worst)) worst = off;
                    }
                }
        EXPECT_LE(worst, allowed) << p.rows << " by " << p.columns << (late ? ", late" : "");
    }
}

template <class Config>
void prove(Problem const& p, unsigned seed = 1) {
    prove<Config>(p, NoBias{}, [](int, int, int, int) { return 0.0; }, seed);
}

TEST(Sm80Attention, EveryHeadSize) {
    prove<Config<bf16, 32, 32, 128, 64, false>>({1, 1, 70, 100});
    prove<Config<bf16, 64, 64, 128, 64, false>>({1, 1, 130, 197});
    prove<Config<bf16, 80, 80, 128, 32, false>>({1, 1, 64, 100});
    prove<Config<bf16, 96, 96, 128, 32, false>>({1, 1, 100, 64});
    prove<Config<bf16, 128, 128, 128, 32, false>>({1, 1, 33, 97});
    prove<Config<bf16, 256, 256, 64, 32, false>>({1, 1, 70, 70});
}

TEST(Sm80Attention, FeaturesThatFillNoSixteen) {
    prove<Config<bf16, 8, 8, 128, 64, false>>({1, 1, 20, 20});
    prove<Config<bf16, 40, 72, 128, 32, false>>({1, 1, 50, 40});
    prove<Config<half, 136, 24, 64, 32, true>>({1, 1, 65, 80});
}

TEST(Sm80Attention, CausalWithMoreOfEither) {
    prove<Config<half, 64, 64, 128, 64, true>>({1, 1, 260, 260});
    prove<Config<bf16, 64, 64, 128, 64, true>>({1, 1, 200, 90});
    prove<Config<bf16, 64, 64, 64, 64, true>>({1, 1, 50, 200});
    prove<Config<bf16, 128, 128, 128, 32, true>>({1, 1, 129, 129});
    prove<Config<half, 256, 256, 64, 32, true>>({1, 1, 66, 66});
}

template <bool kCausal, int kWindow, bool kZeroUnseen = false>
using Windowed =
    Config<half, 64, 64, 128, 64, kCausal, false, 1, kZeroUnseen, 0, kWindow>;  // 32 rows a warp

TEST(Sm80Attention, Windows) {
    prove<Windowed<true, 1>>({1, 1, 150, 150}, 20);
    prove<Windowed<true, 40>>({1, 2, 200, 200}, 21);
    prove<Windowed<true, 64>>({1, 1, 260, 260}, 22);
    prove<Windowed<true, 150>>({1, 1, 200, 200}, 23);
    prove<Windowed<false, 33>>({1, 1, 200, 200}, 24);
    prove<Windowed<false, 100>>({1, 1, 140, 300}, 25);
    prove<Config<bf16, 128, 128, 64, 32, true, false, 2, false, 0, 50>>({1, 2, 130, 130}, 26);
}

// Behind the last column a window shows nothing, for whole tiles too.
TEST(Sm80Attention, WindowsBehindTheLastColumn) {
    prove<Windowed<true, 50>>({1, 1, 300, 100}, 27);
    prove<Windowed<false, 20, true>>({1, 1, 300, 30}, 28);
}

TEST(Sm80Attention, HeadsOfABatchThatShareKeys) {
    prove<Config<half, 64, 64, 64, 64, false, false, 3>>({2, 6, 20, 70}, 5);
    prove<Config<bf16, 32, 64, 64, 64, true, false, 2>>({3, 4, 40, 40}, 6);
}

TEST(Sm80Attention, OneRowAndOneColumn) {
    prove<Config<bf16, 64, 64, 64, 64, false>>({2, 2, 1, 130}, 7);
    prove<Config<bf16, 64, 64, 64, 64, false>>({2, 2, 9, 1}, 8);
}

TEST(Sm80Attention, ABiasOfEveryPlace) {
    constexpr int kRows = 90, kColumns = 75, kHeads = 2;
    std::vector<float> values(kHeads * kRows * kColumns);
    std::mt19937 random(9);
    std::normal_distribution<float> normal;
    for (float& x : values) x = 3 * normal(random);
    Added const bias{{values.data(), kColumns, 1, {0, kRows * kColumns}}};
    Score const added = [&](int, int h, int r, int c) {
        return double{values[static_cast<std::size_t>((h * kRows + r) * kColumns + c)]};
    };
    prove<Config<half, 64, 64, 128, 32, false, true>>({2, kHeads, kRows, kColumns}, bias, added, 9);
    prove<Config<half, 64, 64, 128, 32, true, true>>({1, kHeads, kRows, kColumns}, bias, added, 10);
}

TEST(Sm80Attention, ScoresUnderACap) {
    prove<Config<half, 64, 64, 128, 64, true, false, 1, false, 2>>({1, 1, 130, 130}, 13);
}

TEST(Sm80Attention, RowsThatSeeNothing) {
    constexpr int kColumns = 100;
    bool seen[2][kColumns];  // the first of the batch sees nothing, the second only late columns
    for (int c = 0; c < kColumns; ++c) seen[0][c] = false, seen[1][c] = c % 3 == 0 && c > 40;
    Seen const bias{{&seen[0][0], 0, 1, {kColumns, 0}}};
    Score const added = [&](int b, int, int, int c) { return seen[b][c] ? 0.0 : -INFINITY; };
    prove<Config<bf16, 32, 32, 64, 32, false, true>>({2, 1, 40, kColumns}, bias, added, 11);
    prove<Config<bf16, 32, 32, 64, 32, false, true, 1, true>>({2, 1, 40, kColumns}, bias, added,
                                                              12);
}

}  // namespace
}  // namespace fact::sm80
