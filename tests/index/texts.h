// Kernel texts and what they are made of.
#pragma once

#include <gtest/gtest.h>

#include "index/collection.h"
#include "index/text_features.h"

namespace fact::index {

inline Features of(const std::string& text, const Extents& extents = {}) {
    Diagnostics diagnostics;
    const auto program = dsl::compile(text, diagnostics);
    EXPECT_TRUE(program) << render_all(diagnostics, "text", text);
    return program ? text_features(*program, extents) : Features{};
}

// A product and what stands behind it.
inline std::string linear_text(const std::string& after, const std::string& type = "bf16") {
    return "kernel f(x: " + type + "[M, K], w: " + type + "[N, K]) -> (y: " + type +
           "[M, N]) {\n  acc = x @ w.T\n  y = " + after + "\n}\n";
}

inline std::string rows_text(const std::string& value) {
    return "kernel f(x: f32[M, N]) -> (y: f32[M, N]) {\n  y = " + value + "\n}\n";
}

inline Entry entry(const std::string& name, const std::string& text, const Extents& extents = {}) {
    Entry made;
    made.example.name = name;
    made.example.text = text;
    made.features = of(text, extents);
    return made;
}

}  // namespace fact::index
