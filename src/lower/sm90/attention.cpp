#include "lower/sm90/attention.h"

#include <fmt/format.h>

#include <array>

#include "emit/code_writer.h"
#include "lower/attention/attention_form.h"
#include "lower/attention/attention_record.h"
#include "lower/attention/attention_source.h"
#include "lower/product/epilogue_functor.h"
#include "lower/product/launch_parts.h"
#include "lower/record/record_parts.h"
#include "lower/sm90/attention_shape.h"
#include "lower/sm90/matrix_map.h"
#include "lower/sm90/scaled_operands.h"

namespace fact::lower::sm90 {

namespace {

class AttentionWriter {
  public:
    AttentionWriter(const ir::Kernel& kernel, const AttentionForm& form,
                    const AttentionShape& shape)
        : kernel_(kernel), form_(form), shape_(shape) {}

    std::string source() const {
        emit::CodeWriter out;
        out.line("#include \"sm90/attention.cuh\"");
        if (scaled()) out.line("#include \"sm90/scale_pass.cuh\"");
        out.line();
        out.line("using namespace fact;");
        out.line("using namespace fact::sm90;");
        out.line();
        {
            auto config = out.block("struct Config", ";");
            out.line(fmt::format("using Element = {};", info(element()).cuda));
            out.line(fmt::format("using Output = {};", info(form_.dtype).cuda));
            out.line(fmt::format("static constexpr int kDepth = {}, kWidth = {};", shape_.depth,
                                 shape_.width));
            out.line(fmt::format("static constexpr int kGroups = {}, kColumns = {};", shape_.groups,
                                 shape_.columns));
            out.line(fmt::format(
                "static constexpr int kStages = {}, kRowStages = {}, kStoreBuffers = {};",
                AttentionShape::kStages, shape_.row_stages, AttentionShape::kStoreBuffers));
            emit_score_constants(out, form_);
            out.line(fmt::format("static constexpr int kBatchK = {}, kBatchV = {};",
                                 batch_bits(form_.k.batch), batch_bits(form_.v.batch)));
            emit_head_constants(out, form_);
        }
        out.line();
        emit_bias(out, kernel_, form_);
        if (scaled()) emit_scale_passes(out, kernel_.name, scaled_operands());
        std::vector<std::string> params;
        for (const char* name : {"q", "k", "v", "y"})
            params.push_back(fmt::format("__grid_constant__ CUtensorMap const map_{}", name));
        params.push_back(fmt::format("__grid_constant__ {} const extents",
                                     batch_type("AttentionExtents", form_.num_batch_dims())));
        if (takes_bias(form_)) params.push_back("__grid_constant__ Bias const bias");
        if (scaled())
            params.push_back(fmt::format("__grid_constant__ {} const factors",
                                         batch_type("AttentionFactors", form_.num_batch_dims())));
        if (form_.log_sums)
            params.push_back(fmt::format("__grid_constant__ {} const log_sums",
                                         batch_type("LogSums", form_.num_batch_dims())));
        out.line(
            "extern \"C\" __global__ void __launch_bounds__(AttentionShapes<Config>::kThreads, 1)");
        out.list(product_entry(kernel_) + "(", params, ") {");
        std::string more = bias_argument(form_);
        if (scaled() || form_.log_sums) more += scaled() ? ", factors" : ", NoFactors{}";
        if (form_.log_sums) more += ", log_sums";
        out.line(
            fmt::format("    attention<Config>(map_q, map_k, map_v, map_y, extents, {});", more),
            kernel_.line_of(form_.span));
        out.line("}");
        return out.text();
    }

    LaunchRecord record() const {
        LaunchRecord record;
        record.kernel = kernel_.name;
        record.arch = "sm90a";
        record.schedule = fmt::format("attention {}x{}, {} by {} features", shape_.rows(),
                                      shape_.columns, shape_.depth, shape_.width);
        record.precision = scaled() ? "tf32" : std::string(info(form_.dtype).name);
        bind_tensors(kernel_, record);
        record.alignments = bias_alignments(kernel_, form_);
        record.counts = attention_counts(form_);

        Launch launch;
        launch.entry = product_entry(kernel_);
        launch.waits = true;
        launch.grid = attention_grid(form_, shape_.rows());
        launch.block = shape_.threads();
        launch.shared_bytes = shape_.shared_bytes();
        std::vector<ScaledTensors> scaled_tensors;
        if (scaled())
            for (const ScaledOperand& operand : scaled_operands())
                scaled_tensors.push_back(add_scale_pass(record, operand));
        const int boxes[] = {shape_.rows(), shape_.columns, shape_.columns};
        for (std::size_t i = 0; i < 3; ++i)
            launch.params.push_back(
                scaled() ? map(scaled_tensors[i], boxes[i])
                         : map(*std::array{&form_.q, &form_.k, &form_.v}[i], boxes[i]));
        launch.params.push_back(map(form_.y, kStoreRows));
        launch.params.push_back(attention_extents(kernel_, form_));
        if (takes_bias(form_)) launch.params.push_back(functor_param(*form_.bias));
        if (scaled()) launch.params.push_back(factors_param(scaled_tensors));
        if (form_.log_sums) launch.params.push_back(log_sums_param(form_));
        record.launches.push_back(launch);
        return record;
    }

  private:
    // f32 operands are multiplied in f16, with a scale factor for every block of rows.
    bool scaled() const { return form_.dtype == DType::f32; }
    DType element() const { return scaled() ? DType::f16 : form_.dtype; }
    std::vector<ScaledOperand> scaled_operands() const {
        const auto as_scaled = [](const AttentionOperand& operand, int rows, int features) {
            return ScaledOperand{operand.tensor, operand.rows, operand.features,
                                 operand.batch,  rows,         features};
        };
        const auto depth = static_cast<int>(form_.depth), width = static_cast<int>(form_.width);
        return {as_scaled(form_.q, shape_.rows(), depth), as_scaled(form_.k, shape_.columns, depth),
                as_scaled(form_.v, shape_.columns, width)};
    }

    // Boxes have rows of 128 bytes: 64 values of a scaled operand, which is f16.
    TensorMapParam map(const AttentionOperand& at, int box_rows) const {
        return matrix_map(at.tensor, at.features, at.rows, at.batch, 128 / info(form_.dtype).bytes,
                          box_rows);
    }
    static TensorMapParam map(const ScaledTensors& at, int box_rows) {
        return matrix_map(at.rows, at.rank - 1, at.rank - 2, at.batch, 64, box_rows);
    }

    const ir::Kernel& kernel_;
    const AttentionForm& form_;
    const AttentionShape& shape_;
};

}  // namespace

Result<Lowered> lower_attention(const ir::Kernel& kernel,
                                const std::vector<std::int64_t>& extents) {
    const auto form = attention_form(kernel, extents);
    if (!form) return form.error();
    if (form->dtype == DType::f32 && form->node.precision == ir::Precision::exact)
        return attention_error(kernel, "f32 operands that keep their precision");
    if (form->num_batch_dims() > TensorMapParam::kMaxDims - 2)
        return attention_error(kernel, "more batch dimensions than a tensor map can have");
    const AttentionShape shape =
        attention_shape(form->depth, form->width, extents[ir::index(form->m)],
                        form->node.causal || form->node.window || form->node.bias);
    const AttentionWriter writer(kernel, *form, shape);
    return Lowered{writer.source(), writer.record(), fixed_features(*form)};
}

}  // namespace fact::lower::sm90
