// Kernel texts for the tests, compiled.
#pragma once

#include <gtest/gtest.h>

#include "dsl/dsl.h"
#include "tools/extents.h"

namespace fact::tools {

inline constexpr std::string_view kMlp =
    "kernel mlp_up(x: bf16[M, K], w: bf16[N, K], b: bf16[N]) -> (y: bf16[M, N]) {\n"
    "  acc = x @ w.T\n"
    "  y   = gelu_tanh(acc + b)\n"
    "}\n";

inline dsl::Program compiled(std::string_view text) {
    Diagnostics diagnostics;
    auto program = dsl::compile(text, diagnostics);
    EXPECT_TRUE(program) << render_all(diagnostics, "text", text);
    return program.value_or(dsl::Program{});
}

inline Extents bound(const ir::Kernel& kernel, const std::vector<std::string>& words,
                     Assume assume = Assume::typical) {
    const auto settings = parse_settings(words);
    EXPECT_TRUE(settings) << settings.error().text();
    const auto extents = bind_extents(kernel, *settings, assume);
    EXPECT_TRUE(extents) << extents.error().text();
    return *extents;
}

}  // namespace fact::tools
