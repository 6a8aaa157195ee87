#include "lower/product/product_form.h"

#include <fmt/format.h>

#include <algorithm>

namespace fact::lower {

namespace {

int position(const std::vector<ir::DimId>& dims, ir::DimId dim) {
    const auto at = std::find(dims.begin(), dims.end(), dim);
    return at == dims.end() ? -1 : static_cast<int>(at - dims.begin());
}

// The parameter behind any number of permutations.
std::optional<std::uint32_t> underlying_param(const ir::Kernel& kernel, ir::ExprId id) {
    const ir::Node* node = &kernel[id].node;
    while (const auto* permute = std::get_if<ir::Permute>(node)) node = &kernel[permute->x].node;
    if (const auto* param = std::get_if<ir::Param>(node)) return param->index;
    return std::nullopt;
}

class Analysis {
  public:
    explicit Analysis(const ir::Kernel& kernel) : kernel_(kernel) {}

    Result<ProductForm> run() {
        if (kernel_.outputs.size() != 1) return cannot_express(kernel_, "", "several outputs");
        form_.result = kernel_.outputs.front().value;
        seen_.assign(kernel_.exprs.size(), false);
        collect(form_.result);
        if (num_products_ != 1)
            return cannot_express(kernel_, "",
                                  fmt::format("{} products in one kernel", num_products_));
        if (!foreign_.empty()) return cannot_express(kernel_, "", foreign_ + " beside the product");
        if (std::string why = operands(); !why.empty()) return cannot_express(kernel_, "", why);
        if (std::string why = extras(); !why.empty()) return cannot_express(kernel_, "", why);
        if (std::string why = output(); !why.empty()) return cannot_express(kernel_, "", why);
        return form_;
    }

    Result<ProductForm> pointwise(ir::ExprId result, ir::DimId m, ir::DimId n,
                                  std::vector<ir::DimId> batch) {
        form_.result = result;
        form_.product = kNoProduct;
        form_.m = m;
        form_.n = n;
        form_.batch = std::move(batch);
        seen_.assign(kernel_.exprs.size(), false);
        collect(result);
        if (num_products_ > 0) foreign_ = "a product";
        if (!foreign_.empty()) return cannot_express(kernel_, "", foreign_ + " in a functor");
        place_extras();
        return form_;
    }

  private:
    // Depth first, so that operands come before their users; the product's own operands are not
    // part of the epilogue.
    void collect(ir::ExprId id) {
        if (seen_[ir::index(id)]) return;
        seen_[ir::index(id)] = true;
        const ir::Expr& expr = kernel_[id];
        if (std::holds_alternative<ir::Product>(expr.node)) {
            form_.product = id;
            ++num_products_;
            return;
        }
        if (const auto* param = std::get_if<ir::Param>(&expr.node)) {
            extra_params_.push_back(static_cast<int>(param->index));
            return;
        }
        if (std::holds_alternative<ir::Reduce>(expr.node)) foreign_ = "a reduction";
        if (std::holds_alternative<ir::View>(expr.node)) foreign_ = "a view";
        if (std::holds_alternative<ir::Extent>(expr.node)) foreign_ = "an extent";
        if (std::holds_alternative<ir::Attention>(expr.node)) foreign_ = "attention";
        ir::for_each_operand(expr.node, [&](ir::ExprId operand) { collect(operand); });
        form_.epilogue.push_back(id);
    }

    std::string operands() {
        const auto& product = std::get<ir::Product>(kernel_[form_.product].node);
        const auto& a_dims = kernel_[product.a].type.dims;
        const auto& result_dims = kernel_[form_.product].type.dims;
        form_.precision = product.precision;
        form_.m = result_dims[result_dims.size() - 2];
        form_.n = result_dims.back();
        form_.k = a_dims.back();
        form_.batch.assign(result_dims.begin(), result_dims.end() - 2);
        if (std::string why = operand(product.a, form_.m, form_.a); !why.empty()) return why;
        if (std::string why = operand(product.b, form_.n, form_.b); !why.empty()) return why;
        const DType a = kernel_.params[form_.a.param].type.dtype;
        const DType b = kernel_.params[form_.b.param].type.dtype;
        if (a != b) return "operands of two element types";
        if (a != DType::bf16 && a != DType::f16 && a != DType::f32)
            return fmt::format("a product of {} operands", info(a).name);
        return "";
    }

    std::string operand(ir::ExprId id, ir::DimId outer, OperandForm& to) {
        const auto param = underlying_param(kernel_, id);
        if (!param) return "arithmetic on an operand of the product";
        const auto& dims = kernel_.params[*param].type.dims;
        to.param = static_cast<int>(*param);
        to.outer = position(dims, outer);
        to.k = position(dims, form_.k);
        to.batch = places_in_batch(dims);
        const int last = static_cast<int>(dims.size()) - 1;
        if (to.k == last)
            to.major = schedule::Major::k;
        else if (to.outer == last)
            to.major = schedule::Major::mn;
        else
            to.contiguous = false;
        return "";
    }

    std::string extras() {
        for (const int param : extra_params_) {
            const auto& tensor = kernel_.params[static_cast<std::size_t>(param)];
            if (position(tensor.type.dims, form_.k) >= 0)
                return fmt::format("{}, which varies along the summed dimension", tensor.name);
        }
        place_extras();
        return "";
    }

    void place_extras() {
        std::sort(extra_params_.begin(), extra_params_.end());
        extra_params_.erase(std::unique(extra_params_.begin(), extra_params_.end()),
                            extra_params_.end());
        for (const int param : extra_params_)
            form_.extras.push_back(
                placed(param, kernel_.params[static_cast<std::size_t>(param)].type.dims));
    }

    std::string output() {
        const auto& tensor = kernel_.outputs.front().tensor;
        form_.output = placed(0, tensor.type.dims);
        if (tensor.type.dtype != DType::bf16 && tensor.type.dtype != DType::f16 &&
            tensor.type.dtype != DType::f32)
            return fmt::format("an output of type {}", info(tensor.type.dtype).name);
        if (tensor.type.dims.size() != form_.batch.size() + 2)
            return "an output without some dimension of the product";
        return "";
    }

    std::vector<int> places_in_batch(const std::vector<ir::DimId>& dims) const {
        std::vector<int> places(form_.num_batches(), -1);
        for (std::size_t i = 0; i < form_.batch.size(); ++i)
            places[i] = position(dims, form_.batch[i]);
        return places;
    }

    EpilogueForm placed(int tensor, const std::vector<ir::DimId>& dims) const {
        EpilogueForm at;
        at.tensor = tensor;
        at.m = position(dims, form_.m);
        at.n = position(dims, form_.n);
        at.batch = places_in_batch(dims);
        at.paired = at.n >= 0 && at.n == static_cast<int>(dims.size()) - 1;
        return at;
    }

    const ir::Kernel& kernel_;
    ProductForm form_;
    std::vector<bool> seen_;
    std::vector<int> extra_params_;
    int num_products_ = 0;
    std::string foreign_;  // what the epilogue cannot hold, if anything
};

}  // namespace

Result<ProductForm> product_form(const ir::Kernel& kernel) {
    return Analysis(kernel).run();
}

Result<ProductForm> pointwise_form(const ir::Kernel& kernel, ir::ExprId result, ir::DimId m,
                                   ir::DimId n, std::vector<ir::DimId> batch) {
    return Analysis(kernel).pointwise(result, m, n, std::move(batch));
}

Error cannot_express(const ir::Kernel& kernel, std::string_view skeleton, std::string_view what) {
    return {fmt::format("kernel {}: the {}product skeleton cannot express {}", kernel.name,
                        skeleton, what),
            "Split the kernel, or leave this part to torch."};
}

schedule::Problem problem_of(const ir::Kernel& kernel, const ProductForm& form) {
    schedule::Problem problem;
    problem.operands = kernel.params[static_cast<std::size_t>(form.a.param)].type.dtype;
    problem.output = kernel.outputs.front().tensor.type.dtype;
    problem.split = problem.operands == DType::f32 && form.precision == ir::Precision::exact;
    problem.a = form.a.major;
    problem.b = form.b.major;
    for (const EpilogueForm& extra : form.extras)
        problem.full_operands += extra.m >= 0 && extra.n >= 0;
    problem.staged = form.staged >= 0;
    problem.strided = !form.output.paired;
    for (const EpilogueForm& extra : form.extras)
        problem.strided = problem.strided || (extra.n >= 0 && !extra.paired);
    return problem;
}

}  // namespace fact::lower
