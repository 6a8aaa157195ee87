#include "compose/peak_memory.h"

#include <algorithm>

#include "graph/operators.h"

namespace fact::compose {

using graph::ValueId;

namespace {

ValueId outermost(ValueId value, const Homes& homes) {
    for (auto at = homes.find(value); at != homes.end(); at = homes.find(value)) value = at->second;
    return value;
}

void extend(PeakMemory::Life& life, const PeakMemory::Life& by) {
    life.first = std::min(life.first, by.first);
    life.last = std::max(life.last, by.last);
}

}  // namespace

double bytes_of(const graph::TensorType& type) {
    double bytes = info(type.dtype).bytes;
    for (const auto size : type.sizes) bytes *= static_cast<double>(size);
    return bytes;
}

PeakMemory::PeakMemory(const graph::Graph& graph)
    : own_(graph.values.size()), num_nodes_(graph.nodes.size()) {
    std::vector<ValueId> bases;  // of each value, whose memory it is
    for (std::size_t v = 0; v < own_.size(); ++v) bases.push_back(static_cast<ValueId>(v));
    for (std::size_t i = 0; i < num_nodes_; ++i) {
        const auto& node = graph.nodes[i];
        const auto reads = graph::tensor_inputs(node);
        for (const ValueId value : reads) own_[index(bases[index(value)])].last = i;
        for (const ValueId value : node.outputs) {
            auto& own = own_[index(value)];
            own.first = own.last = i;
            const auto& type = graph[value].type;
            if (!reads.empty() && graph::facts_of(node).kind == graph::OperatorKind::view)
                bases[index(value)] = bases[index(reads.front())];
            else if (type)
                own.bytes = bytes_of(*type);
        }
    }
    const auto escapes = graph::escapes(graph);
    for (std::size_t v = 0; v < own_.size(); ++v)
        if (escapes[v]) own_[index(bases[v])].last = num_nodes_;
}

double PeakMemory::bytes(const Homes& homes) const {
    auto lives = own_;
    for (const auto& [part, home] : homes) {
        extend(lives[index(outermost(part, homes))], own_[index(part)]);
        lives[index(part)].bytes = 0;
    }
    std::vector<double> change(num_nodes_ + 2);  // where a value begins to live, and after its end
    for (const Life& life : lives) {
        change[life.first] += life.bytes;
        change[life.last + 1] -= life.bytes;
    }
    double now = 0, most = 0;
    for (const double by : change) most = std::max(most, now += by);
    return most;
}

}  // namespace fact::compose
