#include "lower/pipeline/lower.h"

#include <fmt/format.h>

#include <set>

#include "ir/dump.h"
#include "ir/expand.h"
#include "ir/extents.h"
#include "lower/pipeline/extract.h"
#include "lower/product/product_form.h"
#include "lower/rows/lower.h"
#include "lower/sm80/lower.h"
#include "lower/sm90/attention.h"
#include "lower/sm90/lower.h"

namespace fact::lower {

namespace {

// A pass that leaves an ill-formed kernel is a bug of ours.
void verify(std::string_view pass, const ir::Kernel& kernel) {
    if (std::string problem = ir::verify(kernel); !problem.empty())
        throw InternalError(fmt::format("kernel {} after pass {}: {}", kernel.name, pass, problem));
}

class Lowerer {
  public:
    Lowerer(const ir::Kernel& kernel, const LowerOptions& options)
        : kernel_(kernel), options_(options), extents_(options.extents) {
        extents_.resize(kernel.dims.size(), ir::kUnknownExtent);
    }

    Result<Lowered> run() {
        if (auto problem = ir::solve_extents(kernel_, extents_); !problem.empty())
            return Error{fmt::format("kernel {}: {}", kernel_.name, problem),
                         "Give extents that agree."};
        auto pipeline = cut(kernel_);
        if (!pipeline) return pipeline.error();
        std::string dump;
        for (const std::string& why : pipeline->cuts) dump += why + "\n";
        for (const Stage& stage : pipeline->stages) {
            verify("cut", stage.kernel);
            dump += ir::dump(stage.kernel);
        }
        if (options_.after) options_.after("cut", dump);
        std::vector<Lowered> stages;
        for (const Stage& stage : pipeline->stages) {
            auto lowered = stage.kind == StageKind::rows ? lower_rows(stage.kernel, options_.arch)
                           : stage.kind == StageKind::product
                               ? product(stage.kernel)
                               : sm90::lower_attention(stage.kernel, extents_);
            if (!lowered) return lowered.error();
            stages.push_back(std::move(*lowered));
        }
        return link(*pipeline, stages);
    }

  private:
    long extent(ir::DimId dim, long otherwise) const {
        const std::int64_t known = extents_[ir::index(dim)];
        return known == ir::kUnknownExtent ? otherwise : known;
    }

    // What a tensor map can address, as far as the extents tell: rows of whole 16 bytes.
    bool addressable(const ir::Tensor& tensor) const {
        if (tensor.type.dims.empty()) return false;
        const long row = extent(tensor.type.dims.back(), 16);
        return row * info(tensor.type.dtype).bytes % 16 == 0;
    }

    // The bytes that divide a row, as far as the extents tell.
    int alignment(const ir::Tensor& tensor) const {
        const int element = info(tensor.type.dtype).bytes;
        if (tensor.type.dims.empty()) return element;
        const long bytes = extent(tensor.type.dims.back(), 1) * element;
        int divides = element;
        while (divides < 16 && bytes % (2 * divides) == 0) divides *= 2;
        return divides;
    }

    bool takes_tensor_maps(const ir::Kernel& kernel, const ProductForm& form) const {
        const auto param = [&](int i) { return kernel.params[static_cast<std::size_t>(i)]; };
        // The second operand of an f32 product is laid out anew, along K.
        const bool single = param(form.b.param).type.dtype == DType::f32;
        if (single && extent(form.k, 16) % 4 != 0) return false;
        return options_.tma && options_.arch == "sm90a" && addressable(param(form.a.param)) &&
               addressable(param(form.b.param)) && addressable(kernel.outputs.front().tensor);
    }

    void fill_extents(const ProductForm& form, schedule::Problem& problem) const {
        constexpr long kLikely = 4096;
        problem.m = extent(form.m, kLikely);
        problem.n = extent(form.n, kLikely);
        problem.k = extent(form.k, kLikely);
        for (const ir::DimId dim : form.batch) problem.batch *= extent(dim, 1);
    }

    Result<Lowered> product(const ir::Kernel& kernel) const {
        const auto form = product_form(kernel);
        if (!form) return form.error();
        const auto* wanted =
            options_.schedule ? options_.schedule(kernel[form->product].name) : nullptr;
        if (takes_tensor_maps(kernel, *form)) {
            if (auto problem = sm90::problem_of(kernel)) {
                fill_extents(*form, *problem);
                const auto best = schedule::candidates_on_sm90(*problem);
                if (!wanted && best.empty()) return none(kernel);
                return sm90::lower(kernel, wanted ? *wanted : best.front());
            }
        }
        sm80::Options sm80{options_.arch, {}, {}};
        for (const ir::Tensor& param : kernel.params) sm80.alignment.push_back(alignment(param));
        for (const ir::Output& out : kernel.outputs)
            sm80.alignment.push_back(alignment(out.tensor));
        auto problem = sm80::problem_of(kernel, sm80);
        if (!problem) return problem.error();
        fill_extents(*form, *problem);
        const auto best = schedule::candidates_on_sm80(*problem);
        if (!wanted && best.empty()) return none(kernel);
        return sm80::lower(kernel, wanted ? *wanted : best.front(), sm80);
    }

    static Error none(const ir::Kernel& kernel) {
        return Error{fmt::format("no schedule serves the product of kernel {}", kernel.name),
                     "Give one in a schedule block."};
    }

    const ir::Kernel& kernel_;
    const LowerOptions& options_;
    std::vector<std::int64_t> extents_;
};

// The attentions that the sm90 skeleton takes, at these extents: those whose stage it can lower.
std::set<ir::ExprId> held_by_skeleton(const ir::Kernel& kernel, const LowerOptions& options) {
    std::set<ir::ExprId> held;
    std::vector<std::int64_t> extents = options.extents;
    extents.resize(kernel.dims.size(), ir::kUnknownExtent);
    if (!options.tma || options.arch != "sm90a" || !ir::solve_extents(kernel, extents).empty())
        return held;
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const auto id = static_cast<ir::ExprId>(i);
        const auto* attention = std::get_if<ir::Attention>(&kernel[id].node);
        if (!attention) continue;
        std::set<ir::ExprId> operands;
        ir::for_each_operand(kernel[id].node, [&](ir::ExprId x) {
            while (const auto* permute = std::get_if<ir::Permute>(&kernel[x].node)) x = permute->x;
            operands.insert(x);
        });
        ir::Kernel part = extract(kernel, id, operands).kernel;
        part.outputs.front().tensor.type.dtype = kernel[attention->q].type.dtype;
        if (stores_narrow(kernel, id) && sm90::lower_attention(part, extents).ok()) held.insert(id);
    }
    return held;
}

}  // namespace

Result<Lowered> lower(const ir::Kernel& kernel, const LowerOptions& options) {
    verify("checked", kernel);
    if (options.after) options.after("checked", ir::dump(kernel));
    // Where a skeleton holds attention it stays whole; else it is written out.
    const auto held = held_by_skeleton(kernel, options);
    const ir::Kernel whole =
        ir::expand_attention(kernel, [&](ir::ExprId id) { return held.contains(id); });
    verify("expanded", whole);
    if (options.after) options.after("expanded", ir::dump(whole));
    return Lowerer(whole, options).run();
}

}  // namespace fact::lower
