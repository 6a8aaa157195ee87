#include "lower/pipeline/assemble.h"

#include <fmt/format.h>

#include <algorithm>

#include "lower/pipeline/merged_dims.h"
#include "lower/pipeline/row_groups.h"
#include "lower/rows/flips.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::ExprId;

StageKind kind_of(const ir::Kernel& stage) {
    for (const ir::Expr& expr : stage.exprs) {
        const StageKind kind = std::visit(
            overloaded{
                [](const one_of<ir::Attention, ir::LogSumExp> auto&) {
                    return StageKind::attention;
                },
                [](const ir::Product&) { return StageKind::product; },
                [](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::Unary,
                                ir::Binary, ir::Select, ir::Cast, ir::Permute, ir::Expand, ir::View,
                                ir::Flip, ir::Window, ir::Reduce, ir::Scan> auto&) {
                    return StageKind::rows;
                },
            },
            expr.node);
        if (kind != StageKind::rows) return kind;
    }
    return StageKind::rows;
}

class Assembler {
  public:
    Assembler(const ir::Kernel& kernel, const StoredValues& stored)
        : kernel_(kernel),
          stored_(stored),
          stored_ids_(stored.all()),
          num_params_(static_cast<int>(kernel.params.size())),
          num_bound_(num_params_ + static_cast<int>(kernel.outputs.size())) {
        pipeline_.kernel = kernel;
        for (std::size_t i = 0; i < kernel.outputs.size(); ++i)
            outputs_of_[kernel.outputs[i].value].push_back(num_params_ + static_cast<int>(i));
        for (const auto& [id, why] : stored.reasons) {
            const ir::Expr& expr = kernel[id];
            const std::string name =
                expr.name.empty() ? fmt::format("t{}", pipeline_.intermediates.size()) : expr.name;
            tensor_of_[id] = num_bound_ + static_cast<int>(pipeline_.intermediates.size());
            pipeline_.intermediates.push_back({name, expr.type, expr.span});
            pipeline_.cuts.push_back(fmt::format("{} is kept in memory: {}.", name, why));
        }
    }

    Pipeline run() {
        const auto roots = stage_roots(kernel_, stored_);
        std::vector<ExprId> only_outputs;  // values that are one output and not stored
        for (const ExprId root : roots)
            if (!is_stored(root) && outputs_of_[root].size() == 1) only_outputs.push_back(root);
        // A group's stage takes the place of the group's last member.
        const auto intermediate_groups = stored_groups(kernel_, stored_ids_, only_outputs);
        for (const auto& [last, members] : intermediate_groups)
            for (const ExprId member : members) std::erase(only_outputs, member);
        const auto output_groups = row_groups(kernel_, only_outputs, stored_ids_);
        // The first outputs of the attentions with several outputs whose stages have been added.
        std::set<ExprId> added_attentions;
        for (const ExprId root : roots) {
            const auto ends = attention_outputs_with(root);
            if (const auto group = intermediate_groups.find(root);
                ends.empty() && group != intermediate_groups.end())
                add(writes_of(group->second), false);
            if (!ends.empty() && added_attentions.insert(ends.front()).second)
                add(writes_of(ends), false);
            if (!ends.empty() && !is_stored(root)) continue;
            if (is_stored(root) || outputs_of_[root].size() > 1) {
                for (const int output : outputs_of_[root])
                    add({to_output(root, output)}, is_stored(root));
            } else if (const auto group = output_groups.find(root); group != output_groups.end()) {
                add(writes_of(group->second), false);
            }
        }
        if (pipeline_.stages.size() == 1) pipeline_.stages.front().kernel.name = kernel_.name;
        return std::move(pipeline_);
    }

  private:
    struct Write {
        ExprId root{};
        ir::Tensor to;
        int tensor = 0;  // the number of `to` in the pipeline
    };

    bool is_stored(ExprId id) const { return stored_ids_.contains(id); }

    // All outputs of the attention that writes `root`; empty if it has only one.
    std::vector<ExprId> attention_outputs_with(ExprId root) const {
        for (const auto& ends : stored_.attention_outputs)
            if (std::find(ends.begin(), ends.end(), root) != ends.end()) return ends;
        return {};
    }

    Write to_output(ExprId root, int output) const {
        return {root, kernel_.outputs[static_cast<std::size_t>(output - num_params_)].tensor,
                output};
    }
    Write to_memory(ExprId root) const {
        const int tensor = tensor_of_.at(root);
        return {root, pipeline_.intermediates[static_cast<std::size_t>(tensor - num_bound_)],
                tensor};
    }
    std::vector<Write> writes_of(const std::vector<ExprId>& roots) const {
        std::vector<Write> writes;
        for (const ExprId root : roots)
            writes.push_back(is_stored(root) ? to_memory(root)
                                             : to_output(root, outputs_of_.at(root).front()));
        return writes;
    }

    // Adds the stage that writes these values. It computes them or, if `copies_stored`, copies them
    // from memory, where another stage has stored them.
    void add(const std::vector<Write>& writes, bool copies_stored) {
        std::vector<ExprId> written;
        std::set<ExprId> read = stored_ids_;
        for (const Write& write : writes) {
            written.push_back(write.root);
            if (!copies_stored) read.erase(write.root);
        }
        Extracted part = extract_stage(kernel_, written, read);
        Stage stage;
        stage.kernel = std::move(part.kernel);
        stage.merged = std::move(part.merged);
        stage.kernel.name = fmt::format("{}_{}", kernel_.name, pipeline_.stages.size());
        for (std::size_t i = 0; i < writes.size(); ++i) {
            ir::Tensor& tensor = stage.kernel.outputs[i].tensor;
            tensor.type.dtype = writes[i].to.type.dtype;
            tensor.span = writes[i].to.span;
            stage.outputs.push_back(writes[i].tensor);
        }
        stage.kind = kind_of(stage.kernel);
        for (const ExprId leaf : part.leaves) {
            const auto* param = std::get_if<ir::Param>(&kernel_[leaf].node);
            stage.params.push_back(param ? static_cast<int>(param->index) : tensor_of_.at(leaf));
        }
        stage.params.insert(stage.params.end(), part.witnesses.begin(), part.witnesses.end());
        pipeline_.stages.push_back(std::move(stage));
    }

    const ir::Kernel& kernel_;
    const StoredValues& stored_;
    std::set<ExprId> stored_ids_;
    int num_params_, num_bound_;                     // num_bound_: parameters and outputs
    std::map<ExprId, int> tensor_of_;                // the pipeline's tensor of each stored value
    std::map<ExprId, std::vector<int>> outputs_of_;  // the tensors of each value that is an output
    Pipeline pipeline_;
};

}  // namespace

std::set<ExprId> StoredValues::all() const {
    std::set<ExprId> ids;
    for (const auto& [id, why] : reasons) ids.insert(id);
    return ids;
}

std::vector<ExprId> stage_roots(const ir::Kernel& kernel, const StoredValues& stored) {
    std::set<ExprId> all = stored.all();
    for (const ir::Output& output : kernel.outputs) all.insert(output.value);
    return {all.begin(), all.end()};
}

Extracted extract_stage(const ir::Kernel& kernel, const std::vector<ExprId>& roots,
                        const std::set<ExprId>& read) {
    Extracted part = extract(kernel, roots, read);
    if (kind_of(part.kernel) != StageKind::product) return part;
    merge_dims(part);
    part.kernel = flips_at_leaves(part.kernel);
    return part;
}

Pipeline assemble(const ir::Kernel& kernel, const StoredValues& stored) {
    return Assembler(kernel, stored).run();
}

}  // namespace fact::lower
