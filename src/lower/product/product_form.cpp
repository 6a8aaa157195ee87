#include "lower/product/product_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/dims.h"
#include "ir/reorderings.h"
#include "support/result.h"

namespace fact::lower {

namespace {

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
        form_.scattered = scattered_output(kernel_);
        form_.result = form_.scattered ? form_.scattered->value : kernel_.outputs.front().value;
        finished_.assign(kernel_.exprs.size(), false);
        collect(form_.result);
        if (products_.empty() || products_.size() > 2)
            return cannot_express(kernel_, "",
                                  fmt::format("{} products in one kernel", products_.size()));
        form_.product = products_.front();
        if (!foreign_.empty())
            return cannot_express(kernel_, "", foreign_ + " besides the product");
        if (std::string why = operands(); !why.empty()) return cannot_express(kernel_, "", why);
        if (std::string why = flips(); !why.empty()) return cannot_express(kernel_, "", why);
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
        finished_.assign(kernel_.exprs.size(), false);
        collect(result);
        if (!products_.empty()) foreign_ = "a product";
        for (const ir::ExprId id : form_.epilogue)
            if (std::holds_alternative<ir::Flip>(kernel_[id].node)) foreign_ = "a flip";
        if (!foreign_.empty()) return cannot_express(kernel_, "", foreign_ + " in a functor");
        if (std::string why = indices(); !why.empty()) return cannot_express(kernel_, "", why);
        if (std::string why = place_extras(); !why.empty()) return cannot_express(kernel_, "", why);
        return form_;
    }

  private:
    // Fills form_.epilogue depth first, so that operands come before their users. The product's own
    // operands are not part of the epilogue.
    void collect(ir::ExprId root) {
        std::vector<ir::ExprId> open{root};
        std::vector<bool> entered(kernel_.exprs.size());
        while (!open.empty()) {
            const ir::ExprId id = open.back();
            if (entered[ir::index(id)]) {
                open.pop_back();
                if (!finished_[ir::index(id)]) form_.epilogue.push_back(id);
                finished_[ir::index(id)] = true;
                continue;
            }
            entered[ir::index(id)] = true;
            if (finished_[ir::index(id)] || is_leaf(id)) {
                finished_[ir::index(id)] = true;
                open.pop_back();
                continue;
            }
            // Inserted in reverse, so that the first operand is handled next.
            const auto at = std::ssize(open);
            ir::for_each_operand(kernel_[id].node,
                                 [&](ir::ExprId x) { open.insert(open.begin() + at, x); });
        }
    }

    // Whether the epilogue's expression ends here: at a product or a parameter, possibly flipped.
    // Notes what it finds in products_, extra_params_, flipped_params_ or foreign_.
    bool is_leaf(ir::ExprId id) {
        const ir::Expr& expr = kernel_[id];
        if (std::holds_alternative<ir::Product>(expr.node)) {
            products_.push_back(id);
            return true;
        }
        if (const auto* param = std::get_if<ir::Param>(&expr.node)) {
            extra_params_.push_back(static_cast<int>(param->index));
            return true;
        }
        if (const auto param = flipped_param(kernel_, id)) {
            flipped_params_.push_back(static_cast<int>(*param));
            form_.epilogue.push_back(id);
            return true;
        }
        const std::string_view foreign = std::visit(
            overloaded{
                [](const ir::Reduce&) { return "a reduction"; },
                [](const ir::Scan&) { return "a running sum"; },
                [](const ir::Extent&) { return "an extent"; },
                [](const ir::Window&) { return "a window"; },
                [](const one_of<ir::Attention, ir::LogSumExp> auto&) { return "attention"; },
                [](const one_of<ir::Param, ir::Literal, ir::Index, ir::Unary, ir::Binary,
                                ir::Select, ir::Cast, ir::Permute, ir::Expand, ir::View, ir::Flip,
                                ir::Product> auto&) { return ""; },
            },
            expr.node);
        if (!foreign.empty()) foreign_ = foreign;
        return false;
    }

    // This and the functions below fill in a part of the form; they return what no skeleton can
    // express, or "".
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
        return products_.size() > 1 ? second_operand(product) : "";
    }

    // Two products share a tile if they differ only in the tensor that is their second operand.
    std::string second_operand(const ir::Product& first) {
        form_.second = products_.back();
        const auto& product = std::get<ir::Product>(kernel_[form_.second].node);
        const auto reads_param = [&](ir::ExprId id, int param) {
            return underlying_param(kernel_, id) == static_cast<std::uint32_t>(param);
        };
        if (form_.a.windows || form_.b.windows || !reads_param(product.a, form_.a.param) ||
            kernel_[product.a].type != kernel_[first.a].type ||
            kernel_[form_.second].type != kernel_[form_.product].type)
            return "two products whose first operands or shapes differ";
        if (std::string why = operand(product.b, form_.n, form_.second_b); !why.empty()) return why;
        OperandForm expected = form_.b;
        expected.param = form_.second_b.param;
        if (form_.second_b != expected)
            return "two products whose second operands have different layouts";
        if (kernel_.params[form_.a.param].type.dtype == DType::f32) return "two products of f32";
        return "";
    }

    std::string operand(ir::ExprId id, ir::DimId outer, OperandForm& to) {
        const auto param = underlying_param(kernel_, id);
        if (!param) return windows(id, outer == form_.m ? Side::first : Side::second, to);
        const auto& dims = kernel_.params[*param].type.dims;
        to.param = static_cast<int>(*param);
        to.outer = position(dims, outer);
        to.k = position(dims, form_.k);
        to.batch = batch_places(dims, form_.batch);
        const int last = static_cast<int>(dims.size()) - 1;
        if (to.k == last)
            to.major = schedule::Major::k;
        else if (to.outer == last)
            to.major = schedule::Major::mn;
        else
            to.contiguous = false;
        return "";
    }

    std::string windows(ir::ExprId id, Side side, OperandForm& to) {
        auto found = window_operand(kernel_, id, side);
        const auto* param = found ? std::get_if<ir::Param>(&kernel_[found->images].node) : nullptr;
        if (!param) return "arithmetic on an operand of the product";
        const auto& dims = kernel_[found->images].type.dims;
        to.param = static_cast<int>(param->index);
        to.outer = to.k = -1;
        to.batch = batch_places(dims, form_.batch);
        to.windows = std::move(found);
        return "";
    }

    std::string extras() {
        for (const auto* params : {&extra_params_, &flipped_params_})
            for (const int param : *params) {
                const auto& tensor = kernel_.params[static_cast<std::size_t>(param)];
                if (contains(tensor.type.dims, form_.k))
                    return fmt::format("{}, which varies along the summed dimension", tensor.name);
            }
        if (std::string why = indices(); !why.empty()) return why;
        if (std::string why = place_extras(); !why.empty()) return why;
        return form_.a.overlaps() ? overlap() : "";
    }

    // Rows that overlap are counted in another way than those of other tensors.
    std::string overlap() const {
        if (!form_.scattered) return "rows that overlap, but are not stored one by one";
        for (const EpilogueForm& extra : form_.extras)
            if (extra.m >= 0)
                return fmt::format("{}, which varies along rows that overlap",
                                   kernel_.params[static_cast<std::size_t>(extra.tensor)].name);
        for (const ir::ExprId id : form_.epilogue)
            if (const auto* at = std::get_if<ir::Index>(&kernel_[id].node);
                at && at->dim == form_.m)
                return "the index along rows that overlap";
        return "";
    }

    // A flip may swap columns at a fixed distance, of the product and of what the epilogue reads.
    std::string flips() {
        for (const ir::ExprId id : form_.epilogue) {
            const auto* flip = std::get_if<ir::Flip>(&kernel_[id].node);
            if (!flip) continue;
            const auto part = column_part(kernel_, form_.n, flip->dim);
            // At these distances the same thread has both columns (fact::flipped in operands.cuh).
            const bool swaps_pairs =
                part && part->extent == 2 && (part->inner == 1 || part->inner % 8 == 0);
            if (!swaps_pairs || (form_.flip != 0 && form_.flip != part->inner) ||
                products_.size() > 1 ||
                (ir::behind_reorderings(kernel_, flip->x) != form_.product &&
                 !flipped_param(kernel_, id)))
                return fmt::format("a flip along {}", kernel_[flip->dim].name);
            form_.flip = static_cast<int>(part->inner);
        }
        // Operands of the epilogue are fetched a slab at a time: swapped columns must be in one
        // slab, or a whole number of slabs apart.
        const bool fits_slabs = form_.flip == 0 || form_.flip % kSlabColumns == 0 ||
                                kSlabColumns % (2 * form_.flip) == 0;
        if (!fits_slabs && !flipped_params_.empty())
            return fmt::format("an operand flipped by {} columns", form_.flip);
        return "";
    }

    // Only coordinates along rows, columns and batches are available.
    std::string indices() const {
        for (const ir::ExprId id : form_.epilogue)
            if (const auto* index = std::get_if<ir::Index>(&kernel_[id].node))
                if (index->dim != form_.m && !contains(form_.batch, index->dim) &&
                    !column_part(kernel_, form_.n, index->dim))
                    return fmt::format("the index along {}", kernel_[index->dim].name);
        return "";
    }

    std::string place_extras() {
        const std::set<int> unflipped(extra_params_.begin(), extra_params_.end());
        const std::set<int> flipped(flipped_params_.begin(), flipped_params_.end());
        std::set<int> all = unflipped;
        all.insert(flipped.begin(), flipped.end());
        for (const int param : all) {
            const ir::Tensor& tensor = kernel_.params[static_cast<std::size_t>(param)];
            EpilogueForm extra = placed(param, tensor.type.dims);
            extra.unflipped = unflipped.contains(param);
            extra.flipped = flipped.contains(param);
            if (std::string why = place_repeated(tensor, extra); !why.empty()) return why;
            form_.extras.push_back(std::move(extra));
        }
        return "";
    }

    // An operand may have only the last factors of the columns' dimension: it repeats along the
    // other factors.
    std::string place_repeated(const ir::Tensor& tensor, EpilogueForm& extra) const {
        const auto& dims = tensor.type.dims;
        std::size_t num_placed = static_cast<std::size_t>(
            std::count_if(extra.batch.begin(), extra.batch.end(), [](int at) { return at >= 0; }));
        num_placed += (extra.m >= 0) + (extra.n >= 0);
        if (num_placed == dims.size()) return "";
        const auto all = kernel_.factors({form_.n}), own = kernel_.factors({dims.back()});
        const bool has_only_last_factors =
            own.size() < all.size() && std::equal(own.rbegin(), own.rend(), all.rbegin());
        std::int64_t period = 1;
        for (const ir::DimId dim : own) period *= kernel_[dim].extent.value_or(0);
        // A period of 0 is not known before launch; one that ends within a slab cannot be fetched.
        if (num_placed + 1 < dims.size() || !has_only_last_factors || extra.n >= 0 || period == 0 ||
            period % kSlabColumns != 0)
            return fmt::format("{}, which has only some factors of the columns' dimension",
                               tensor.name);
        extra.n = static_cast<int>(dims.size()) - 1;
        extra.paired = true;
        extra.period = static_cast<int>(period);
        return "";
    }

    std::string output() {
        const auto& tensor = kernel_.outputs.front().tensor;
        form_.output = placed(0, tensor.type.dims);
        if (tensor.type.dtype != DType::bf16 && tensor.type.dtype != DType::f16 &&
            tensor.type.dtype != DType::f32)
            return fmt::format("an output of type {}", info(tensor.type.dtype).name);
        const auto& batch = form_.output.batch;
        const auto missing = std::count(batch.begin(), batch.begin() + std::ssize(form_.batch), -1);
        const bool has_dims = form_.output_has_dims() && missing == 0 &&
                              tensor.type.dims.size() == form_.batch.size() + 2;
        if (!form_.scattered)
            return has_dims ? "" : "an output whose dimensions are not the product's";
        if (has_dims && form_.scattered->run.empty())
            form_.output.paired = false;
        else  // rows that run over all pixels are not those of the output
            form_.output = {.batch = batch_places({}, form_.batch)};
        return "";
    }

    // Where the product's dimensions are among those of a tensor.
    EpilogueForm placed(int tensor, const std::vector<ir::DimId>& dims) const {
        EpilogueForm at;
        at.tensor = tensor;
        at.m = position(dims, form_.m);
        at.n = position(dims, form_.n);
        at.batch = batch_places(dims, form_.batch);
        at.paired = at.n >= 0 && at.n == static_cast<int>(dims.size()) - 1;
        return at;
    }

    const ir::Kernel& kernel_;
    ProductForm form_;
    std::vector<bool> finished_;  // by expression: whether collect() is done with it
    std::vector<int> extra_params_, flipped_params_;  // read unflipped; read flipped
    std::vector<ir::ExprId> products_;
    std::string foreign_;  // something that an epilogue cannot compute, or ""
};

}  // namespace

std::vector<int> batch_places(const std::vector<ir::DimId>& dims,
                              const std::vector<ir::DimId>& batch) {
    std::vector<int> places(num_batch_dims(batch), -1);
    for (std::size_t i = 0; i < batch.size(); ++i) places[i] = position(dims, batch[i]);
    return places;
}

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
    problem.tf32 = problem.operands == DType::f32 && !problem.split && form.b.windows.has_value();
    problem.a = form.a.major;
    problem.b = form.b.major;
    problem.windows = form.a.windows   ? schedule::WindowedOperand::a
                      : form.b.windows ? schedule::WindowedOperand::b
                                       : schedule::WindowedOperand::none;
    problem.products = form.second == kNoProduct ? 1 : 2;
    if (form.flip > 0) problem.unsplit_columns = 2 * form.flip;
    for (const EpilogueForm& extra : form.extras)
        problem.full_operands += extra.m >= 0 && extra.n >= 0 && extra.period == 0;
    problem.staged = form.staged >= 0;
    problem.strided = !form.output.paired;
    problem.scattered = form.scattered.has_value();
    for (const EpilogueForm& extra : form.extras)
        problem.strided = problem.strided || (extra.n >= 0 && !extra.paired);
    return problem;
}

}  // namespace fact::lower
