#include "lower/sm80/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/code_writer.h"
#include "lower/attention/attention_form.h"
#include "lower/attention/attention_record.h"
#include "lower/attention/attention_source.h"
#include "lower/product/epilogue_functor.h"
#include "lower/product/launch_parts.h"
#include "lower/record/record_parts.h"
#include "lower/sm80/attention_shape.h"
#include "lower/sm80/record.h"

namespace fact::lower::sm80 {

namespace {

class AttentionWriter {
  public:
    AttentionWriter(const ir::Kernel& kernel, const AttentionForm& form,
                    const AttentionShape& shape)
        : kernel_(kernel), form_(form), shape_(shape) {}

    std::string source() const {
        emit::CodeWriter out;
        out.line("#include \"sm80/attention.cuh\"");
        out.line();
        out.line("using namespace fact;");
        out.line("using namespace fact::sm80;");
        out.line();
        config(out);
        out.line();
        emit_bias(out, kernel_, form_);
        entry(out);
        return out.text();
    }

    LaunchRecord record(std::string_view arch) const {
        LaunchRecord record;
        record.kernel = kernel_.name;
        record.arch = arch;
        record.schedule = fmt::format("attention {}x{}, {} by {} features", shape_.rows,
                                      shape_.columns, shape_.depth, shape_.width);
        record.precision = std::string(info(form_.dtype).name);
        bind_tensors(kernel_, record);
        alignments(record.alignments);
        record.counts = attention_counts(form_);

        Launch launch;
        launch.entry = product_entry(kernel_);
        launch.grid = attention_grid(form_, shape_.rows);
        launch.block = AttentionShape::kThreads;
        launch.shared_bytes = shape_.shared_bytes();
        for (const AttentionOperand* of : {&form_.q, &form_.k, &form_.v, &form_.y})
            launch.params.push_back(strided(of->tensor, of->rows, of->features, of->batch));
        launch.params.push_back(attention_extents(kernel_, form_));
        if (takes_bias(form_)) launch.params.push_back(functor_param(*form_.bias));
        if (form_.log_sums) launch.params.push_back(log_sums_param(form_));
        record.launches = {launch};
        return record;
    }

  private:
    void config(emit::CodeWriter& out) const {
        auto config = out.block("struct Config", ";");
        out.line(fmt::format("using Element = {};", info(form_.dtype).cuda));
        out.line(fmt::format("static constexpr int kDepth = {}, kWidth = {};", shape_.depth,
                             shape_.width));
        out.line(fmt::format("static constexpr int kRows = {}, kColumns = {};", shape_.rows,
                             shape_.columns));
        emit_score_constants(out, form_);
        emit_head_constants(out, form_);
    }

    void entry(emit::CodeWriter& out) const {
        const std::string element =
            std::string(info(form_.dtype).cuda) + batch_argument(form_.num_batch_dims());
        std::vector<std::string> params;
        for (const char* name : {"q", "k", "v"})
            params.push_back(
                fmt::format("__grid_constant__ Source<{}> const operand_{}", element, name));
        params.push_back(fmt::format("__grid_constant__ Output<{}> const output_y", element));
        params.push_back(fmt::format("__grid_constant__ {} const extents",
                                     batch_type("AttentionExtents", form_.num_batch_dims())));
        if (takes_bias(form_)) params.push_back("__grid_constant__ Bias const bias");
        if (form_.log_sums)
            params.push_back(fmt::format("__grid_constant__ {} const log_sums",
                                         batch_type("LogSums", form_.num_batch_dims())));
        out.line(
            "extern \"C\" __global__ void __launch_bounds__(AttentionShapes<Config>::kThreads, 2)");
        out.list(product_entry(kernel_) + "(", params, ") {");
        out.line(
            fmt::format(
                "    attention<Config>(operand_q, operand_k, operand_v, output_y, extents, {}{});",
                bias_argument(form_), form_.log_sums ? ", log_sums" : ""),
            kernel_.line_of(form_.span));
        out.line("}");
    }

    // What alignment the tensors need: the kernel copies 16 bytes at a time, and stores pairs.
    void alignments(std::vector<Alignment>& rules) const {
        rules = bias_alignments(kernel_, form_);
        const auto need = [&](int tensor, int bytes) {
            const auto at = std::ranges::find(rules, tensor, &Alignment::tensor);
            if (at == rules.end())
                rules.push_back({tensor, bytes});
            else
                at->bytes = std::max(at->bytes, bytes);
        };
        for (const AttentionOperand* of : {&form_.q, &form_.k, &form_.v}) need(of->tensor, 16);
        need(form_.y.tensor, 2 * info(form_.dtype).bytes);
        std::ranges::sort(rules, {}, &Alignment::tensor);
    }

    const ir::Kernel& kernel_;
    const AttentionForm& form_;
    const AttentionShape& shape_;
};

}  // namespace

Result<Lowered> lower_attention(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents,
                                std::string_view arch) {
    const auto form = attention_form(kernel, extents);
    if (!form) return form.error();
    if (form->dtype != DType::bf16 && form->dtype != DType::f16)
        return attention_error(kernel, "f32 operands");
    const AttentionShape shape = attention_shape(
        form->depth, form->width, extents[ir::index(form->m)], form->bias.has_value());
    const AttentionWriter writer(kernel, *form, shape);
    return Lowered{writer.source(), writer.record(arch), fixed_features(*form)};
}

}  // namespace fact::lower::sm80
