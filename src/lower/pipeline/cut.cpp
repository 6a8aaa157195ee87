#include "lower/pipeline/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lower/pipeline/extract.h"
#include "lower/pipeline/row_groups.h"
#include "lower/pipeline/uses.h"
#include "lower/product/product_form.h"
#include "lower/rows/flips.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

namespace {

using ir::ExprId;
using ir::index;

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
            return Error{fmt::format("kernel {}: {}", kernel_.name, problem_),
                         "Write the kernel in parts, or leave this part to another one."};
        return assemble();
    }

  private:
    bool kept(ExprId id) const { return reasons_.contains(id); }
    bool is_param(ExprId id) const { return std::holds_alternative<ir::Param>(kernel_[id].node); }
    void keep(ExprId id, std::string why) {
        if (!is_param(id)) reasons_.try_emplace(id, std::move(why));
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

    // Behind reorderings, which the skeletons read through.
    ExprId behind_permutes(ExprId id) const {
        while (const auto* permute = std::get_if<ir::Permute>(&kernel_[id].node)) {
            if (kept(id)) return id;
            id = permute->x;
        }
        return id;
    }

    // Products and attention read their operands from memory.
    void keep_operands(ExprId id) {
        const ir::Node& node = kernel_[id].node;
        if (const auto* product = std::get_if<ir::Product>(&node)) {
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
            if (ends.size() > 1) together_.push_back(std::move(ends));
            for (const ExprId x : attention_reads(kernel_, *attention))
                keep(x, "attention reads it");
        }
    }

    // What is computed in one go with `root`: everything down to parameters and kept values.
    std::vector<ExprId> cone(ExprId root) const {
        std::vector<bool> inside(index(root) + 1);
        inside[index(root)] = true;
        for (std::size_t i = index(root) + 1; i-- > 0;) {
            const auto id = static_cast<ExprId>(i);
            if (!inside[i] || (id != root && kept(id))) continue;
            ir::for_each_operand(kernel_.exprs[i].node, [&](ExprId x) { inside[index(x)] = true; });
        }
        std::vector<ExprId> all;
        for (std::size_t i = 0; i < inside.size(); ++i) {
            const auto id = static_cast<ExprId>(i);
            if (inside[i] && (id == root || !kept(id)) && !is_param(id)) all.push_back(id);
        }
        return all;
    }

    std::vector<ExprId> roots() const {
        std::set<ExprId> all;
        for (const auto& [id, why] : reasons_) all.insert(id);
        for (const ir::Output& output : kernel_.outputs) all.insert(output.value);
        return {all.begin(), all.end()};
    }

    // Finds one more value to keep; false when nothing is left to do.
    bool settle() {
        std::map<ExprId, int> users;  // of products and reductions: stages that need them
        for (const ExprId root : roots()) {
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
            const auto form = product_form(extract_stage({root}, kept_set(root)).kernel);
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
        std::set<ExprId> all;
        for (const auto& [id, why] : reasons_)
            if (id != root) all.insert(id);
        return all;
    }

    // An epilogue reads what is beside its sums at flipped places, too.
    Extracted extract_stage(const std::vector<ExprId>& written,
                            const std::set<ExprId>& taken) const {
        Extracted part = extract(kernel_, written, taken);
        if (kind(part.kernel) == StageKind::product) part.kernel = flips_at_leaves(part.kernel);
        return part;
    }

    StageKind kind(const ir::Kernel& kernel) const {
        for (const ir::Expr& expr : kernel.exprs) {
            if (std::holds_alternative<ir::Attention>(expr.node)) return StageKind::attention;
            if (std::holds_alternative<ir::Product>(expr.node)) return StageKind::product;
        }
        return StageKind::rows;
    }

    // What the stage of an attention writes that has several outputs, this one among them.
    std::vector<ExprId> ends_with(ExprId root) const {
        for (const auto& ends : together_)
            if (std::find(ends.begin(), ends.end(), root) != ends.end()) return ends;
        return {};
    }

    struct Write {
        ExprId root{};
        ir::Tensor to;
        int tensor = 0;
    };

    std::ptrdiff_t num_writes(ExprId id) const {
        return std::count_if(kernel_.outputs.begin(), kernel_.outputs.end(),
                             [&](const ir::Output& output) { return output.value == id; });
    }

    // An output is written by the stage that computes it, unless others read it unrounded.
    Pipeline assemble() {
        Pipeline pipeline{kernel_, {}, {}, {}};
        const int num_params = static_cast<int>(kernel_.params.size());
        const int bound = num_params + static_cast<int>(kernel_.outputs.size());
        std::map<ExprId, int> tensor_of;
        std::map<ExprId, std::vector<int>> outputs_of;
        for (std::size_t i = 0; i < kernel_.outputs.size(); ++i)
            outputs_of[kernel_.outputs[i].value].push_back(num_params + static_cast<int>(i));
        for (const auto& [id, why] : reasons_) {
            const ir::Expr& expr = kernel_[id];
            const std::string name =
                expr.name.empty() ? fmt::format("t{}", pipeline.intermediates.size()) : expr.name;
            tensor_of[id] = bound + static_cast<int>(pipeline.intermediates.size());
            pipeline.intermediates.push_back({name, expr.type, expr.span});
            pipeline.cuts.push_back(fmt::format("{} is kept in memory: {}.", name, why));
        }
        const auto add = [&](const std::vector<Write>& writes, bool reads_itself) {
            std::vector<ExprId> written;
            for (const Write& write : writes) written.push_back(write.root);
            auto taken = kept_set(written.back());
            for (const ExprId id : written) taken.erase(id);
            if (reads_itself) taken.insert(written.back());
            Extracted part = extract_stage(written, taken);
            Stage stage;
            stage.kernel = std::move(part.kernel);
            stage.kernel.name = fmt::format("{}_{}", kernel_.name, pipeline.stages.size());
            for (std::size_t i = 0; i < writes.size(); ++i) {
                ir::Tensor& tensor = stage.kernel.outputs[i].tensor;
                tensor.type.dtype = writes[i].to.type.dtype;
                tensor.span = writes[i].to.span;
                stage.outputs.push_back(writes[i].tensor);
            }
            stage.kind = kind(stage.kernel);
            for (const ExprId leaf : part.leaves) {
                const auto* param = std::get_if<ir::Param>(&kernel_[leaf].node);
                stage.params.push_back(param ? static_cast<int>(param->index) : tensor_of.at(leaf));
            }
            stage.params.insert(stage.params.end(), part.witnesses.begin(), part.witnesses.end());
            pipeline.stages.push_back(std::move(stage));
        };
        const auto write_of = [&](ExprId root, int output) {
            return Write{root,
                         kernel_.outputs[static_cast<std::size_t>(output - num_params)].tensor,
                         output};
        };
        std::vector<ExprId> alone;  // what one stage computes and writes
        std::set<ExprId> kept_values;
        for (const auto& [id, why] : reasons_) kept_values.insert(id);
        for (const ExprId root : roots())
            if (!kept(root) && num_writes(root) == 1) alone.push_back(root);
        const auto groups = row_groups(kernel_, alone, kept_values);
        const auto together = kept_groups(kernel_, kept_values);
        const auto keep_in_memory = [&](ExprId root) {
            const auto at = static_cast<std::size_t>(tensor_of[root] - bound);
            return Write{root, pipeline.intermediates[at], tensor_of[root]};
        };
        std::set<ExprId> done;  // attentions with several outputs, by their weighted sums
        for (const ExprId root : roots()) {
            const auto ends = ends_with(root);
            if (const auto group = together.find(root); ends.empty() && group != together.end()) {
                std::vector<Write> writes;
                for (const ExprId member : group->second) writes.push_back(keep_in_memory(member));
                add(writes, false);
            }
            if (!ends.empty() && done.insert(ends.front()).second) {
                std::vector<Write> writes;
                for (const ExprId end : ends)
                    writes.push_back(kept(end) ? keep_in_memory(end)
                                               : write_of(end, outputs_of[end].front()));
                add(writes, false);
            }
            if (!ends.empty() && !kept(root)) continue;
            if (kept(root) || num_writes(root) > 1) {
                for (const int output : outputs_of[root]) add({write_of(root, output)}, kept(root));
            } else if (const auto group = groups.find(root); group != groups.end()) {
                std::vector<Write> writes;
                for (const ExprId member : group->second)
                    writes.push_back(write_of(member, outputs_of[member].front()));
                add(writes, false);
            }
        }
        if (pipeline.stages.size() == 1) pipeline.stages.front().kernel.name = kernel_.name;
        return pipeline;
    }

    const ir::Kernel& kernel_;
    bool two_sums_;
    std::map<ExprId, std::string> reasons_;      // of kept values
    std::vector<std::vector<ExprId>> together_;  // what attentions write, the weighted sums first
    std::string problem_;
};

}  // namespace

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
