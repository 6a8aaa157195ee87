#include "compose/peak_memory.h"

#include <algorithm>
#include <utility>

#include "graph/image_layout.h"
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

PeakMemory::PeakMemory(const graph::Graph& graph)
    : escapes_(graph::escapes(graph)), own_(graph.values.size()) {
    for (std::size_t v = 0; v < own_.size(); ++v) bases_.push_back(static_cast<ValueId>(v));
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const auto& node = graph.nodes[i];
        const auto& reads = reads_.emplace_back(graph::tensor_inputs(node));
        const bool is_view =
            !reads.empty() && graph::facts_of(node).kind == graph::OperatorKind::view;
        for (const ValueId value : node.outputs) {
            own_[index(value)].first = i;
            if (is_view)
                bases_[index(value)] = bases_[index(reads.front())];
            else if (const auto& type = graph[value].type)
                own_[index(value)].bytes = graph::bytes_of(*type);
        }
    }
    find_lasts();
}

void PeakMemory::find_lasts() {
    for (Life& life : own_) life.last = life.first;
    for (std::size_t i = 0; i < reads_.size(); ++i)
        for (const ValueId value : reads_[i]) own_[index(bases_[index(value)])].last = i;
    for (std::size_t v = 0; v < own_.size(); ++v)
        if (escapes_[v]) own_[index(bases_[v])].last = reads_.size();
}

void PeakMemory::set_reads(graph::NodeId node, std::vector<ValueId> reads) {
    reads_[index(node)] = std::move(reads);
    find_lasts();
}

double PeakMemory::bytes(const Homes& homes) const {
    auto lives = own_;
    for (const auto& [part, home] : homes) {
        extend(lives[index(outermost(part, homes))], own_[index(part)]);
        lives[index(part)].bytes = 0;
    }
    std::vector<double> change(reads_.size() +
                               2);  // where a value begins to live, and after its end
    for (const Life& life : lives) {
        change[life.first] += life.bytes;
        change[life.last + 1] -= life.bytes;
    }
    double now = 0, most = 0;
    for (const double by : change) most = std::max(most, now += by);
    return most;
}

}  // namespace fact::compose
