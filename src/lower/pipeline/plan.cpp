#include "lower/pipeline/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/extents.h"
#include "lower/pipeline/skeletons.h"
#include "lower/product/product_form.h"
#include "support/division.h"

namespace fact::lower {

namespace {

class Planner {
  public:
    Planner(const Stage& stage, const TensorFacts& facts) : stage_(stage), facts_(facts) {
        const ir::Kernel& kernel = stage.kernel;
        for (std::size_t i = 0; i < kernel.params.size(); ++i)
            alignment_.push_back(alignment(kernel.params[i], stage.params[i]));
        for (std::size_t i = 0; i < kernel.outputs.size(); ++i)
            alignment_.push_back(alignment(kernel.outputs[i].tensor, stage.outputs[i]));
    }

    Result<ProductPlan> run() const {
        const auto form = product_form(stage_.kernel);
        if (!form) return form.error();
        Error why{fmt::format("no skeleton runs on {}", facts_.arch), ""};
        for (const Skeleton skeleton : skeletons_of(facts_.arch, facts_.tma)) {
            if (info(skeleton).tensor_maps && !takes_tensor_maps(*form)) continue;
            const auto problem = problem_of(skeleton, stage_.kernel, {facts_.arch, alignment_});
            if (!problem) {
                why = problem.error();
                continue;
            }
            ProductPlan plan{stage_.kernel[form->product].name, skeleton, *problem, alignment_};
            fill_extents(*form, plan.problem);
            return plan;
        }
        return why;
    }

    bool output_is_addressable() const {
        return addressable(stage_.kernel.outputs.front().tensor, stage_.outputs.front());
    }

  private:
    long extent(ir::DimId dim, long if_unknown) const {
        const std::int64_t known = facts_.extents[ir::index(dim)];
        return known == ir::kUnknownExtent ? if_unknown : known;
    }

    // The most bytes, up to 16, that are known to divide the tensor's rows, address and strides.
    int alignment(const ir::Tensor& tensor, int number) const {
        const int element = info(tensor.type.dtype).bytes;
        if (tensor.type.dims.empty()) return element;
        const long row_bytes = extent(tensor.type.dims.back(), 1) * element;
        int divisor = element;
        while (divisor < 16 && row_bytes % (2 * divisor) == 0) divisor *= 2;
        return std::min(divisor, caller_alignment(number));
    }

    // What the caller said of the pipeline's tensor with this number, in bytes.
    int caller_alignment(int number) const {
        const auto at = static_cast<std::size_t>(number);
        return at < facts_.alignment.size() ? facts_.alignment[at] : 16;
    }

    // Whether a tensor map can address the tensor: rows are multiples of 16 bytes, or unknown.
    bool addressable(const ir::Tensor& tensor, int number) const {
        if (tensor.type.dims.empty()) return false;
        const long row = extent(tensor.type.dims.back(), 16);
        return row * info(tensor.type.dtype).bytes % 16 == 0 && caller_alignment(number) == 16;
    }

    bool takes_tensor_maps(const ProductForm& form) const {
        const auto operand = [&](int i) {
            const auto at = static_cast<std::size_t>(i);
            return addressable(stage_.kernel.params[at], stage_.params[at]);
        };
        const auto& b = stage_.kernel.params[static_cast<std::size_t>(form.b.param)];
        const bool converted = schedule::converted(lower::problem_of(stage_.kernel, form));
        // The tensor core takes TF32 numbers only along K, and no windows of converted numbers.
        if (form.b.windows && b.type.dtype == DType::f32 &&
            (converted || form.a.major != schedule::Major::k))
            return false;
        // A pass rewrites the second operand: its rows along K must be multiples of 16 bytes.
        if (converted && extent(form.k, 16) % 4 != 0) return false;
        // It is rewritten in blocks along K, and each tap of a window begins with a block.
        constexpr long kBlockDepth = 32;
        if (converted && form.a.windows && !form.a.overlaps()) {
            const auto& images = stage_.kernel.params[static_cast<std::size_t>(form.a.param)];
            if (extent(images.type.dims.back(), 1) % kBlockDepth != 0) return false;
        }
        return operand(form.a.param) && operand(form.b.param) &&
               (form.second == kNoProduct || operand(form.second_b.param)) &&
               (form.scattered || output_is_addressable());
    }

    void fill_extents(const ProductForm& form, schedule::Problem& problem) const {
        constexpr long kLikely = 4096;  // for extents that are not known
        problem.m = extent(form.m, kLikely);
        problem.n = extent(form.n, kLikely);
        problem.k = extent(form.k, kLikely);
        for (const ir::DimId dim : form.batch) problem.batch *= extent(dim, 1);
        if (const OperandForm* windows = form.windows()) {
            const auto& images = stage_.kernel.params[static_cast<std::size_t>(windows->param)];
            const long depth = kLineBytes / info(images.type.dtype).bytes;
            const long channels = extent(images.type.dims.back(), depth);
            if (windows->overlaps())
                problem.m = rows_of_run(*windows->windows);
            else  // each tap takes whole k-tiles
                problem.k = problem.k / channels * round_up(channels, depth);
            double elements = 1;
            for (const ir::DimId dim : images.type.dims)
                elements *= static_cast<double>(extent(dim, 1));
            const bool first = problem.windows == schedule::WindowedOperand::a;
            const double all = static_cast<double>(first ? problem.m : problem.n) *
                               static_cast<double>(problem.k * problem.batch);
            problem.stored = std::min(1.0, elements / all);
        }
    }

    // Rows that overlap run over all pixels, but for the last along the outermost dimension.
    long rows_of_run(const WindowOperand& windows) const {
        constexpr long kLikelyPixels = 64;
        long rows = extent(windows.places.back(), kLikelyPixels);
        for (std::size_t i = 0; i + 1 < windows.places.size(); ++i)
            rows *= extent(stage_.kernel[windows.places[i]].window->of, kLikelyPixels);
        return rows;
    }

    const Stage& stage_;
    const TensorFacts& facts_;
    std::vector<int> alignment_;
};

}  // namespace

void find_ragged_output(Stage& stage, const TensorFacts& facts) {
    if (stage.kind != StageKind::product || Planner(stage, facts).output_is_addressable()) return;
    ir::Output& output = stage.kernel.outputs.front();
    output.ragged = true;
    const auto plan = plan_product(stage, facts);
    output.ragged = plan && info(plan->skeleton).scatters;
}

Result<ProductPlan> plan_product(const Stage& stage, const TensorFacts& facts) {
    return Planner(stage, facts).run();
}

}  // namespace fact::lower
