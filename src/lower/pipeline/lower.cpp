#include "lower/pipeline/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dump.h"
#include "ir/extents.h"
#include "ir/reorderings.h"
#include "lower/pipeline/checks.h"
#include "lower/pipeline/expanded.h"
#include "lower/pipeline/long_rows.h"
#include "lower/pipeline/skeletons.h"
#include "lower/pipeline/statistics.h"
#include "lower/product/product_form.h"
#include "lower/record/record_parts.h"
#include "lower/rows/lower.h"
#include "schedule/skeletons.h"

namespace fact::lower {

namespace {

bool has_windows(const ir::Kernel& kernel) {
    return std::ranges::any_of(kernel.exprs, [](const ir::Expr& expr) {
        return std::holds_alternative<ir::Window>(expr.node);
    });
}

bool rounds_to_tf32(const ir::Kernel& kernel) {
    return std::ranges::any_of(kernel.exprs, [](const ir::Expr& expr) {
        const auto* unary = std::get_if<ir::Unary>(&expr.node);
        return unary && unary->op == ir::UnaryOp::tf32;
    });
}

class Lowerer {
  public:
    Lowerer(const ir::Kernel& kernel, const LowerOptions& options)
        : kernel_(kernel),
          options_(options),
          facts_{options.arch, options.extents, options.alignment, options.tma} {
        facts_.extents.resize(kernel.dims.size(), ir::kUnknownExtent);
    }

    Result<Pipeline> stages() {
        auto pipeline = cut_to_fit();
        if (!pipeline) return pipeline;
        merge_statistics(*pipeline, [this](const Stage& stage) { return finds_statistics(stage); });
        if (pipeline->stages.size() == 1) pipeline->stages.front().kernel.name = kernel_.name;
        return pipeline;
    }

    // Whether all rounded sums of windows are products of patches.
    bool multiplies_patches() {
        const auto pipeline = cut_to_fit();
        return pipeline && std::ranges::all_of(pipeline->stages, [this](const Stage& stage) {
                   return stage.kind != StageKind::rows || !has_windows(stage.kernel) ||
                          !rounds_to_tf32(stage.kernel) ||
                          lower::multiplies_patches(stage.kernel, rows_facts(stage));
               });
    }

    // Whether all stages that reduce long rows hold them in registers.
    bool holds_long_rows() {
        const auto pipeline = cut_to_fit();
        return pipeline && std::ranges::all_of(pipeline->stages, [this](const Stage& stage) {
                   return stage.kind != StageKind::rows ||
                          lower::holds_long_rows(stage.kernel, rows_facts(stage));
               });
    }

    Result<Lowered> run() {
        auto pipeline = stages();
        if (!pipeline) return pipeline.error();
        std::string dump;
        for (const std::string& why : pipeline->cuts) dump += why + "\n";
        for (const Stage& stage : pipeline->stages) {
            verify_stage(stage.kernel);
            dump += ir::dump(stage.kernel);
            if (stage.statistics)
                dump += "computed by the same kernel:\n" + ir::dump(stage.statistics->kernel);
        }
        if (options_.after) options_.after("cut", dump);
        std::vector<Lowered> stages;
        for (const Stage& stage : pipeline->stages) {
            auto lowered = lower_stage(stage);
            if (!lowered) return lowered.error();
            stages.push_back(std::move(*lowered));
        }
        return link(*pipeline, stages);
    }

    Result<std::vector<ProductPlan>> plan() {
        const auto pipeline = cut_to_fit();
        if (!pipeline) return pipeline.error();
        std::vector<ProductPlan> plans;
        for (const Stage& stage : pipeline->stages) {
            if (stage.kind != StageKind::product) continue;
            auto plan = plan_product(stage, facts_);
            if (!plan) return plan.error();
            plans.push_back(std::move(*plan));
        }
        return plans;
    }

  private:
    // The stages before statistics are merged. Convolutions of few channels read images without a
    // copy of their windows if a skeleton can and that stores less, or little more.
    Result<Pipeline> cut_to_fit() {
        if (auto problem = ir::solve_extents(kernel_, facts_.extents); !problem.empty())
            return Error{fmt::format("kernel {}: {}", kernel_.name, problem),
                         "Give extents that agree."};
        auto pipeline = cut_to_fit({});
        const auto skeletons = skeletons_of(facts_.arch, facts_.tma);
        const bool overlapping = std::ranges::any_of(
            skeletons, [](Skeleton skeleton) { return info(skeleton).overlapping; });
        if (!pipeline || !overlapping || !has_windows(kernel_)) return pipeline;
        const auto extents = facts_.extents;
        const double stored = stored_elements(*pipeline);
        auto smaller = cut_to_fit(known_extents(kernel_, options_));
        // Rows that overlap have fewer zeros than the lines of TMA's windows: worth some more
        // bytes.
        constexpr double kWorth = 1.25;
        if (smaller && stored_elements(*smaller) < kWorth * stored) return smaller;
        facts_.extents = extents;
        return pipeline;
    }

    // A pipeline may have more dimensions than the kernel.
    void learn_extents(const Pipeline& pipeline) {
        facts_.extents.resize(kernel_.dims.size());
        facts_.extents.resize(pipeline.kernel.dims.size(), ir::kUnknownExtent);
        if (auto problem = ir::solve_extents(pipeline.kernel, facts_.extents); !problem.empty())
            throw InternalError(fmt::format("kernel {} after cutting: {}", kernel_.name, problem));
    }

    // How many elements the pipeline stores between its stages.
    double stored_elements(const Pipeline& pipeline) const {
        constexpr std::int64_t kLikely = 64;  // for extents that are not known
        std::vector<std::int64_t> extents = facts_.extents;
        extents.resize(pipeline.kernel.dims.size(), ir::kUnknownExtent);
        for (std::size_t d = 0; d < extents.size(); ++d) {
            const ir::Dim& dim = pipeline.kernel.dims[d];
            if (extents[d] != ir::kUnknownExtent || !dim.factors.empty() || dim.window) continue;
            auto likely = extents;
            likely[d] = kLikely;
            if (ir::solve_extents(pipeline.kernel, likely).empty()) extents = likely;
        }
        double sum = 0;
        for (const ir::Tensor& tensor : pipeline.intermediates) {
            double elements = 1;
            for (const ir::DimId dim : tensor.type.dims)
                elements *= static_cast<double>(std::max<std::int64_t>(1, extents[ir::index(dim)]));
            sum += elements;
        }
        return sum;
    }

    // Epilogues take two sums, and products read windows, only if a skeleton can.
    Result<Pipeline> cut_to_fit(const std::vector<std::int64_t>& few_channels) {
        CutOptions most;
        for (const Skeleton skeleton : skeletons_of(facts_.arch, facts_.tma)) {
            most.two_sums |= info(skeleton).two_sums;
            most.windows |= info(skeleton).windows;
            most.scatters |= info(skeleton).scatters;
        }
        for (const bool scatters : {true, false})
            for (CutOptions options :
                 {CutOptions{.two_sums = true, .windows = true, .scatters = scatters},
                  CutOptions{.two_sums = false, .windows = true, .scatters = scatters},
                  CutOptions{.two_sums = true, .windows = false, .scatters = scatters}}) {
                options.few_channels = few_channels;
                if (options.two_sums && !most.two_sums) continue;
                if (options.windows && !most.windows) continue;
                if (options.scatters && !most.scatters) continue;
                auto pipeline = cut(kernel_, options);
                if (scatters && (!pipeline || !any_scatters(*pipeline))) continue;
                if (pipeline) fit(*pipeline);
                if (!pipeline || has_skeletons(*pipeline)) return pipeline;
            }
        auto pipeline = cut(kernel_, {});
        if (pipeline) fit(*pipeline);
        return pipeline;
    }

    void fit(Pipeline& pipeline) {
        learn_extents(pipeline);
        for (Stage& stage : pipeline.stages) find_ragged_output(stage, facts_);
    }

    static bool any_scatters(const Pipeline& pipeline) {
        return std::ranges::any_of(pipeline.stages, [](const Stage& stage) {
            if (stage.kind != StageKind::product) return false;
            const auto form = product_form(stage.kernel);
            return form && form->scattered;
        });
    }

    // Whether some skeleton can compute every product that uses what only some skeletons have.
    bool has_skeletons(const Pipeline& pipeline) const {
        return std::ranges::all_of(pipeline.stages, [&](const Stage& stage) {
            if (stage.kind != StageKind::product) return true;
            const auto form = product_form(stage.kernel);
            return !form || !(form->takes_two_sums() || form->windows() || form->scattered) ||
                   plan_product(stage, facts_).ok();
        });
    }

    Result<Lowered> lower_stage(const Stage& stage) const {
        switch (stage.kind) {
            case StageKind::rows:
                return rows(stage);
            case StageKind::product:
                return product(stage);
            case StageKind::attention:
                return attention(stage.kernel, facts_.extents, options_);
        }
        throw InternalError("a stage of no kind");
    }

    Result<Lowered> rows(const Stage& stage) const {
        return lower_rows(stage.kernel, rows_facts(stage));
    }
    // Tensors that the caller binds have the alignment that it gave; intermediates have 16 bytes.
    RowsFacts rows_facts(const Stage& stage) const {
        RowsFacts facts{options_.arch, facts_.extents, {}};
        for (std::size_t d = 0; d < options_.assumed.size(); ++d)
            if (options_.assumed[d]) facts.extents[d] = ir::kUnknownExtent;
        for (const auto* tensors : {&stage.params, &stage.outputs})
            for (const int tensor : *tensors) {
                const auto at = static_cast<std::size_t>(tensor);
                const auto num_bound = kernel_.params.size() + kernel_.outputs.size();
                const bool given = at < std::min(num_bound, facts_.alignment.size());
                facts.alignment.push_back(given ? facts_.alignment[at] : 16);
            }
        return facts;
    }

    // The caller's schedule, or else the most promising one.
    std::optional<schedule::Schedule> schedule_of(const ProductPlan& plan) const {
        if (const auto* wanted = options_.schedule ? options_.schedule(plan.product) : nullptr)
            return *wanted;
        const auto best = schedule::candidates(plan.skeleton, plan.problem);
        return best.empty() ? std::nullopt : std::optional(best.front());
    }

    // Whether the product's kernel would compute the statistics of its rows itself.
    bool finds_statistics(const Stage& stage) const {
        const auto plan = plan_product(stage, facts_);
        if (!plan) return false;
        const auto schedule = schedule_of(*plan);
        return schedule && schedule::finds_statistics(plan->skeleton, *schedule, plan->problem);
    }

    Result<Lowered> product(const Stage& stage) const {
        const auto plan = plan_product(stage, facts_);
        if (!plan) return plan.error();
        const auto schedule = schedule_of(*plan);
        if (!schedule)
            return Error{
                fmt::format("no schedule serves the product of kernel {}", stage.kernel.name),
                "Give one in a schedule block."};
        return lower_product(plan->skeleton, stage, *schedule, {options_.arch, plan->alignment});
    }

    const ir::Kernel& kernel_;
    const LowerOptions& options_;
    TensorFacts facts_;
};

bool has_tf32_products(const ir::Kernel& kernel) {
    return std::ranges::any_of(kernel.exprs, [](const ir::Expr& expr) {
        const auto* product = std::get_if<ir::Product>(&expr.node);
        return product && product->precision == ir::Precision::tf32;
    });
}

// The kernel with long rows in parts, or whole if clusters hold all of them.
ir::Kernel with_long_rows(const ir::Kernel& kernel, const LowerOptions& options) {
    const auto extents = known_extents(kernel, options);
    ir::Kernel in_parts = split_long_rows(kernel, extents, LongRows::in_parts);
    const auto differ = [](const ir::Kernel& a, const ir::Kernel& b) {
        return a.exprs.size() != b.exprs.size();
    };
    if (!has_clusters(options.arch) || !differ(kernel, in_parts)) return in_parts;
    ir::Kernel whole = split_long_rows(kernel, extents, LongRows::in_clusters);
    return differ(whole, in_parts) && Lowerer(whole, options).holds_long_rows() ? whole : in_parts;
}

// The kernel to cut. Convolutions that are meant to be products of patches stay products if a row
// kernel would add them up otherwise.
ir::Kernel to_be_cut(const ir::Kernel& kernel, const LowerOptions& options) {
    if (reads_windows(options)) {
        ir::Kernel patches = with_long_rows(expanded(kernel, options, FewTerms::patches), options);
        if (!rounds_to_tf32(patches) || Lowerer(patches, options).multiplies_patches())
            return patches;
    }
    return with_long_rows(expanded(kernel, options, FewTerms::sums), options);
}

}  // namespace

Result<Lowered> lower(const ir::Kernel& kernel, const LowerOptions& options) {
    verify("checked", kernel);
    if (auto known = check_arch(options.arch); !known) return known.error();
    if (auto done = check_extents(kernel, options.extents); !done) return done.error();
    if (options.after) options.after("checked", ir::dump(kernel));
    const ir::Kernel to_cut = to_be_cut(kernel, options);
    verify("expanded", to_cut);
    if (options.after) options.after("expanded", ir::dump(to_cut));
    auto lowered = Lowerer(to_cut, options).run();
    // The precision that the text asks for, with whatever numbers.
    if (lowered && has_tf32_products(kernel) && !has_tf32_products(to_cut))
        lowered->record.precision = "tf32";
    return lowered;
}

Result<Pipeline> stages(const ir::Kernel& kernel, const LowerOptions& options) {
    const ir::Kernel to_cut = to_be_cut(kernel, options);
    return Lowerer(to_cut, options).stages();
}

Result<std::vector<ProductPlan>> plan_products(const ir::Kernel& kernel,
                                               const LowerOptions& options) {
    const ir::Kernel to_cut = to_be_cut(kernel, options);
    return Lowerer(to_cut, options).plan();
}

}  // namespace fact::lower
