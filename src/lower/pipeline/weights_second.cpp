#include "lower/pipeline/weights_second.h"

#include <algorithm>
#include <utility>

#include "ir/dims.h"
#include "ir/extents.h"
#include "lower/product/rewritten.h"
#include "lower/product/scattered_output.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;
using Dims = std::vector<DimId>;

class WeightsFirst {
  public:
    WeightsFirst(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents)
        : kernel_(kernel), extents_(extents) {}

    bool found_in(const ir::Product& product) const {
        const Dims& a = dims(product.a);
        const Dims& b = dims(product.b);
        return kernel_[product.a].type.dtype == DType::f32 && a.size() == 2 &&
               is_contiguous_along(product.a, a.back()) &&
               is_contiguous_along(product.b, b.back()) && elements(b) > kRatio * elements(a) &&
               is_stored_by_boxes(b.back());
    }

  private:
    const Dims& dims(ExprId id) const { return kernel_[id].type.dims; }

    // Whether the value is a parameter, seen through permutations and merged dimensions, and `dim`
    // is its innermost dimension or the end of it.
    bool is_contiguous_along(ExprId id, DimId dim) const {
        while (true) {
            const ir::Node& node = kernel_[id].node;
            if (const auto* permute = std::get_if<ir::Permute>(&node))
                id = permute->x;
            else if (const auto* view = std::get_if<ir::View>(&node))
                id = view->x;
            else
                break;
        }
        return std::holds_alternative<ir::Param>(kernel_[id].node) &&
               kernel_.factors({dims(id).back()}).back() == kernel_.factors({dim}).back();
    }

    std::int64_t extent(DimId dim) const {
        return ir::known_extent(kernel_, dim, extents_).value_or(kLikely);
    }
    double elements(const Dims& all) const {
        double product = 1;
        for (const DimId dim : all) product *= static_cast<double>(extent(dim));
        return product;
    }
    // TMA reads rows of whole vectors only. Of a constant number of rows, all fill boxes, or the
    // result is none that sm90 stores.
    bool is_stored_by_boxes(DimId dim) const {
        const auto constant = ir::constant_extent(kernel_, dim);
        return extent(dim) % kVector == 0 && (!constant || *constant % kBoxRows == 0);
    }

    static constexpr std::int64_t kLikely = 4096, kVector = 4;
    // The least size of the activation, in times of the weights': which of two activations of about
    // one size is prepared makes no difference.
    static constexpr double kRatio = 4;

    const ir::Kernel& kernel_;
    const std::vector<std::int64_t>& extents_;
};

// The value with its last two dimensions exchanged.
ExprId transposed(ir::Kernel& kernel, ir::Builder& build, ExprId x) {
    Dims dims = kernel[x].type.dims;
    std::swap(dims[dims.size() - 2], dims.back());
    return build.permute(x, dims);
}

}  // namespace

ir::Kernel with_weights_second(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents) {
    return rewritten(kernel, [&](ir::Kernel& to, ir::Builder& build, std::size_t, ir::Expr expr) {
        const auto* product = std::get_if<ir::Product>(&expr.node);
        if (!product || !WeightsFirst(to, extents).found_in(*product))
            return to.add(std::move(expr));
        ir::Product turned = *product;
        turned.a = transposed(to, build, product->b);
        turned.b = transposed(to, build, product->a);
        ir::Expr sums = expr;
        sums.node = turned;
        std::swap(sums.type.dims[sums.type.dims.size() - 2], sums.type.dims.back());
        return build.permute(to.add(std::move(sums)), expr.type.dims);
    });
}

}  // namespace fact::lower
