// Emitted row kernels and their records against golden files; FACT_UPDATE_GOLDEN=1 writes them
// anew.
#include "golden_kernel.h"
#include "ir/extents.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::Builder;
using ir::ReduceOp;
using ir::UnaryOp;

struct Fixture {
    ir::Kernel kernel;
    Builder b{kernel};
    std::uint32_t param(const std::string& name, DType dtype, std::vector<ir::DimId> dims) {
        kernel.params.push_back({name, {dtype, std::move(dims)}, {}});
        return static_cast<std::uint32_t>(kernel.params.size() - 1);
    }
    ir::ExprId softmax(ir::ExprId x, ir::DimId n) {
        const auto e =
            b.unary(UnaryOp::exp, b.binary(BinaryOp::sub, x, b.reduce(ReduceOp::max, x, {n})));
        return b.binary(BinaryOp::div, e, b.reduce(ReduceOp::sum, e, {n}));
    }
    void output(const std::string& name, DType dtype, ir::ExprId value) {
        kernel.outputs.push_back({{name, {dtype, kernel[value].type.dims}, {}}, value});
    }
};

TEST(LowerRows, Softmax) {
    Fixture f;
    f.kernel.name = "softmax";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("N");
    const auto x = f.b.param(f.param("x", DType::bf16, {m, n}));
    f.output("y", DType::bf16, f.softmax(x, n));
    expect_golden_kernel(f.kernel);
}

// Columns lie side by side: a block takes 32 of them.
TEST(LowerRows, ColumnMean) {
    Fixture f;
    f.kernel.name = "column_mean";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("N");
    const auto x = f.b.param(f.param("x", DType::bf16, {m, n}));
    const auto sum = f.b.reduce(ReduceOp::sum, x, {m});
    f.output("y", DType::f32, f.b.binary(BinaryOp::div, sum, f.b.extent(m)));
    expect_golden_kernel(f.kernel);
}

// The same columns are needed three times: a thread holds its part of them.
TEST(LowerRows, SoftmaxOfChannelsReadsThemOnce) {
    Fixture f;
    f.kernel.name = "channel_softmax";
    const auto b = f.kernel.dim("B"), c = f.kernel.dim("C"), p = f.kernel.dim("P");
    const auto x = f.b.param(f.param("x", DType::f32, {b, c, p}));
    const auto bias = f.b.param(f.param("bias", DType::f32, {c}));
    f.output("y", DType::f32, f.softmax(f.b.binary(BinaryOp::add, x, bias), c));
    auto known = f.kernel;
    expect_golden_kernel(known, {.arch = "sm90a", .extents = {16, 60, 900}});
    known.name += "_long";  // too long to be held
    const auto lowered = lower_rows(known, {.arch = "sm90a", .extents = {16, 600, 900}});
    ASSERT_TRUE(lowered.ok());
    EXPECT_EQ(lowered->source.find("hold<"), std::string::npos);
}

TEST(LowerRows, GroupNormTakesAProductOfDimensionsApart) {
    Fixture f;
    f.kernel.name = "group_norm";
    const auto m = f.kernel.dim("M"), d = f.kernel.dim("D"), eight = f.kernel.dim("8");
    const auto channels = f.kernel.factored_dim({eight, d});
    const auto s = f.kernel.dim("S");
    const auto x =
        f.b.view(f.b.param(f.param("x", DType::f32, {m, channels, s})), {m, eight, d, s});
    const auto w = f.b.view(f.b.param(f.param("w", DType::f32, {channels})), {eight, d});
    const auto length = f.b.extent(s);
    const auto count = f.b.binary(BinaryOp::mul, f.b.extent(d), length);
    const auto mean = [&](ir::ExprId v) {
        return f.b.binary(BinaryOp::div, f.b.reduce(ReduceOp::sum, v, {d, s}), count);
    };
    const auto centred = f.b.binary(BinaryOp::sub, x, mean(x));
    const auto variance = mean(f.b.binary(BinaryOp::mul, centred, centred));
    const auto scale =
        f.b.unary(UnaryOp::rsqrt, f.b.binary(BinaryOp::add, variance, f.b.literal(1e-5)));
    const auto y = f.b.binary(BinaryOp::mul, f.b.binary(BinaryOp::mul, centred, scale), w);
    f.output("y", DType::f32, f.b.view(y, {m, channels, s}));
    expect_golden_kernel(f.kernel);
}

// A text that names the length, or a call that knows it, gets rows that are read once.
TEST(LowerRows, SoftmaxOfKnownLengthKeepsItsExponentials) {
    Fixture f;
    f.kernel.name = "softmax_512";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("512");
    const auto x = f.b.param(f.param("x", DType::bf16, {m, n}));
    f.output("y", DType::bf16, f.softmax(x, n));
    expect_golden_kernel(f.kernel);
}

// x + r and its layer norm: one pass over memory, the sum written before the statistics are known.
TEST(LowerRows, ResidualNormWritesBoth) {
    Fixture f;
    f.kernel.name = "residual_norm";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("N");
    const auto x = f.b.param(f.param("x", DType::bf16, {m, n}));
    const auto r = f.b.param(f.param("r", DType::bf16, {m, n}));
    const auto w = f.b.param(f.param("w", DType::f32, {n}));
    const auto sum = f.b.cast(DType::bf16, f.b.binary(BinaryOp::add, x, r));
    const auto mean = [&](ir::ExprId v) {
        return f.b.binary(BinaryOp::div, f.b.reduce(ReduceOp::sum, v, {n}), f.b.extent(n));
    };
    const auto centred = f.b.binary(BinaryOp::sub, sum, mean(sum));
    const auto variance = mean(f.b.binary(BinaryOp::mul, centred, centred));
    const auto scale =
        f.b.unary(UnaryOp::rsqrt, f.b.binary(BinaryOp::add, variance, f.b.literal(1e-5)));
    f.output("s", DType::bf16, sum);
    f.output("y", DType::bf16,
             f.b.binary(BinaryOp::mul, f.b.binary(BinaryOp::mul, centred, scale), w));
    expect_golden_kernel(f.kernel, {"sm90a", {ir::kUnknownExtent, 4096}});
}

// The same text at a length of no whole vectors, and where a tensor starts anywhere.
TEST(LowerRows, VectorsAreAsWideAsLengthAndAlignmentAllow) {
    Fixture f;
    f.kernel.name = "scaled_max";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("N");
    const auto x = f.b.param(f.param("x", DType::bf16, {m, n}));
    const auto bias = f.b.param(f.param("bias", DType::f32, {m}));
    const auto most = f.b.reduce(ReduceOp::max, x, {n});
    f.output("y", DType::f32, f.b.binary(BinaryOp::sub, f.b.binary(BinaryOp::add, x, bias), most));
    struct Case {
        std::int64_t length;
        std::vector<int> alignment;
        const char *shape, *x, *y;
    };
    for (const Case& c :
         {Case{776, {}, "VectorRow<776, 8, 64, true>", "x.load<16>", "store<16>"},
          Case{776, {2, 4, 8}, "VectorRow<776, 8, 64, true>", "x.load<2>", "store<8>"},
          Case{770, {}, "VectorRow<770, 2, 32, true>", "x.load<4>", "store<8>"},
          Case{777, {}, "VectorRow<777, 1, 32, true>", "x.load<2>", "store<4>"},
          Case{8, {}, "VectorRow<8, 8, 1, true>", "x.load<16>", "store<16>"},
          Case{16384, {}, "VectorRow<16384, 8, 1024, true>", "x.load<16>", "store<16>"}}) {
        SCOPED_TRACE(c.length);
        const auto lowered =
            lower_rows(f.kernel, {"sm90a", {ir::kUnknownExtent, c.length}, c.alignment});
        ASSERT_TRUE(lowered.ok());
        for (const char* part : {c.shape, c.x, c.y})
            EXPECT_NE(lowered->source.find(part), std::string::npos) << lowered->source;
        ASSERT_EQ(lowered->fixed.size(), 1U);
        EXPECT_EQ(lowered->fixed[0].extent, c.length);
    }
    const auto longer = lower_rows(f.kernel, {"sm90a", {ir::kUnknownExtent, 1 << 20}});
    ASSERT_TRUE(longer.ok());
    EXPECT_NE(longer->source.find("using Row = BlockRow;"), std::string::npos);
    EXPECT_TRUE(longer->fixed.empty());
}

// Heads of one dimension of the tensor: the row is its fastest part.
TEST(LowerRows, HeadsAreRowsInsideADimension) {
    Fixture f;
    f.kernel.name = "head_norm";
    const auto b = f.kernel.dim("B"), m = f.kernel.dim("M"), h = f.kernel.dim("H"),
               d = f.kernel.dim("64");
    const auto x = f.b.view(
        f.b.param(f.param("x", DType::f16, {b, m, f.kernel.factored_dim({h, d})})), {b, m, h, d});
    const auto square = f.b.reduce(ReduceOp::sum, f.b.binary(BinaryOp::mul, x, x), {d});
    f.output("y", DType::f16, f.b.binary(BinaryOp::mul, x, f.b.unary(UnaryOp::rsqrt, square)));
    f.output("norm", DType::f32, square);
    expect_golden_kernel(f.kernel);
}

TEST(LowerRows, PointwiseRowsOfKnownLength) {
    Fixture f;
    f.kernel.name = "causal_scale";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("1000");
    const auto x = f.b.param(f.param("x", DType::f32, {m, n}));
    const auto alpha = f.b.param(f.param("alpha", DType::f32, {}));
    const auto lower = f.b.binary(BinaryOp::ge, f.b.index(m), f.b.index(n));
    f.output("y", DType::bf16,
             f.b.select(lower, f.b.binary(BinaryOp::mul, x, alpha), f.b.literal(0)));
    expect_golden_kernel(f.kernel);
}

// A vocabulary's worth of columns: chunks of a row are rows.
TEST(LowerRows, LongPointwiseRowsAreTakenApart) {
    Fixture f;
    f.kernel.name = "long_rows";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("N");
    const auto x = f.b.param(f.param("x", DType::bf16, {m, n}));
    const auto bias = f.b.param(f.param("bias", DType::f32, {n}));
    const auto lower = f.b.binary(BinaryOp::ge, f.b.index(m), f.b.index(n));
    f.output("y", DType::bf16,
             f.b.select(lower, f.b.binary(BinaryOp::add, x, bias), f.b.literal(0)));
    expect_golden_kernel(f.kernel, {"sm90a", {ir::kUnknownExtent, 128256}});
    // No factor suits a prime: element by element.
    const auto prime = lower_rows(f.kernel, {"sm90a", {ir::kUnknownExtent, 65537}});
    ASSERT_TRUE(prime.ok());
    EXPECT_NE(prime->source.find("common/rows.cuh"), std::string::npos);
    EXPECT_TRUE(prime->fixed.empty());
}

TEST(LowerRows, ShortRowsStayInAThread) {
    Fixture f;
    f.kernel.name = "max_pool";
    const auto m = f.kernel.dim("M"), p = f.kernel.dim("P"), four = f.kernel.dim("4");
    const auto x = f.b.param(f.param("x", DType::f16, {m, f.kernel.factored_dim({p, four})}));
    f.output("y", DType::f16, f.b.reduce(ReduceOp::max, f.b.view(x, {m, p, four}), {four}));
    expect_golden_kernel(f.kernel);
}

TEST(LowerRows, PointwiseWithSeveralOutputsAndAScalar) {
    Fixture f;
    f.kernel.name = "gate";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("N");
    const auto x = f.b.param(f.param("x", DType::bf16, {m, n}));
    const auto alpha = f.b.param(f.param("alpha", DType::f32, {}));
    const auto scaled = f.b.binary(BinaryOp::mul, x, alpha);
    const auto column = f.b.index(n);
    const auto lower = f.b.binary(BinaryOp::ge, f.b.index(m), column);
    f.output("y", DType::bf16, f.b.select(lower, f.b.unary(UnaryOp::silu, scaled), f.b.literal(0)));
    f.output("scaled", DType::f32, scaled);
    expect_golden_kernel(f.kernel);
}

// Times of events since some start: in seconds they fill 31 bits, in anything less more than 32.
struct Since : Fixture {
    Since(const std::string& name, const std::string& length) {
        kernel.name = name;
        const auto m = kernel.dim("M"), n = kernel.dim(length);
        const auto x = b.param(param("x", DType::bf16, {m, n}));
        const auto t = b.param(param("t", DType::i64, {m, n}));
        const auto start = b.param(param("start", DType::i64, {m}));
        const auto inside = b.binary(BinaryOp::ge, t, start);
        output("y", DType::bf16, b.select(inside, x, b.literal(0)));
        const auto latest = b.reduce(ReduceOp::max, t, {n});
        output("latest", DType::i64,
               b.binary(BinaryOp::max, latest, b.unary(UnaryOp::abs, b.index(m))));
    }
};

TEST(LowerRows, WideIntegersKeepTheirBits) {
    expect_golden_kernel(Since("since", "N").kernel);
    expect_golden_kernel(Since("since_512", "512").kernel);
}

// What rotary embeddings compute, of heads in two parts.
struct Rotary : Fixture {
    ir::DimId t = kernel.dim("T"), h = kernel.dim("H"), two = kernel.dim("2"),
              half = kernel.dim("64");

    ir::ExprId rotated(ir::ExprId x, ir::ExprId cosine, ir::ExprId sine) {
        const auto index = b.index(two), zero = b.literal(0, DType::i32);
        const auto first = b.binary(BinaryOp::eq, index, zero);
        const auto less = b.literal(-1), more = b.literal(1);
        const auto sign = b.select(first, less, more);
        const auto turned = b.binary(BinaryOp::mul, b.flip(x, two), sign);
        const auto straight = b.binary(BinaryOp::mul, x, cosine);
        return b.binary(BinaryOp::add, straight, b.binary(BinaryOp::mul, turned, sine));
    }
};

TEST(LowerRows, AHalfReadsTheOtherOne) {
    Rotary f;
    f.kernel.name = "rotary";
    const auto head = f.kernel.factored_dim({f.two, f.half});
    const auto x = f.b.param(f.param("x", DType::bf16, {f.t, f.h, f.two, f.half}));
    const std::vector<ir::DimId> apart{f.t, f.two, f.half};
    const auto cosine = f.b.view(f.b.param(f.param("c2", DType::bf16, {f.t, head})), apart);
    const auto sine = f.b.view(f.b.param(f.param("sine", DType::bf16, {f.t, head})), apart);
    f.output("y", DType::bf16, f.rotated(x, cosine, sine));
    expect_golden_kernel(f.kernel);
}

// The other one of a pair is in the same vector, and a factor of the pair is read by itself.
TEST(LowerRows, PairsAreReadTogether) {
    Rotary f;
    f.kernel.name = "rotary_pairs";
    const auto heads = f.kernel.factored_dim({f.h, f.half, f.two});
    const auto x = f.b.param(f.param("x", DType::f32, {f.t, heads}));
    const auto cosine = f.b.param(f.param("cosine", DType::f32, {f.t, f.half}));
    const auto sine = f.b.param(f.param("sine", DType::f32, {f.t, f.half}));
    const auto y = f.rotated(f.b.view(x, {f.t, f.h, f.half, f.two}), cosine, sine);
    f.output("y", DType::f32, f.b.view(y, {f.t, heads}));
    expect_golden_kernel(f.kernel);
}

// Rows across dimensions of their own ask the tensor to hold them in one piece.
TEST(LowerRows, RowsOfSeveralDimensionsLieInOnePiece) {
    Rotary f;
    f.kernel.name = "pairs_apart";
    const auto x =
        f.b.param(f.param("x", DType::bf16, {f.t, f.kernel.factored_dim({f.h, f.half, f.two})}));
    const auto cosine = f.b.param(f.param("cosine", DType::bf16, {f.t, f.half, f.two}));
    const auto y = f.rotated(f.b.view(x, {f.t, f.h, f.half, f.two}), cosine, cosine);
    f.output("y", DType::bf16, y);
    const auto lowered = lower_rows(f.kernel, {"sm90a"});
    ASSERT_TRUE(lowered);
    EXPECT_EQ(lowered->record.alignments,
              (std::vector<Alignment>{{0, 16}, {1, 16, 2}, {2, 16, 2}}));
}

// Statistics of a head are the same on both sides of a flip; those of a half are computed twice.
TEST(LowerRows, FlipsGoToWhatIsRead) {
    Rotary f;
    f.kernel.name = "flipped_statistics";
    const auto x = f.b.param(f.param("x", DType::f32, {f.t, f.two, f.half}));
    const auto top = f.b.reduce(ReduceOp::max, x, {f.half});
    const auto scaled = f.b.binary(BinaryOp::sub, x, top);
    const auto place = f.b.flip(f.b.index(f.two), f.two);
    f.output("y", DType::f32, f.b.binary(BinaryOp::mul, f.b.flip(scaled, f.two), place));
    expect_golden_kernel(f.kernel);
}

// Longer than what a thread reads at a time: element by element.
TEST(LowerRows, AWholeRowIsReadBackwards) {
    Rotary f;
    f.kernel.name = "backwards";
    const auto x = f.b.param(f.param("x", DType::f32, {f.t, f.half}));
    f.output("y", DType::f32, f.b.binary(BinaryOp::add, x, f.b.flip(x, f.half)));
    expect_golden_kernel(f.kernel);
}

// Extents, and coordinates along what is put together, are ints in the emitted text.
TEST(LowerRows, WhatIsCountedInIntsIsInTheRecord) {
    Fixture f;
    f.kernel.name = "counted";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("N"), k = f.kernel.dim("K");
    const auto both = f.kernel.factored_dim({m, n});
    const auto x = f.b.param(f.param("x", DType::f32, {m, n, k}));
    const auto rows = f.b.view(x, {both, k});
    const auto mean =
        f.b.binary(BinaryOp::div, f.b.reduce(ReduceOp::sum, rows, {k}), f.b.extent(k));
    const auto at = f.b.binary(BinaryOp::mul, mean, f.b.index(both));
    f.output("y", DType::f32, f.b.view(at, {m, n}));
    ASSERT_EQ(ir::verify(f.kernel), "");
    const auto lowered = lower_rows(f.kernel, {"sm90a"});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(lowered->record.counts, (std::vector<ExtentField>{{{{0, 0}, {0, 1}}}}));
    EXPECT_EQ(inconsistency(lowered->record), "");
}

TEST(LowerRows, ReductionsOverDifferentDimensionsDoNotFit) {
    Fixture f;
    f.kernel.name = "both";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("N");
    const auto x = f.b.param(f.param("x", DType::f32, {m, n}));
    const auto y =
        f.b.binary(BinaryOp::sub, f.b.binary(BinaryOp::sub, x, f.b.reduce(ReduceOp::max, x, {n})),
                   f.b.reduce(ReduceOp::max, x, {m}));
    f.output("y", DType::f32, y);
    const auto lowered = lower_rows(f.kernel, {"sm90a"});
    ASSERT_FALSE(lowered.ok());
    EXPECT_NE(lowered.error().message.find("reductions over ["), std::string::npos);
}

// 2^64 ways lead from the last of these to the first, and each is computed once.
TEST(LowerRows, SharedValuesAreWalkedOnce) {
    Fixture f;
    f.kernel.name = "shared";
    const auto m = f.kernel.dim("M"), n = f.kernel.dim("256");
    const auto x = f.b.param(f.param("x", DType::f32, {m, n}));
    auto wide = x;
    for (int i = 0; i < 64; ++i) wide = f.b.binary(BinaryOp::mul, wide, wide);
    const auto sum = f.b.reduce(ReduceOp::sum, wide, {n});
    f.output("y", DType::f32, f.b.binary(BinaryOp::mul, wide, sum));
    const auto lowered = lower_rows(f.kernel, {"sm90a"});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_LT(lowered->source.size(), 20'000u);
}

}  // namespace
}  // namespace fact::lower
