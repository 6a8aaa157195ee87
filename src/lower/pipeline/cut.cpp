#include "lower/pipeline/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/needed.h"
#include "ir/reorderings.h"
#include "lower/pipeline/assemble.h"
#include "lower/pipeline/extract.h"
#include "lower/pipeline/uses.h"
#include "lower/product/product_form.h"
#include "lower/rows/rows_form.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::ExprId;

// The values kept in memory grow until every stage between them is one that a skeleton holds.
class Cutter {
  public:
    Cutter(const ir::Kernel& kernel, bool two_sums) : kernel_(kernel), two_sums_(two_sums) {}

    Result<Pipeline> run() {
        const auto live = ir::reachable(kernel_);
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (live[i] && kernel_.exprs[i].stored)
                keep(static_cast<ExprId>(i), "the pipeline says so");
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (live[i]) keep_operands(static_cast<ExprId>(i));
        while (settle()) {
        }
        if (!problem_.empty())
            return Error{problem_, "Write the kernel in parts, or leave this part to another one."};
        return assemble(kernel_, kept_);
    }

  private:
    bool kept(ExprId id) const { return kept_.reasons.contains(id); }
    bool is_param(ExprId id) const { return std::holds_alternative<ir::Param>(kernel_[id].node); }
    void keep(ExprId id, std::string why) {
        if (!is_param(id)) kept_.reasons.try_emplace(id, std::move(why));
    }

    bool is_attention(ExprId root) const {
        for (;;) {
            ExprId x = root;
            if (const auto* cast = std::get_if<ir::Cast>(&kernel_[root].node)) x = cast->x;
            if (const auto* permute = std::get_if<ir::Permute>(&kernel_[root].node)) x = permute->x;
            if (const auto* view = std::get_if<ir::View>(&kernel_[root].node)) x = view->x;
            if (x == root || kept(x)) break;
            root = x;
        }
        return std::holds_alternative<ir::Attention>(kernel_[root].node) ||
               std::holds_alternative<ir::LogSumExp>(kernel_[root].node);
    }

    // Behind reorderings and other names, which the skeletons read through.
    ExprId behind_permutes(ExprId id) const {
        while (!kept(id)) {
            if (const auto* permute = std::get_if<ir::Permute>(&kernel_[id].node))
                id = permute->x;
            else if (ir::is_renaming(kernel_, id))
                id = std::get<ir::View>(kernel_[id].node).x;
            else
                break;
        }
        return id;
    }

    // Products and attention read their operands from memory.
    void keep_operands(ExprId id) {
        const ir::Node& node = kernel_[id].node;
        // One kernel knows a dimension by one name.
        if (ir::is_renaming(kernel_, id)) {
            ExprId x = id;
            while (!kept(x) && ir::is_renaming(kernel_, x))
                x = std::get<ir::View>(kernel_[x].node).x;
            keep(x, "it is read under other names");
        } else if (const auto* product = std::get_if<ir::Product>(&node)) {
            keep(behind_permutes(product->a), "a product reads it");
            keep(behind_permutes(product->b), "a product reads it");
        } else if (const auto* attention = std::get_if<ir::Attention>(&node)) {
            const char* const why = "attention is a kernel of its own";
            const ExprId last = attention_end(kernel_, id).last;
            if (!is_only_output(kernel_, last)) keep(last, why);
            std::vector<ExprId> ends{last};
            for (const ExprId sums : log_sums_of(kernel_, id)) {
                if (!is_one_output(kernel_, sums, DType::f32)) keep(sums, why);
                ends.push_back(sums);
            }
            if (ends.size() > 1) kept_.together.push_back(std::move(ends));
            for (const ExprId x : attention_reads(kernel_, *attention))
                keep(x, "attention reads it");
        }
    }

    // What is computed in one go with `root`: everything down to parameters and kept values.
    std::vector<ExprId> cone(ExprId root) const {
        const auto given = [&](ExprId id) { return id != root && kept(id); };
        const auto needed = ir::needed_for(kernel_, {root}, given);
        std::vector<ExprId> all;
        for (std::size_t i = 0; i < needed.size(); ++i) {
            const auto id = static_cast<ExprId>(i);
            if (needed[i] && !given(id) && !is_param(id)) all.push_back(id);
        }
        return all;
    }

    // Finds one more value to keep; false when nothing is left to do.
    bool settle() {
        std::map<ExprId, int> users;  // of products and reductions: stages that need them
        for (const ExprId root : stage_roots(kernel_, kept_)) {
            std::vector<ExprId> products, reductions;
            for (const ExprId id : cone(root)) {
                const ir::Node& node = kernel_[id].node;
                if (std::holds_alternative<ir::Product>(node)) products.push_back(id);
                if (std::holds_alternative<ir::Reduce>(node)) reductions.push_back(id);
            }
            for (const auto* heavy : {&products, &reductions})
                for (const ExprId id : *heavy)
                    if (++users[id] > 1 && id != root && !kept(id)) {
                        keep(id, "several kernels need it");
                        return true;
                    }
            if (settle_stage(root, products, reductions)) return true;
            if (!problem_.empty()) return false;
        }
        return false;
    }

    bool settle_stage(ExprId root, const std::vector<ExprId>& products,
                      const std::vector<ExprId>& reductions) {
        if (is_attention(root)) return false;
        if (!products.empty() && reductions.empty()) {
            const auto form = product_form(extract_stage(kernel_, {root}, kept_set(root)).kernel);
            if (form && (two_sums_ || !form->takes_two_sums())) return false;
            // The last product of several is fused with what follows, the others are read.
            for (const ExprId id : products)
                if (id != products.back()) {
                    keep(id, "one kernel computes one product");
                    return true;
                }
            if (products.back() != root) {
                keep(products.back(), "what follows does not fit into its epilogue");
                return true;
            }
            if (form) throw InternalError("a product alone takes two sums");
            return keep_operand_copy(products.back(), form.error().message);
        }
        if (!products.empty())
            if (const auto value = reduced_beside(kernel_, cone(root))) {
                keep(*value, "a reduction is beside the product");
                return true;
            }
        // What the first reduction reads holds as much of the epilogue as a product can take along.
        for (const ExprId id : products) {
            for (const ExprId reduction : reductions) {
                const ExprId x = std::get<ir::Reduce>(kernel_[reduction].node).x;
                const auto inside = cone(x);
                if (std::find(inside.begin(), inside.end(), id) == inside.end()) continue;
                keep(x, "a reduction reads it");
                return true;
            }
            keep(id, "a reduction is beside it");
            return true;
        }
        const auto form = rows_form(extract(kernel_, root, kept_set(root)).kernel);
        if (form) return false;
        // Reductions over other dimensions than the last one's come first, on their own.
        for (const ExprId id : reductions)
            if (id != root) {
                keep(id, "its rows are others than those of what follows");
                return true;
            }
        problem_ = form.error().message;
        return false;
    }

    // An operand no skeleton can address as it lies is copied into a plain layout first.
    bool keep_operand_copy(ExprId product_id, const std::string& why) {
        const auto& product = std::get<ir::Product>(kernel_[product_id].node);
        for (const ExprId operand : {product.a, product.b})
            if (std::holds_alternative<ir::Permute>(kernel_[operand].node) && !kept(operand)) {
                keep(operand, "a product cannot read it as it lies");
                return true;
            }
        problem_ = why;
        return false;
    }

    std::set<ExprId> kept_set(ExprId root) const {
        std::set<ExprId> all = kept_.all();
        all.erase(root);
        return all;
    }

    const ir::Kernel& kernel_;
    bool two_sums_;
    KeptValues kept_;
    std::string problem_;
};

}  // namespace

std::string_view describe(StageKind kind) {
    switch (kind) {
        case StageKind::product:
            return "a product with what follows it";
        case StageKind::rows:
            return "row by row";
        case StageKind::attention:
            return "attention";
    }
    throw InternalError("a stage of no kind");
}

std::vector<std::vector<int>> origins(const Pipeline& pipeline) {
    std::vector<std::set<int>> from(static_cast<std::size_t>(pipeline.num_tensors()));
    for (std::size_t i = 0; i < pipeline.kernel.params.size(); ++i)
        from[i].insert(static_cast<int>(i));
    for (const Stage& stage : pipeline.stages)
        for (const int output : stage.outputs)
            for (const int param : stage.params) {
                const auto& more = from[static_cast<std::size_t>(param)];
                from[static_cast<std::size_t>(output)].insert(more.begin(), more.end());
            }
    std::vector<std::vector<int>> all;
    for (const auto& params : from) all.emplace_back(params.begin(), params.end());
    return all;
}

bool writes_intermediates(const Pipeline& pipeline, const Stage& stage) {
    const int bound = pipeline.num_tensors() - static_cast<int>(pipeline.intermediates.size());
    return std::all_of(stage.outputs.begin(), stage.outputs.end(),
                       [&](int tensor) { return tensor >= bound; });
}

Result<Pipeline> cut(const ir::Kernel& kernel, bool two_sums) {
    return Cutter(kernel, two_sums).run();
}

}  // namespace fact::lower
