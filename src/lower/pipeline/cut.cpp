#include "lower/pipeline/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <set>

#include "ir/extents.h"
#include "ir/needed.h"
#include "ir/reorderings.h"
#include "lower/pipeline/assemble.h"
#include "lower/pipeline/extract.h"
#include "lower/pipeline/merged_dims.h"
#include "lower/pipeline/permutes_last.h"
#include "lower/pipeline/pointwise_first.h"
#include "lower/pipeline/row_groups.h"
#include "lower/pipeline/uses.h"
#include "lower/pipeline/windows.h"
#include "lower/product/few_channels.h"
#include "lower/product/product_form.h"
#include "lower/rows/rows_form.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::ExprId;

// Stores more and more values in memory until one skeleton can compute each stage between them.
class Cutter {
  public:
    Cutter(ir::Kernel kernel, const CutOptions& options)
        : kernel_(std::move(kernel)), options_(options) {}

    Result<Pipeline> run() {
        const auto live = ir::reachable(kernel_);
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (live[i] && kernel_.exprs[i].stored)
                store(static_cast<ExprId>(i), kernel_.exprs[i].name.empty()
                                                  ? "it is computed once for all that read it"
                                                  : "the text says so");
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (live[i]) store_operands(static_cast<ExprId>(i));
        while (store_next()) {
        }
        if (!problem_.empty())
            return Error{problem_, "Split the kernel, or leave this part to torch."};
        return assemble(kernel_, stored_);
    }

  private:
    bool is_stored(ExprId id) const { return stored_.reasons.contains(id); }
    bool is_param(ExprId id) const { return std::holds_alternative<ir::Param>(kernel_[id].node); }
    void store(ExprId id, std::string why) {
        if (!is_param(id)) stored_.reasons.try_emplace(id, std::move(why));
    }

    // Whether the stage of `root` is attention, perhaps with casts and reorderings after it.
    bool is_attention(ExprId root) const {
        for (;;) {
            ExprId x = root;
            if (const auto* cast = std::get_if<ir::Cast>(&kernel_[root].node)) x = cast->x;
            if (const auto* permute = std::get_if<ir::Permute>(&kernel_[root].node)) x = permute->x;
            if (const auto* view = std::get_if<ir::View>(&kernel_[root].node)) x = view->x;
            if (x == root || is_stored(x)) break;
            root = x;
        }
        return std::holds_alternative<ir::Attention>(kernel_[root].node) ||
               std::holds_alternative<ir::LogSumExp>(kernel_[root].node);
    }

    // Whether the value's dimensions are neighbours in the memory of what it is a view of.
    bool merges_in_memory(ExprId id) const {
        if (!is_merging(kernel_, id)) return false;
        const ExprId x = std::get<ir::View>(kernel_[id].node).x;
        return is_stored(x) || !std::holds_alternative<ir::Permute>(kernel_[x].node);
    }

    // The value behind permutes, renamings and merged dimensions, which the skeletons handle when
    // they read.
    ExprId behind_permutes(ExprId id) const {
        while (!is_stored(id)) {
            if (const auto* permute = std::get_if<ir::Permute>(&kernel_[id].node))
                id = permute->x;
            else if (ir::is_renaming(kernel_, id) || merges_in_memory(id))
                id = std::get<ir::View>(kernel_[id].node).x;
            else
                break;
        }
        return id;
    }

    void store_operand(ExprId id, Side side) {
        const auto windows = options_.windows ? window_operand(kernel_, id, side) : std::nullopt;
        store(windows ? windows->images : behind_permutes(id), "a product reads it");
    }

    // Products and attention read their operands from memory. So does a renaming, because within
    // one kernel a dimension has one name.
    void store_operands(ExprId id) {
        const ir::Node& node = kernel_[id].node;
        if (ir::is_renaming(kernel_, id)) {
            ExprId x = id;
            while (!is_stored(x) && ir::is_renaming(kernel_, x))
                x = std::get<ir::View>(kernel_[x].node).x;
            store(x, "it is read under other dimension names");
        } else if (const auto* product = std::get_if<ir::Product>(&node)) {
            store_operand(product->a, Side::first);
            store_operand(product->b, Side::second);
        } else if (const auto* attention = std::get_if<ir::Attention>(&node)) {
            const char* const why = "attention is a kernel of its own";
            const ExprId last = attention_end(kernel_, id).last;
            if (!is_only_output(kernel_, last)) store(last, why);
            std::vector<ExprId> ends{last};
            for (const ExprId sums : log_sums_of(kernel_, id)) {
                if (!is_one_output(kernel_, sums, DType::f32)) store(sums, why);
                ends.push_back(sums);
            }
            if (ends.size() > 1) stored_.attention_outputs.push_back(std::move(ends));
            for (const ExprId x : attention_reads(kernel_, *attention))
                store(x, "attention reads it");
        }
    }

    // What the stage of `root` computes: everything down to parameters and stored values.
    std::vector<ExprId> cone(ExprId root) const {
        const auto in_memory = [&](ExprId id) { return id != root && is_stored(id); };
        const auto needed = ir::needed_for(kernel_, {root}, in_memory);
        std::vector<ExprId> all;
        for (std::size_t i = 0; i < needed.size(); ++i) {
            const auto id = static_cast<ExprId>(i);
            if (needed[i] && !in_memory(id) && !is_param(id)) all.push_back(id);
        }
        return all;
    }

    // Gives roots that one row kernel will write together (assemble) the same number.
    std::function<ExprId(ExprId)> leaders_of_outputs() const {
        std::vector<ExprId> outputs;
        for (const ir::Output& output : kernel_.outputs)
            if (!is_stored(output.value) &&
                std::ranges::count(kernel_.outputs, output.value, &ir::Output::value) == 1)
                outputs.push_back(output.value);
        std::map<ExprId, ExprId> leader;
        if (outputs.size() > 1 && !has_product(kernel_))
            for (const auto& [last, members] : row_groups(kernel_, outputs, stored_.all()))
                for (const ExprId member : members) leader[member] = last;
        return [leader](ExprId root) {
            const auto at = leader.find(root);
            return at == leader.end() ? root : at->second;
        };
    }

    // Stores one more value if a stage fits no skeleton. False if none was stored: all stages fit,
    // or problem_ says why one does not.
    bool store_next() {
        // That need each product and each reduction, to which running sums count here.
        std::map<ExprId, std::set<ExprId>> stages_of;
        const auto leaders = leaders_of_outputs();
        for (const ExprId root : stage_roots(kernel_, stored_)) {
            std::vector<ExprId> products, reductions;
            const auto all = cone(root);
            const bool has_product = std::ranges::any_of(all, [&](ExprId id) {
                return std::holds_alternative<ir::Product>(kernel_[id].node);
            });
            for (const ExprId id : all) {
                const ir::Node& node = kernel_[id].node;
                if (std::holds_alternative<ir::Product>(node)) products.push_back(id);
                // What a product's kernel cuts off is no reduction to it.
                const bool cuts = options_.scatters && has_product && is_cut_off(kernel_, id);
                if (along_row(node) && !cuts) reductions.push_back(id);
            }
            // Cheaper values are computed again by every stage that needs them.
            for (const auto* expensive : {&products, &reductions})
                for (const ExprId id : *expensive)
                    if (auto& stages = stages_of[id]; stages.insert(leaders(root)).second &&
                                                      stages.size() > 1 && id != root &&
                                                      !is_stored(id)) {
                        store(expensive == &products ? end_of_epilogue(id) : id,
                              "several kernels need it");
                        return true;
                    }
            if (store_for_stage(root, products, reductions)) return true;
            if (!problem_.empty()) return false;
        }
        return false;
    }

    // How far a product's kernel can compute before its result is needed in two ways.
    ExprId end_of_epilogue(ExprId product) const {
        ExprId end = product;
        for (;;) {
            const auto users = users_of(kernel_, end);
            if (users.size() != 1 || is_stored(users[0]) || is_output(users[0])) return end;
            const bool pointwise = std::visit(
                overloaded{
                    [](const one_of<ir::Unary, ir::Binary, ir::Select, ir::Cast, ir::Permute,
                                    ir::View> auto&) { return true; },
                    [](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::Expand,
                                    ir::Flip, ir::Window, ir::Reduce, ir::Scan, ir::Product,
                                    ir::Attention, ir::LogSumExp> auto&) { return false; },
                },
                kernel_[users[0]].node);
            if (!pointwise || !fits_product(users[0])) return end;
            end = users[0];
        }
    }

    // The value behind reorderings if others read it in another order: they share one tensor then.
    ExprId behind_shared(ExprId id) const {
        for (;;) {
            const auto* view = std::get_if<ir::View>(&kernel_[id].node);
            const auto* permute = std::get_if<ir::Permute>(&kernel_[id].node);
            if (is_stored(id) || (!view && !permute)) return id;
            const ExprId x = view ? view->x : permute->x;
            if (users_of(kernel_, x).size() < 2) return id;
            id = x;
        }
    }

    bool is_output(ExprId id) const {
        return std::ranges::find(kernel_.outputs, id, &ir::Output::value) != kernel_.outputs.end();
    }
    // Whether a product's kernel can compute everything down to what is in memory.
    bool fits_product(ExprId root) const {
        return is_allowed(product_form(extract_stage(kernel_, {root}, stored_except(root)).kernel));
    }
    bool is_allowed(const Result<ProductForm>& form) const {
        return form && (options_.two_sums || !form->takes_two_sums()) &&
               (options_.scatters || !form->scattered);
    }

    // Stores a value if the stage of `root` fits no skeleton. False if it fits, or if storing
    // values does not help: then problem_ says why.
    bool store_for_stage(ExprId root, const std::vector<ExprId>& products,
                         const std::vector<ExprId>& reductions) {
        if (is_attention(root)) return false;
        if (!products.empty() && reductions.empty()) {
            const auto form =
                product_form(extract_stage(kernel_, {root}, stored_except(root)).kernel);
            if (is_allowed(form)) return false;
            // Of several products only the last is fused with what follows; it reads the results of
            // the others.
            if (products.size() > 1) {
                store(products.front(), "one kernel computes one product");
                return true;
            }
            if (!form && store_merged_operand(root, products.back())) return true;
            if (options_.scatters && store_scattered(root)) return true;
            if (products.back() != root) {
                store(products.back(), "what follows does not fit into its epilogue");
                return true;
            }
            if (form) throw InternalError("a product alone takes two sums");
            return store_operand_copy(products.back(), form.error().message);
        }
        if (!products.empty())
            if (const auto value = row_value_for_epilogue(kernel_, cone(root))) {
                store(*value, "an epilogue cannot compute its reduction");
                return true;
            }
        // Cutting at the operand of the first reduction leaves the longest epilogue to the product.
        if (!products.empty()) {
            const ExprId product = products.front();
            for (const ExprId reduction : reductions) {
                const ExprId x = behind_shared(*along_row(kernel_[reduction].node));
                const auto inside = cone(x);
                if (std::find(inside.begin(), inside.end(), product) == inside.end()) continue;
                store(x, "a reduction reads it");
                return true;
            }
            store(product, "its epilogue cannot compute a reduction");
            return true;
        }
        const auto form = rows_form(extract(kernel_, root, stored_except(root)).kernel);
        if (form) return false;
        // Reductions over other dimensions than those of the last reduction become stages of their
        // own.
        for (const ExprId id : reductions)
            if (id != root) {
                store(id, "what follows works on other rows");
                return true;
            }
        problem_ = form.error().message;
        return false;
    }

    // Stores the last value before `root` that a product's kernel can scatter.
    bool store_scattered(ExprId root) {
        const auto all = cone(root);
        for (const ExprId id : std::views::reverse(all)) {
            if (id == root || !kernel_[id].type.dims.size()) continue;
            const auto part = extract_stage(kernel_, {id}, stored_except(id)).kernel;
            if (!has_product(part)) continue;
            if (const auto form = product_form(part); form && form->scattered) {
                store(id, "what follows does not fit into its product's epilogue");
                return true;
            }
        }
        return false;
    }

    // What follows a product may need the factors of a dimension that an operand has merged: then a
    // merged copy of the operand leaves the epilogue to the product.
    bool store_merged_operand(ExprId root, ExprId product_id) {
        const auto& product = std::get<ir::Product>(kernel_[product_id].node);
        for (ExprId operand : {product.a, product.b}) {
            while (!is_stored(operand) &&
                   std::holds_alternative<ir::Permute>(kernel_[operand].node))
                operand = std::get<ir::Permute>(kernel_[operand].node).x;
            if (is_stored(operand) || !merges_in_memory(operand)) continue;
            auto read = stored_except(root);
            read.insert(operand);
            if (!product_form(extract_stage(kernel_, {root}, read).kernel)) continue;
            store(operand, "what follows its product needs the factors of its dimensions");
            return true;
        }
        return false;
    }

    // An operand whose layout no skeleton can address is first copied into a plain layout.
    bool store_operand_copy(ExprId product_id, const std::string& why) {
        const auto& product = std::get<ir::Product>(kernel_[product_id].node);
        for (const ExprId operand : {product.a, product.b})
            if (!is_param(operand) && !is_stored(operand)) {
                store(operand, "a product cannot read its layout");
                return true;
            }
        problem_ = why;
        return false;
    }

    std::set<ExprId> stored_except(ExprId root) const {
        std::set<ExprId> all = stored_.all();
        all.erase(root);
        return all;
    }

    const ir::Kernel kernel_;
    const CutOptions options_;
    StoredValues stored_;
    std::string problem_;  // what no skeleton can compute, or ""
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

bool writes_only_intermediates(const Pipeline& pipeline, const Stage& stage) {
    const int num_bound = pipeline.num_tensors() - static_cast<int>(pipeline.intermediates.size());
    return std::all_of(stage.outputs.begin(), stage.outputs.end(),
                       [&](int tensor) { return tensor >= num_bound; });
}

Result<Pipeline> cut(const ir::Kernel& kernel, const CutOptions& options) {
    ir::Kernel moved = permutes_last(kernel);
    if (!options.few_channels.empty()) {
        auto extents = options.few_channels;
        extents.resize(moved.dims.size(), ir::kUnknownExtent);
        moved = with_few_channels(moved, extents);
    }
    if (options.scatters) moved = pointwise_first(moved);
    moved = ir::share_reorderings(moved);
    if (options.windows) moved = with_tf32_numbers(with_channels_last(moved));
    moved = windows_at_leaves(moved, {.cuts = options.scatters, .operands = options.windows});
    return Cutter(std::move(moved), options).run();
}

}  // namespace fact::lower
