#include "lower/attention/attention_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "lower/product/epilogue_functor.h"

namespace fact::lower {

void emit_score_constants(emit::CodeWriter& out, const AttentionForm& form) {
    const auto bool_text = [](bool value) { return value ? "true" : "false"; };
    out.line(fmt::format("static constexpr bool kCausal = {}, kBias = {};",
                         bool_text(form.node.causal), bool_text(form.bias.has_value())));
    out.line(fmt::format("static constexpr int kWindow = {};", form.node.window.value_or(0)));
    out.line(fmt::format("static constexpr bool kZeroUnseen = {};",
                         bool_text(form.node.empty_rows_are_zero)));
    out.line(fmt::format("static constexpr float kScale = {}, kCap = {};",
                         emit::float_literal(form.node.scale),
                         emit::float_literal(form.node.cap.value_or(0))));
}

void emit_head_constants(emit::CodeWriter& out, const AttentionForm& form) {
    out.line(fmt::format("static constexpr int kHeads = {}, kRepeats = {};",
                         std::max(form.heads, 0), form.repeats));
}

void emit_bias(emit::CodeWriter& out, const ir::Kernel& kernel, const AttentionForm& form) {
    if (!form.bias) return;
    emit_functor(out, kernel, *form.bias, {.name = "Bias"});
    out.line();
}

bool takes_bias(const AttentionForm& form) {
    return form.bias && has_members(*form.bias);
}

std::string bias_argument(const AttentionForm& form) {
    if (!form.bias) return "NoBias{}";
    return takes_bias(form) ? "bias" : "Bias{}";
}

}  // namespace fact::lower
