#include "lower/attention/attention_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "ir/dims.h"
#include "ir/reorderings.h"

namespace fact::lower {

namespace {

using Dims = std::vector<ir::DimId>;

class AttentionReader {
  public:
    AttentionReader(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents)
        : kernel_(kernel), extents_(extents) {}

    Result<AttentionForm> run() {
        const ir::Tensor& output = kernel_.outputs.front().tensor;
        const Dims& dims = output.type.dims;
        // The stage may end with casts and reorderings.
        ir::ExprId value = ir::behind_reorderings(kernel_, kernel_.outputs.front().value);
        while (const auto* cast = std::get_if<ir::Cast>(&kernel_[value].node))
            value = ir::behind_reorderings(kernel_, cast->x);
        const auto* node = std::get_if<ir::Attention>(&kernel_[value].node);
        if (!node) return cannot("something other than attention");
        form_.node = *node;
        form_.span = kernel_[value].span;
        form_.dtype = kernel_[node->q].type.dtype;
        const Dims& computed = kernel_[value].type.dims;
        form_.batch.assign(computed.begin(), computed.end() - 2);
        form_.m = computed.end()[-2];
        form_.e = computed.back();
        if (dims.back() != form_.e) return cannot("an output not contiguous along its features");
        form_.n = kernel_[node->k].type.dims.end()[-2];
        form_.d = kernel_[node->q].type.dims.back();
        merge_heads(dims);
        if (!contains(dims, form_.batch)) return cannot("an output that lacks a batch dimension");
        form_.depth = extents_[ir::index(form_.d)];
        form_.width = extents_[ir::index(form_.e)];
        for (const auto& [dim, extent] :
             {std::pair{form_.d, form_.depth}, std::pair{form_.e, form_.width}})
            if (extent < 1 || extent > kMaxFeatures)
                return cannot(extent < 1
                                  ? fmt::format("no features, or an unknown number, along {}",
                                                kernel_[dim].name)
                                  : fmt::format("{} features along {}, more than {}", extent,
                                                kernel_[dim].name, kMaxFeatures));
        if (output.type.dtype != form_.dtype)
            return cannot("an output of another type than the operands");
        for (auto [id, to, rows, features] : {std::tuple{node->q, &form_.q, form_.m, form_.d},
                                              std::tuple{node->k, &form_.k, form_.n, form_.d},
                                              std::tuple{node->v, &form_.v, form_.n, form_.e}}) {
            *to = operand(id, rows, features);
            if (to->tensor < 0) return cannot("an operand that is not a parameter");
            if (std::string why = unplaced(*to, to == &form_.q); !why.empty()) return cannot(why);
            if (to->features != static_cast<int>(param(*to).type.dims.size()) - 1)
                return cannot("an operand not contiguous along its features");
            // Kernels multiply 16-bit numbers even if the operands are f32.
            if (extents_[ir::index(features)] * 2 % 16 != 0)
                return cannot("rows of features whose length is not a multiple of 16 bytes");
        }
        form_.y = {static_cast<int>(kernel_.params.size()), position(dims, form_.m),
                   position(dims, form_.e), places_in_batch(dims)};
        if (kernel_.outputs.size() > 1)
            if (std::string why = read_log_sums(value); !why.empty()) return cannot(why);
        const auto scale = static_cast<float>(node->scale);
        if (!(scale > 0) || !std::isfinite(scale))
            return cannot("a scale that is not a positive f32");
        // The error of capped scores is about 1e-7 of the cap.
        if (node->cap && !(*node->cap >= 1e-4 && *node->cap <= 1e4))
            return cannot(fmt::format("a cap of {}, outside 1e-4 to 1e4", *node->cap));
        if (node->bias) {
            auto bias = pointwise_form(kernel_, *node->bias, form_.m, form_.n, form_.batch);
            if (!bias) return bias.error();
            for (EpilogueForm& extra : bias->extras)
                extra.paired = extra.paired && extents_[ir::index(form_.n)] % 2 == 0;
            form_.bias = std::move(*bias);
        }
        return std::move(form_);
    }

  private:
    Error cannot(const std::string& what) const { return attention_error(kernel_, what); }

    // Reads the second output; returns why no skeleton can compute it, or "".
    std::string read_log_sums(ir::ExprId attention) {
        const ir::Output& output = kernel_.outputs[1];
        const ir::ExprId value = ir::behind_reorderings(kernel_, output.value);
        const auto* sums = std::get_if<ir::LogSumExp>(&kernel_[value].node);
        if (kernel_.outputs.size() != 2 || !sums || sums->attention != attention)
            return "outputs other than attention and the logarithm of its sums";
        if (output.tensor.type.dtype != DType::f32)
            return "a logarithm of the sums that is not f32";
        const Dims& dims = output.tensor.type.dims;
        form_.log_sums = {static_cast<int>(kernel_.params.size()) + 1, position(dims, form_.m), -1,
                          places_in_batch(dims)};
        if (!contains(dims, form_.batch))
            return "heads that are separate only in the logarithm of the sums";
        return "";
    }

    // Heads that share keys, [G, R] where k and v have G, may be one dimension G*R of q and of the
    // output. Then G*R is one batch dimension; an index along it, divided by R, is the head of k.
    void merge_heads(const Dims& output) {
        Dims& batch = form_.batch;
        for (const ir::DimId dim : output) {
            const auto& factors = kernel_[dim].factors;
            const auto at = std::ranges::search(batch, factors).begin();
            if (factors.size() != 2 || at == batch.end() || !kernel_[factors.back()].extent)
                continue;
            shared_heads_ = factors.front();
            form_.heads = static_cast<int>(at - batch.begin());
            form_.repeats = extents_[ir::index(factors.back())];
            *at = dim;
            batch.erase(at + 1);
            return;
        }
    }

    AttentionOperand operand(ir::ExprId id, ir::DimId rows, ir::DimId features) const {
        id = ir::behind_reorderings(kernel_, id);
        const auto* param = std::get_if<ir::Param>(&kernel_[id].node);
        if (!param) return {};
        const Dims& dims = kernel_.params[param->index].type.dims;
        return {static_cast<int>(param->index), position(dims, rows), position(dims, features),
                places_in_batch(dims)};
    }

    std::vector<int> places_in_batch(const Dims& dims) const {
        std::vector<int> places = batch_places(dims, form_.batch);
        if (form_.heads >= 0 && places[static_cast<std::size_t>(form_.heads)] < 0)
            places[static_cast<std::size_t>(form_.heads)] = position(dims, shared_heads_);
        return places;
    }

    // Why the skeleton cannot take the operand's dimensions, or "".
    std::string unplaced(const AttentionOperand& operand, bool is_q) const {
        const Dims& dims = param(operand).type.dims;
        std::size_t placed = 2;
        for (const int at : operand.batch) placed += at >= 0;
        if (operand.rows < 0 || operand.features < 0 || placed != dims.size())
            return "an operand whose dimensions are not batch dimensions, rows and features";
        const bool has_all_heads =
            form_.heads < 0 || contains(dims, form_.batch[static_cast<std::size_t>(form_.heads)]);
        if (form_.heads >= 0 && has_all_heads != is_q) return "heads that only some operands share";
        return "";
    }

    const ir::Tensor& param(const AttentionOperand& operand) const {
        return kernel_.params[static_cast<std::size_t>(operand.tensor)];
    }

    const ir::Kernel& kernel_;
    const std::vector<std::int64_t>& extents_;
    AttentionForm form_;
    ir::DimId shared_heads_{};  // the head dimension of k and v, if heads share keys
};

}  // namespace

Result<AttentionForm> attention_form(const ir::Kernel& kernel,
                                     const std::vector<std::int64_t>& extents) {
    return AttentionReader(kernel, extents).run();
}

Error attention_error(const ir::Kernel& kernel, const std::string& what) {
    return Error{
        fmt::format("kernel {}: the attention skeleton cannot express {}", kernel.name, what),
        "Write it as products and a softmax, or leave this part to torch."};
}

}  // namespace fact::lower
