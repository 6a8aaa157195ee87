#include "graph/constants.h"

#include <algorithm>
#include <string_view>

#include "graph/arguments.h"
#include "graph/identity.h"
#include "graph/image_layout.h"
#include "graph/operators.h"

namespace fact::graph {

namespace {

constexpr double kMostBytes = 64 << 20;  // that are kept whatever they are computed from

// Parts of the names of operators whose results differ from call to call.
constexpr std::string_view kRandom[]{"rand",      "dropout",     "bernoulli", "normal_functional",
                                     "normal.",   "multinomial", "poisson",   "exponential",
                                     "geometric", "cauchy",      "uniform",   "empty",
                                     "binomial",  "rrelu"};

bool is_random(const Node& node) {
    return std::ranges::any_of(kRandom, [&](std::string_view part) {
        return node.target.find(part) != std::string::npos;
    });
}

// Whether a result may use the memory of an argument.
bool may_alias(const Node& node) {
    const std::string_view name = aten_name(node.target);
    return is_view(node) || facts_of(node).kind == OperatorKind::unknown || name == "to" ||
           name == "contiguous" || name == "type_as";
}

class ConstantFinder {
  public:
    explicit ConstantFinder(const Graph& graph)
        : graph_(graph),
          escapes_(escapes(graph)),
          constant_(graph.values.size()),
          computed_(graph.values.size()) {}

    std::vector<bool> run() {
        // What the caller is given must not be kept, and neither must what it may be a view of.
        for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
            const Node& node = graph_.nodes[i];
            const bool given =
                std::ranges::any_of(node.outputs, [&](ValueId id) { return escapes_[index(id)]; });
            if (given && may_alias(node))
                for (const ValueId id : tensor_inputs(node)) escapes_[index(id)] = true;
        }
        find_inputs();
        std::vector<bool> found;
        for (const Node& node : graph_.nodes) found.push_back(is_constant(node));
        add_views(found);
        return found;
    }

  private:
    // Views of weights that only such nodes read.
    void add_views(std::vector<bool>& found) const {
        const auto readers = users(graph_);
        const auto only_read_once = [&](ValueId id) {
            const auto& all = readers[index(id)];
            return constant_[index(id)] && !escapes_[index(id)] && !all.empty() &&
                   std::ranges::all_of(all, [&](NodeId reader) { return found[index(reader)]; });
        };
        for (std::size_t i = found.size(); i-- > 0;) {
            const auto& made = graph_.nodes[i].outputs;
            if (!found[i]) found[i] = !made.empty() && std::ranges::all_of(made, only_read_once);
        }
    }

    void find_inputs() {
        for (const GraphInput& input : graph_.inputs)
            constant_[index(input.value)] =
                input.kind != InputKind::user &&
                std::ranges::none_of(graph_.outputs, [&](const GraphOutput& output) {
                    return !output.mutates.empty() && output.mutates == input.fqn;
                });
    }

    // Notes what its results are, too.
    bool is_constant(const Node& node) {
        const auto reads = tensor_inputs(node);
        if (aten_name(node.target).empty() || is_random(node) || node.outputs.empty()) return false;
        const bool from_constants = std::ranges::all_of(
            reads, [&](ValueId id) { return static_cast<bool>(constant_[index(id)]); });
        if (!from_constants) return false;
        double read = 0, made = 0;
        for (const ValueId id : reads)
            if (graph_[id].type) read += bytes_of(*graph_[id].type);
        for (const ValueId id : node.outputs) {
            const auto& type = graph_[id].type;
            if (!type || type->dynamic || escapes_[index(id)]) return false;
            made += bytes_of(*type);
        }
        const bool views_weight =
            is_view(node) && !reads.empty() && !computed_[index(reads.front())];
        if (!views_weight && made > std::max(kMostBytes, read)) return false;
        for (const ValueId id : node.outputs) {
            constant_[index(id)] = true;
            computed_[index(id)] = !views_weight;
        }
        return !views_weight;
    }

    const Graph& graph_;
    std::vector<bool> escapes_;
    std::vector<bool> constant_;  // by value: the same in every call
    std::vector<bool> computed_;  // and in memory of its own, which is kept
};

}  // namespace

std::vector<bool> constant_nodes(const Graph& graph) {
    return ConstantFinder(graph).run();
}

}  // namespace fact::graph
