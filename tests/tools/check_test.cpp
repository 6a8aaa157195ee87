// What passes `fact kernel check` can be emitted, and what cannot be emitted does not pass.
#include "tools/check.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "../dsl/random_kernel.cpp"
#include "support/files.h"
#include "tools/build.h"

namespace fact::tools {
namespace {

std::string emitted(const std::string& text) {
    const auto checked = check({"text", text});
    EXPECT_TRUE(checked.program) << render_all(checked.diagnostics, "text", text);
    if (!checked.program) return "";
    const ir::Kernel& kernel = checked.program->kernels.back();
    const auto extents = bind_extents(kernel, {}, Assume::typical);
    const auto source = emit(kernel, {}, "sm90a", *extents);
    EXPECT_TRUE(source);
    return source ? source->source : "";
}

// The only error of the text, whose span is marked by backticks.
Diagnostic refused(const std::string& marked) {
    std::string text;
    std::vector<std::uint32_t> marks;
    for (const char c : marked)
        if (c == '`')
            marks.push_back(static_cast<std::uint32_t>(text.size()));
        else
            text += c;
    const auto checked = check({"text", text});
    EXPECT_FALSE(checked.program) << text;
    EXPECT_EQ(checked.diagnostics.items().size(), 1u) << text;
    if (checked.diagnostics.items().empty()) return {};
    EXPECT_EQ(checked.diagnostics.items()[0].span, (Span{marks.at(0), marks.at(1)}));
    return checked.diagnostics.items()[0];
}

// Of KernelBench's problems, by a language model that was given docs/language.md and nothing else.
TEST(Check, TextsWrittenFromTheReferenceAloneAreEmitted) {
    int texts = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(FACT_SOURCE_DIR "/tests/tools/from_reference")) {
        SCOPED_TRACE(entry.path().string());
        EXPECT_NE(emitted(*read_file(entry.path())), "");
        ++texts;
    }
    EXPECT_GE(texts, 35);
}

TEST(Check, ProductsThatNothingTakesApartAreOneDimension) {
    const std::string stored = emitted(
        "kernel f(x: f32[B, H, W, C]) -> (y: f32[B, H*W]) {\n"
        "  stored t = exp(x.view(B, H*W, C))\n  y = sum(t, over: C)\n}\n");
    EXPECT_NE(stored.find("args.t(b, h * args.W + w, c)"), std::string::npos) << stored;
    EXPECT_NE(stored.find("args.t(b, h_w, c)"), std::string::npos) << stored;
    const std::string whole =
        emitted("kernel f(x: f32[H*W, C]) -> (y: f32[H*W]) {\n  y = sum(x, over: C)\n}\n");
    EXPECT_NE(whole.find("args.x(h_w, c)"), std::string::npos) << whole;
}

TEST(Check, FactorsInTwoDimensionsOfAValueHaveTwoCoordinates) {
    const std::string source = emitted(
        "kernel f(x: f32[8*D, 8], g: f32[D]) -> (y: f32[8*D]) {\n"
        "  y = sum(x, over: 8) * mean(g, over: D)\n}\n");
    EXPECT_NE(source.find("args.x(n8_d, 0)"), std::string::npos) << source;
}

TEST(Check, WhatNoKernelComputesHasACode) {
    const Diagnostic twice = refused(
        "kernel `f`(x: f32[8*M, D, 8], z: f32[8, M, D]) -> (y: f32[8*M, D, 8]) {\n"
        "  y = x + z.view(8*M, D)\n}\n");
    EXPECT_EQ(twice.code, "F0601");
    EXPECT_NE(twice.message.find("[8*M, D, 8] in which a factor of the dimensions occurs twice"),
              std::string::npos)
        << twice.message;
    EXPECT_FALSE(twice.fix.empty());
    const Diagnostic schedule = refused(
        "kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  y = x @ w.T\n}\n"
        "schedule `f on sm90a` {\n  tile 8x8x8\n}\n");
    EXPECT_EQ(schedule.code, "F0602");
}

TEST(Check, AssumedExtentsAreWhatTheTextAsksFor) {
    emitted(
        "kernel f(x: f32[M, N]) -> (y: f32[M, N]) where M % 6 == 0, M % 7 == 0, M % 8 == 0 {\n"
        "  y = exp(x)\n}\n");
    emitted("kernel f(x: f32[A*B*C*D]) -> (y: f32[A*B*C*D]) {\n  y = exp(x)\n}\n");
}

TEST(Check, RandomKernelsAreEmittedOrRefused) {
    int refused = 0;
    for (std::uint32_t seed = 0; seed < 400; ++seed) {
        const std::string text = dsl::to_text(dsl::random_kernel(seed));
        const auto checked = check({"random", text});
        if (checked.program) continue;
        ++refused;
        for (const Diagnostic& item : checked.diagnostics.items())
            EXPECT_TRUE(item.code == "F0601" || item.severity == Severity::warning) << text;
    }
    EXPECT_LE(refused, 8);
}

}  // namespace
}  // namespace fact::tools
