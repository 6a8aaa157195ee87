#include "lower/sm90/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "emit/code_writer.h"
#include "ir/reorderings.h"
#include "lower/product/epilogue_functor.h"
#include "lower/product/launch_parts.h"
#include "lower/record/extent_terms.h"
#include "lower/record/record_parts.h"
#include "lower/sm90/attention_shape.h"
#include "lower/sm90/matrix_map.h"
#include "lower/sm90/scaled_operands.h"

namespace fact::lower::sm90 {

namespace {

using Dims = std::vector<ir::DimId>;

constexpr int kStoreRows = 16;

// A parameter and which of its dimensions plays which part; -1: none.
struct Operand {
    int param = -1;
    int rows = -1, features = -1;
    std::vector<int> batch;
};

int position(const Dims& dims, ir::DimId dim) {
    const auto at = std::find(dims.begin(), dims.end(), dim);
    return at == dims.end() ? -1 : static_cast<int>(at - dims.begin());
}

class AttentionLowerer {
  public:
    AttentionLowerer(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents)
        : kernel_(kernel), extents_(extents) {}

    Result<Lowered> run() {
        const ir::Output& output = kernel_.outputs.front();
        ir::ExprId value = output.value;
        const Dims& dims = output.tensor.type.dims;
        // The stage may end with its rounding, between reorderings.
        value = ir::behind_reorderings(kernel_, value);
        while (const auto* cast = std::get_if<ir::Cast>(&kernel_[value].node))
            value = ir::behind_reorderings(kernel_, cast->x);
        const auto* node = std::get_if<ir::Attention>(&kernel_[value].node);
        if (!node) return cannot("something beside attention");
        node_ = node;
        span_ = kernel_[value].span;
        const Dims& own = kernel_[value].type.dims;
        batch_.assign(own.begin(), own.end() - 2);
        m_ = own.end()[-2];
        e_ = own.back();
        if (dims.back() != e_) return cannot("an output not contiguous along its features");
        n_ = kernel_[node->k].type.dims.end()[-2];
        d_ = kernel_[node->q].type.dims.back();
        merge_heads(dims);
        for (const ir::DimId dim : batch_)
            if (position(dims, dim) < 0) return cannot("an output that lacks a dimension");
        if (num_batches() > TensorMapParam::kMostDims - 2)
            return cannot("more batch dimensions than a tensor map can have");
        for (const ir::DimId dim : {d_, e_}) {
            const std::int64_t extent = extents_[ir::index(dim)];
            if (extent < 1 || extent > AttentionShape::kMostFeatures)
                return cannot(fmt::format("{} of {} features", kernel_[dim].name, extent));
        }
        const DType dtype = kernel_[node->q].type.dtype;
        if (scaled() && node->precision == ir::Precision::exact)
            return cannot("f32 operands that keep their precision");
        if (output.tensor.type.dtype != dtype) return cannot("an output of another type");
        for (auto [id, to, rows, features] :
             {std::tuple{node->q, &q_, m_, d_}, std::tuple{node->k, &k_, n_, d_},
              std::tuple{node->v, &v_, n_, e_}}) {
            *to = operand(id, rows, features);
            if (to->param < 0) return cannot("an operand that is no parameter");
            if (std::string why = unplaced(*to, to == &q_); !why.empty()) return cannot(why);
            if (to->features != static_cast<int>(param(*to).type.dims.size()) - 1)
                return cannot("an operand not contiguous along its features");
            if (extents_[ir::index(features)] * info(element()).bytes % 16 != 0)
                return cannot("rows of features that are no multiple of 16 bytes");
        }
        const auto scale = static_cast<float>(node->scale);
        if (!(scale > 0) || !std::isfinite(scale)) return cannot("a scale that is no positive f32");
        if (node->bias) {
            auto form = pointwise_form(kernel_, *node->bias, m_, n_, batch_);
            if (!form) return form.error();
            for (EpilogueForm& extra : form->extras)
                extra.paired = extra.paired && extents_[ir::index(n_)] % 2 == 0;
            bias_ = std::move(*form);
        }
        return Lowered{source(), record()};
    }

  private:
    Error cannot(const std::string& what) const {
        return Error{
            fmt::format("kernel {}: {} does not fit the attention skeleton", kernel_.name, what),
            "It is written out as products and a softmax."};
    }

    // Heads that share keys, [G, R] where k and v have G, may be one dimension of q and of the
    // output: then they are one of the batch, and k's place is a share of it.
    void merge_heads(const Dims& output) {
        for (const ir::DimId dim : output) {
            const auto& factors = kernel_[dim].factors;
            const auto at = std::ranges::search(batch_, factors).begin();
            if (factors.size() != 2 || at == batch_.end() || !kernel_[factors.back()].extent)
                continue;
            shared_ = factors.front();
            heads_ = static_cast<int>(at - batch_.begin());
            repeats_ = extents_[ir::index(factors.back())];
            *at = dim;
            batch_.erase(at + 1);
            return;
        }
    }

    Operand operand(ir::ExprId id, ir::DimId rows, ir::DimId features) const {
        id = ir::behind_reorderings(kernel_, id);
        Operand found;
        const auto* param = std::get_if<ir::Param>(&kernel_[id].node);
        if (!param) return found;
        const Dims& dims = kernel_.params[param->index].type.dims;
        found.param = static_cast<int>(param->index);
        found.rows = position(dims, rows);
        found.features = position(dims, features);
        found.batch = places_in_batch(dims);
        return found;
    }

    // At least two, so that most kernels are alike.
    std::size_t num_batches() const { return std::max<std::size_t>(batch_.size(), 2); }
    std::vector<int> places_in_batch(const Dims& dims) const {
        std::vector<int> places(num_batches(), -1);
        for (std::size_t i = 0; i < batch_.size(); ++i) places[i] = position(dims, batch_[i]);
        if (heads_ >= 0 && places[static_cast<std::size_t>(heads_)] < 0)
            places[static_cast<std::size_t>(heads_)] = position(dims, shared_);
        return places;
    }

    // Which dimension of an operand has no part in the skeleton.
    std::string unplaced(const Operand& operand, bool rows_of_q) const {
        const Dims& dims = param(operand).type.dims;
        std::size_t placed = 2;
        for (const int at : operand.batch) placed += at >= 0;
        if (operand.rows < 0 || operand.features < 0 || placed != dims.size())
            return "an operand in other parts than its batches, rows and features";
        const bool whole =
            heads_ < 0 || position(dims, batch_[static_cast<std::size_t>(heads_)]) >= 0;
        if (heads_ >= 0 && whole != rows_of_q) return "heads that only some operands share";
        return "";
    }

    const ir::Tensor& param(const Operand& operand) const {
        return kernel_.params[static_cast<std::size_t>(operand.param)];
    }
    DType output_type() const { return kernel_.outputs.front().tensor.type.dtype; }
    static const char* yes(bool value) { return value ? "true" : "false"; }
    AttentionShape shape() const {
        return attention_shape(extents_[ir::index(d_)], extents_[ir::index(e_)],
                               extents_[ir::index(m_)], node_->causal || node_->bias);
    }
    // f32 numbers are multiplied in f16, a factor for every block of rows.
    bool scaled() const { return kernel_[node_->q].type.dtype == DType::f32; }
    DType element() const { return scaled() ? DType::f16 : kernel_[node_->q].type.dtype; }
    std::vector<ScaledOperand> scaled_operands() const {
        const auto one = [&](const Operand& at, int rows, ir::DimId features) {
            return ScaledOperand{at.param,    at.rows,
                                 at.features, at.batch,
                                 rows,        static_cast<int>(extents_[ir::index(features)])};
        };
        const AttentionShape own = shape();
        return {one(q_, own.rows(), d_), one(k_, own.columns, d_), one(v_, own.columns, e_)};
    }

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
            out.line(fmt::format("using Output = {};", info(output_type()).cuda));
            const AttentionShape own = shape();
            out.line(fmt::format("static constexpr int kDepth = {}, kWidth = {};", own.depth,
                                 own.width));
            out.line(fmt::format("static constexpr int kGroups = {}, kColumns = {};", own.groups,
                                 own.columns));
            out.line(fmt::format(
                "static constexpr int kStages = {}, kRowStages = {}, kStoreBuffers = {};",
                AttentionShape::kStages, own.row_stages, AttentionShape::kStoreBuffers));
            out.line(fmt::format("static constexpr bool kCausal = {}, kBias = {};",
                                 yes(node_->causal), yes(bias_.has_value())));
            out.line(
                fmt::format("static constexpr bool kZeroUnseen = {};", yes(node_->zero_unseen)));
            out.line(fmt::format("static constexpr float kScale = {};",
                                 emit::float_literal(node_->scale)));
            out.line(fmt::format("static constexpr int kBatchK = {}, kBatchV = {};",
                                 batch_bits(k_.batch), batch_bits(v_.batch)));
            out.line(fmt::format("static constexpr int kHeads = {}, kRepeats = {};",
                                 std::max(heads_, 0), repeats_));
        }
        out.line();
        if (bias_) {
            emit_functor(out, kernel_, *bias_, "Bias");
            out.line();
        }
        if (scaled()) emit_scale_passes(out, kernel_.name, scaled_operands());
        std::vector<std::string> params;
        for (const char* name : {"q", "k", "v", "y"})
            params.push_back(fmt::format("__grid_constant__ CUtensorMap const map_{}", name));
        params.push_back(fmt::format("__grid_constant__ {} const extents",
                                     batch_type("AttentionExtents", num_batches())));
        const bool members = bias_ && has_members(*bias_);
        if (members) params.push_back("__grid_constant__ Bias const bias");
        if (scaled())
            params.push_back(fmt::format("__grid_constant__ {} const factors",
                                         batch_type("AttentionFactors", num_batches())));
        out.line(
            "extern \"C\" __global__ void __launch_bounds__(AttentionShapes<Config>::kThreads, 1)");
        out.list(kernel_.name + "_kernel(", params, ") {");
        out.line(fmt::format("    attention<Config>(map_q, map_k, map_v, map_y, extents, {}{});",
                             members ? "bias"
                             : bias_ ? "Bias{}"
                                     : "NoBias{}",
                             scaled() ? ", factors" : ""),
                 kernel_.line_of(span_));
        out.line("}");
        return out.text();
    }

    // Boxes of 128 bytes a row.
    static TensorMapParam map(int tensor, int rows, int features, const std::vector<int>& batch,
                              DType dtype, int box_rows) {
        return matrix_map(tensor, features, rows, batch, 128 / info(dtype).bytes, box_rows);
    }
    TensorMapParam map(const Operand& at, int box_rows) const {
        return map(at.param, at.rows, at.features, at.batch, element(), box_rows);
    }
    static TensorMapParam map(const ScaledTensors& at, int box_rows) {
        return map(at.rows, at.rank - 2, at.rank - 1, at.batch, DType::f16, box_rows);
    }

    LaunchRecord record() const {
        LaunchRecord record;
        record.kernel = kernel_.name;
        record.arch = "sm90a";
        const AttentionShape own = shape();
        record.schedule = fmt::format("attention {}x{}, {} by {} features", own.rows(), own.columns,
                                      own.depth, own.width);
        record.precision = scaled() ? "tf32" : std::string(info(element()).name);
        bind_tensors(kernel_, record);
        // Zeros pad the features, but only to the width the kernel was written for.
        for (const Operand* operand : {&q_, &v_})
            record.extent_rules.push_back(
                {{{{operand->param, operand->features}}},
                 {{}, static_cast<int>(extents_[ir::index(operand == &q_ ? d_ : e_)])}});

        const int out = static_cast<int>(kernel_.params.size());
        const Dims& dims = kernel_.outputs.front().tensor.type.dims;
        const std::vector<int> out_batch = places_in_batch(dims);
        StructBuilder extents;  // AttentionExtents
        for (const ir::DimId dim : {m_, n_, e_}) extents.add(extent_of(kernel_, {dim}));
        for (std::size_t i = 0; i < num_batches(); ++i)
            extents.add(i < batch_.size() ? extent_of(kernel_, {batch_[i]}) : ExtentField{});

        Launch launch;
        launch.entry = kernel_.name + "_kernel";
        launch.waits = true;
        PersistentGrid grid;
        grid.m = {{out, position(dims, m_)}};
        for (const int dim : out_batch)
            if (dim >= 0) grid.batch.push_back({out, dim});
        grid.tile_m = own.rows();
        launch.grid = grid;
        launch.block = own.threads();
        launch.shared_bytes = own.shared_bytes();
        std::vector<ScaledTensors> scaled_tensors;
        if (scaled())
            for (const ScaledOperand& operand : scaled_operands())
                scaled_tensors.push_back(add_scale_pass(record, operand));
        const int boxes[] = {own.rows(), own.columns, own.columns};
        for (std::size_t i = 0; i < 3; ++i)
            launch.params.push_back(scaled() ? map(scaled_tensors[i], boxes[i])
                                             : map(*std::array{&q_, &k_, &v_}[i], boxes[i]));
        launch.params.push_back(
            map(out, position(dims, m_), position(dims, e_), out_batch, output_type(), kStoreRows));
        launch.params.push_back(extents.finish());
        if (bias_) {
            if (has_members(*bias_)) launch.params.push_back(functor_param(*bias_));
            for (const EpilogueForm& extra : bias_->extras) {
                const ir::Tensor& tensor = kernel_.params[static_cast<std::size_t>(extra.tensor)];
                if (extra.paired)
                    record.alignments.push_back({extra.tensor, 2 * info(tensor.type.dtype).bytes});
            }
        }
        if (scaled()) launch.params.push_back(factors_param(scaled_tensors));
        record.launches.push_back(launch);
        return record;
    }

    const ir::Kernel& kernel_;
    const std::vector<std::int64_t>& extents_;
    const ir::Attention* node_ = nullptr;
    Span span_;
    Dims batch_;
    ir::DimId m_{}, n_{}, d_{}, e_{};
    Operand q_, k_, v_;
    ir::DimId shared_{};  // of k and v, where heads share keys
    int heads_ = -1;      // which of the batch they are then
    std::int64_t repeats_ = 1;
    std::optional<ProductForm> bias_;
};

}  // namespace

Result<Lowered> lower_attention(const ir::Kernel& kernel,
                                const std::vector<std::int64_t>& extents) {
    return AttentionLowerer(kernel, extents).run();
}

}  // namespace fact::lower::sm90
