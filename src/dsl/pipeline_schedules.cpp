#include "dsl/pipeline_schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "dsl/schedule_block.h"

namespace fact::dsl {
namespace {

bool is_scheduled(const ir::Expr& expr) {
    return std::holds_alternative<ir::Product>(expr.node);
}

using Blocks = std::vector<ScheduleBlock>;

class Inheritance {
  public:
    Inheritance(const ir::Kernel& pipeline, const Blocks& blocks) : pipeline_(pipeline) {
        for (const ir::Expr& expr : pipeline.exprs)
            if (is_scheduled(expr)) products_.insert(expr.name);
        for (const ScheduleBlock& block : blocks)
            if (block.kernel == pipeline.name) own_.emplace(block.product, block.arch);
    }

    // The callee's block, made one of the pipeline; nullopt if the pipeline lacks the product, or
    // has its own block for the product and the arch.
    std::optional<ScheduleBlock> take(const ScheduleBlock& block, const ir::Kernel& callee,
                                      const std::vector<ast::Word>& targets) const {
        const std::string name = name_of(callee, block.product, targets);
        if (name.empty() || own_.count({name, block.arch})) return std::nullopt;
        ScheduleBlock taken = block;
        taken.kernel = pipeline_.name;
        taken.product = name;
        return taken;
    }

  private:
    // The pipeline's name for the callee's product, a value inside the call or one of its results.
    std::string name_of(const ir::Kernel& callee, const std::string& product,
                        const std::vector<ast::Word>& targets) const {
        const std::string inside =
            fmt::format("{}_{}", targets[0].text, product.empty() ? "acc" : product);
        if (products_.count(inside)) return inside;
        for (std::size_t i = 0; i < std::min(targets.size(), callee.outputs.size()); ++i) {
            const ir::Expr& value = callee[callee.outputs[i].value];
            const std::string target(targets[i].text);
            if (is_scheduled(value) && value.name == product && products_.count(target))
                return target;
        }
        return "";
    }

    const ir::Kernel& pipeline_;
    std::set<std::string> products_;
    std::set<std::pair<std::string, std::string>> own_;  // products and archs of its own blocks
};

}  // namespace

void inherit_schedules(const ast::File& file, Program& program, Reporter& reporter) {
    const Blocks blocks_of_text = program.schedules;  // without inherited ones
    std::map<std::string, std::vector<const ScheduleBlock*>, std::less<>> by_kernel;
    std::size_t choices = 0;
    for (const ScheduleBlock& block : blocks_of_text) {
        by_kernel[block.kernel].push_back(&block);
        choices += block.choices.size();
    }
    for (const ast::Kernel& source : file.kernels) {
        if (!source.pipeline || blocks_of_text.empty()) continue;
        const ir::Kernel& pipeline = *program.find(source.name.text);
        const Inheritance inheritance(pipeline, blocks_of_text);
        for (const ast::Statement& statement : source.body.statements) {
            const auto& root = source.body.exprs[static_cast<std::size_t>(*statement.value)];
            const auto* call = std::get_if<ast::Call>(&root.node);
            const auto blocks = call ? by_kernel.find(call->function.text) : by_kernel.end();
            if (blocks == by_kernel.end()) continue;
            const ir::Kernel& callee = *program.find(call->function.text);
            for (const ScheduleBlock* block : blocks->second) {
                auto taken = inheritance.take(*block, callee, statement.targets);
                if (!taken) continue;
                choices += taken->choices.size();
                if (choices > kMaxChoicesInAll) {
                    report_too_many_choices(source.name.span, reporter);
                    return;
                }
                program.schedules.push_back(std::move(*taken));
            }
        }
    }
}

}  // namespace fact::dsl
