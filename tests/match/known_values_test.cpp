// What masks hold before anything runs, and what they let rows see.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "graphs.h"
#include "match/attention/mask.h"
#include "match/known/values.h"

namespace fact::match {
namespace {

using graph::ValueId;
using testing::Net;
using testing::Sizes;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kRows = 6;
constexpr Sight kCausal{true};

// A net whose values are of the type last set, and a buffer of bytes.
struct Masks : Net {
    std::vector<graph::Weight> weights;
    std::vector<std::vector<std::byte>> storage;

    ValueId as(DType type, ValueId id) {
        graph[id].type->dtype = type;
        return id;
    }
    template <class T>
    ValueId buffer(const std::string& name, DType type, const Sizes& sizes,
                   const std::vector<T>& elements) {
        const ValueId id = as(type, input(name, sizes, {}, graph::InputKind::buffer));
        auto& bytes = storage.emplace_back(elements.size() * sizeof(T));
        std::memcpy(bytes.data(), elements.data(), bytes.size());
        weights.push_back({name, *graph[id].type, bytes, false, true});
        return id;
    }
    // Ones on and below the diagonal.
    ValueId lower_left(std::int64_t size, std::size_t flipped = ~std::size_t{0}) {
        std::vector<std::uint8_t> elements;
        for (std::int64_t i = 0; i < size; ++i)
            for (std::int64_t j = 0; j < size; ++j) elements.push_back(j <= i);
        if (flipped < elements.size()) elements[flipped] ^= 1;
        return buffer("mask", DType::boolean, {1, 1, size, size}, elements);
    }
    ValueId range(const std::string& name) {
        return as(DType::i64, op(name, "arange.default", {{"end", kRows}}, {kRows}));
    }

    std::optional<KnownTensor> known(ValueId id) { return KnownValues(graph, weights).of(id); }
    std::optional<Sight> sight(ValueId id, MaskMeaning meaning) {
        const auto found = known(id);
        if (!found) return std::nullopt;
        Shape shape(found->sizes.size());
        for (std::size_t i = 0; i < 2 && i < shape.size(); ++i)
            if (found->sizes.end()[-1 - static_cast<std::ptrdiff_t>(i)] > 1)
                shape[shape.size() - 1 - i] = {i == 0 ? 1 : 0};
        return sight_of(*found, meaning, shape, {0, 1, kRows, kRows, kHidden});
    }
};

TEST(Mask, TheFirstRowsOfALongerBufferAreCausal) {
    Masks net;
    const auto mask = net.lower_left(9);
    const auto rows = net.op("rows", "slice.Tensor",
                             {{"self", mask},
                              {"dim", std::int64_t{2}},
                              {"start", std::int64_t{0}},
                              {"end", kRows},
                              {"step", std::int64_t{1}}},
                             {1, 1, kRows, 9});
    const auto part = net.op("part", "slice.Tensor",
                             {{"self", rows},
                              {"dim", std::int64_t{3}},
                              {"start", std::int64_t{0}},
                              {"end", kRows},
                              {"step", std::int64_t{1}}},
                             {1, 1, kRows, kRows});
    EXPECT_EQ(net.sight(part, MaskMeaning::show_where), kCausal);
    EXPECT_EQ(net.sight(part, MaskMeaning::hide_where), std::nullopt);
    const auto none = net.as(DType::boolean, net.pointwise("none", "eq.Scalar", part, 0.0));
    EXPECT_EQ(net.sight(none, MaskMeaning::hide_where), kCausal);
}

TEST(Mask, OneWrongByteIsNoLongerCausal) {
    for (std::size_t at = 0; at < kRows * kRows; ++at) {
        Masks net;
        const auto sight = net.sight(net.lower_left(kRows, at), MaskMeaning::show_where);
        // Without its lower left corner the triangle is as wide as a window.
        const bool corner = at == kRows * (kRows - 1);
        EXPECT_EQ(sight, corner ? std::optional(Sight{true, kRows - 1}) : std::nullopt) << at;
    }
    Masks net;
    EXPECT_EQ(net.sight(net.lower_left(kRows), MaskMeaning::show_where), kCausal);
}

TEST(Mask, AddedNumbersHideWhereTheyAreLow) {
    const double infinite = -std::numeric_limits<double>::infinity();
    for (const auto& [low, sight] : {std::pair{infinite, std::optional(kCausal)},
                                     {-65504.0, kCausal},
                                     {-10000.0, std::nullopt},
                                     {0.0, Sight{}}}) {
        Masks net;
        std::vector<float> elements;
        for (int i = 0; i < kRows; ++i)
            for (int j = 0; j < kRows; ++j)
                elements.push_back(j <= i ? 0.0f : static_cast<float>(low));
        EXPECT_EQ(
            net.sight(net.buffer("mask", DType::f32, {kRows, kRows}, elements), MaskMeaning::add),
            sight)
            << low;
    }
}

// What rows see of a tensor of so many columns, by the distance i - j.
std::optional<Sight> banded(std::int64_t rows, std::int64_t columns,
                            const std::function<bool(std::int64_t)>& shown,
                            std::optional<std::size_t> flipped = {}) {
    std::vector<double> elements;
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) elements.push_back(shown(i - j));
    if (flipped) elements[*flipped] = 1 - elements[*flipped];
    const KnownTensor mask{{rows, columns},
                           {columns, 1},
                           0,
                           std::make_shared<const std::vector<double>>(std::move(elements))};
    return sight_of(mask, MaskMeaning::show_where, {{0}, {1}}, {0, 1, rows, columns, kHidden});
}

TEST(Mask, AWindowIsKnownByItsWidth) {
    for (const std::int64_t width : {1, 2, 5, 7}) {
        const auto behind = [&](std::int64_t d) { return d >= 0 && d < width; };
        EXPECT_EQ(banded(8, 8, behind), (Sight{true, width})) << width;
        EXPECT_EQ(banded(8, 20, behind), (Sight{true, width})) << width;
        const auto around = [&](std::int64_t d) { return std::abs(d) < width; };
        EXPECT_EQ(banded(8, 8, around), (Sight{width == 1, width})) << width;
        EXPECT_EQ(banded(3, 9, around), (Sight{width == 1, width})) << width;
    }
    // As wide as the tensor, it hides nothing.
    EXPECT_EQ(banded(8, 8, [](std::int64_t d) { return d >= 0 && d < 8; }), kCausal);
    EXPECT_EQ(banded(8, 8, [](std::int64_t d) { return std::abs(d) < 8; }), Sight{});
}

TEST(Mask, OtherBandsAreNoWindow) {
    // Further on one side than on the other, without the diagonal, with a hole, nothing at all.
    EXPECT_EQ(banded(8, 8, [](std::int64_t d) { return d > -2 && d < 4; }), std::nullopt);
    EXPECT_EQ(banded(8, 8, [](std::int64_t d) { return d > 0; }), std::nullopt);
    EXPECT_EQ(banded(8, 8, [](std::int64_t d) { return d >= 0 && d < 4 && d != 2; }), std::nullopt);
    EXPECT_EQ(banded(8, 8, [](std::int64_t) { return false; }), std::nullopt);
    const auto behind = [](std::int64_t d) { return d >= 0 && d < 3; };
    for (std::size_t at = 0; at < 64; ++at) EXPECT_EQ(banded(8, 8, behind, at), std::nullopt) << at;
}

// What torch gives for a row that sees nothing depends on how it is hidden.
TEST(Mask, AWindowThatHidesAllOfARowStaysAMask) {
    const auto behind = [](std::int64_t d) { return d >= 0 && d < 3; };
    EXPECT_EQ(banded(8, 6, behind), (Sight{true, 3}));
    EXPECT_EQ(banded(9, 6, behind), std::nullopt);
}

TEST(Mask, TwoMasksShowWhatBothShow) {
    Sight sight{true};
    sight.narrow({false, 4});
    EXPECT_EQ(sight, (Sight{true, 4}));
    sight.narrow({false, 6});
    sight.narrow({});
    EXPECT_EQ(sight, (Sight{true, 4}));
}

// The same row for all is no triangle, though its first row may look like one.
TEST(Mask, ARepeatedRowIsNotCausal) {
    Masks net;
    const auto row =
        net.buffer<std::uint8_t>("row", DType::boolean, {1, kRows}, {1, 0, 0, 0, 0, 0});
    const auto all = net.as(DType::boolean, net.op("all", "expand.default",
                                                   {{"self", row}, {"size", Ints{kRows, kRows}}},
                                                   {kRows, kRows}, {0, 1}));
    EXPECT_EQ(net.sight(all, MaskMeaning::show_where), std::nullopt);
    EXPECT_EQ(net.sight(row, MaskMeaning::show_where), std::nullopt);
}

TEST(KnownValues, ComparedRangesMakeATriangle) {
    Masks net;
    const auto range = net.range("range");
    const auto column =
        net.as(DType::i64, net.op("column", "unsqueeze.default",
                                  {{"self", range}, {"dim", std::int64_t{1}}}, {kRows, 1}));
    const auto seen =
        net.as(DType::boolean,
               net.op("seen", "le.Tensor", {{"self", range}, {"other", column}}, {kRows, kRows}));
    EXPECT_EQ(net.sight(seen, MaskMeaning::show_where), kCausal);
    const auto added =
        net.op("added", "where.Scalar", {{"condition", seen}, {"self", 0.0}, {"other", -1e30}},
               {kRows, kRows});
    EXPECT_EQ(net.sight(added, MaskMeaning::add), kCausal);
    KnownValues known(net.graph, {});
    EXPECT_EQ(known.producers_of(added).size(), 4u);
}

// Where positions start again, another sequence begins: rows see only their own.
TEST(KnownValues, RunningSumsOfFractionsToIntegersAreUnknown) {
    for (const float step : {0.5F, 2.0F}) {
        Masks net;
        const auto steps = net.buffer<float>("steps", DType::f32, {3}, {step, step, step});
        const auto sums = net.as(
            DType::i64,
            net.op("sums", "cumsum.default", {{"self", steps}, {"dim", std::int64_t{0}}}, {3}));
        EXPECT_EQ(net.known(sums).has_value(), step == 2.0F);
    }
}

TEST(KnownValues, PackedSequencesAreToldApart) {
    for (const bool one : {true, false}) {
        Masks net;
        const auto wide = [&](ValueId id) { return net.as(DType::i64, id); };
        std::vector<std::int64_t> positions(kRows);
        for (std::int64_t i = 0; i < kRows; ++i) positions[i] = one ? i : i % 4;
        const auto row = net.buffer<std::int64_t>("positions", DType::i64, {1, kRows}, positions);
        const auto both = wide(
            net.op("both", "expand.default", {{"self", row}, {"size", Ints{2, -1}}}, {2, kRows}));
        const auto first = wide(net.op("first", "slice.Tensor",
                                       {{"self", both},
                                        {"dim", std::int64_t{1}},
                                        {"start", std::int64_t{0}},
                                        {"end", std::int64_t{1}},
                                        {"step", std::int64_t{1}}},
                                       {2, 1}));
        const auto less = wide(
            net.op("less", "sub.Tensor", {{"self", first}, {"other", std::int64_t{1}}}, {2, 1}));
        const auto steps = wide(net.op(
            "steps", "diff.default",
            {{"self", both}, {"n", std::int64_t{1}}, {"dim", std::int64_t{-1}}, {"prepend", less}},
            {2, kRows}));
        const auto jumps = net.as(
            DType::boolean, net.op("jumps", "ne.Scalar",
                                   {{"self", steps}, {"other", std::int64_t{1}}}, {2, kRows}));
        const auto sequence =
            wide(net.op("sequence", "cumsum.default", {{"self", jumps}, {"dim", std::int64_t{-1}}},
                        {2, kRows}));
        const auto range = net.range("range");
        const auto batch = wide(net.op("batch", "arange.default", {{"end", std::int64_t{2}}}, {2}));
        const auto each =
            wide(net.op("each", "view.default", {{"self", batch}, {"size", Ints{2, 1}}}, {2, 1}));
        const auto read = wide(net.op(
            "read", "index.Tensor",
            {{"self", sequence}, {"indices", std::vector<std::optional<ValueId>>{each, range}}},
            {2, kRows}));
        const auto of_rows =
            wide(net.op("of_rows", "view.default", {{"self", read}, {"size", Ints{2, kRows, 1}}},
                        {2, kRows, 1}));
        const auto of_columns =
            wide(net.op("of_columns", "view.default", {{"self", read}, {"size", Ints{2, 1, kRows}}},
                        {2, 1, kRows}));
        const auto same = net.as(
            DType::boolean, net.op("same", "eq.Tensor", {{"self", of_rows}, {"other", of_columns}},
                                   {2, kRows, kRows}));
        const auto mask = net.as(
            DType::boolean, net.op("mask", "tril.default", {{"self", same}}, {2, kRows, kRows}));
        EXPECT_EQ(net.sight(mask, MaskMeaning::show_where),
                  one ? std::optional(kCausal) : std::nullopt);
        const auto known = net.known(sequence);
        ASSERT_TRUE(known);
        EXPECT_EQ(known->at(Ints{1, kRows - 1}), one ? 0 : 1);
        EXPECT_EQ(known->strides[0], 0);  // the same in both
    }
}

TEST(KnownValues, WhatIsReadOutsideIsNotKnown) {
    for (const std::int64_t at : {2, -3, 3}) {
        Masks net;
        const auto m = net.buffer<float>("m", DType::f32, {3, 2}, {0, 1, 2, 3, 4, 5});
        const auto where = net.buffer<std::int64_t>("where", DType::i64, {1}, {at});
        const auto read =
            net.op("read", "index.Tensor",
                   {{"self", m}, {"indices", std::vector<std::optional<ValueId>>{where}}}, {1, 2});
        const auto known = net.known(read);
        ASSERT_EQ(known.has_value(), at != 3);
        if (at == 3) continue;
        EXPECT_EQ(known->at(Ints{0, 1}), at == 2 ? 5 : 1);
    }
}

TEST(KnownValues, TrianglesOfFactoriesCountFromTheDiagonal) {
    Masks net;
    const auto low = net.op(
        "low", "full.default",
        {{"size", Ints{kRows, kRows}}, {"fill_value", -std::numeric_limits<double>::infinity()}},
        {kRows, kRows});
    const auto above = net.op("above", "triu.default",
                              {{"self", low}, {"diagonal", std::int64_t{1}}}, {kRows, kRows});
    EXPECT_EQ(net.sight(above, MaskMeaning::add), kCausal);
    const auto on = net.op("on", "triu.default", {{"self", low}}, {kRows, kRows});
    EXPECT_EQ(net.sight(on, MaskMeaning::add), std::nullopt);
}

// In bf16, counted numbers beyond 256 are no longer all different.
TEST(KnownValues, ElementsAreRoundedToTheirType) {
    Masks net;
    const auto range = net.op("range", "arange.default", {{"end", std::int64_t{300}}}, {300});
    const auto known = net.known(range);
    ASSERT_TRUE(known);
    EXPECT_EQ(known->at(Ints{257}), 256);
    EXPECT_EQ(known->at(Ints{258}), 258);
}

TEST(KnownValues, InputsParametersAndWrittenBuffersAreNotKnown) {
    Masks net;
    const auto x = net.input("x", {kRows}), w = net.weight("w", {kRows});
    const auto mask = net.lower_left(kRows);
    EXPECT_FALSE(net.known(x));
    EXPECT_FALSE(net.known(w));
    EXPECT_FALSE(net.known(net.pointwise("twice", "add.Tensor", x, x)));
    EXPECT_TRUE(net.known(mask));
    net.graph.outputs.push_back({.value = mask, .fixed = graph::None{}, .mutates = "mask"});
    EXPECT_FALSE(net.known(mask));
    // Its sizes are all that is asked of it.
    const auto ones = net.pointwise("ones", "ones_like.default", x);
    ASSERT_TRUE(net.known(ones));
    EXPECT_EQ(net.known(ones)->number(), 1);
}

TEST(KnownValues, IntegersThatWrapAreLeft) {
    for (const std::uint8_t low : {1, 0}) {
        Masks net;
        const auto m = net.buffer<std::uint8_t>("m", DType::u8, {2}, {low, 5});
        const auto less = net.pointwise("less", "sub.Tensor", m, std::int64_t{1});
        net.graph[less].type->dtype = DType::u8;
        EXPECT_EQ(net.known(less).has_value(), low == 1);
    }
}

TEST(KnownValues, ViewsShareTheirElements) {
    Masks net;
    const auto m = net.buffer<float>("m", DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5});
    const auto turned = net.permute("turned", m, {1, 0});
    const auto flat = net.op("flat", "view.default", {{"self", turned}, {"size", Ints{6}}}, {6});
    const auto last =
        net.op("last", "select.int",
               {{"self", m}, {"dim", std::int64_t{0}}, {"index", std::int64_t{1}}}, {3});
    EXPECT_EQ(net.known(turned)->at(Ints{2, 1}), 5);
    EXPECT_EQ(net.known(flat)->at(Ints{1}), 3);
    EXPECT_EQ(net.known(last)->at(Ints{0}), 3);
}

}  // namespace
}  // namespace fact::match
