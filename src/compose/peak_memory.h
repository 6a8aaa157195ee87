// The most memory that the values of a graph take at a time.
#pragma once

#include <map>
#include <vector>

#include "graph/graph.h"

namespace fact::compose {

// For each value that lies in the memory of another, that other one.
using Homes = std::map<graph::ValueId, graph::ValueId>;

// Values live from the node that computes them to the last one that reads them, or a view of them.
// Inputs are not counted: the caller has them all the time.
class PeakMemory {
  public:
    explicit PeakMemory(const graph::Graph& graph);

    // From now on the node reads these instead.
    void set_reads(graph::NodeId node, std::vector<graph::ValueId> reads);

    // A value with a home takes no bytes, but its home lives as long as it does.
    double bytes(const Homes& homes) const;

    // The first and the last node at which a value is in memory, if it has no home.
    struct Life {
        std::size_t first = 0, last = 0;
        double bytes = 0;
    };
    const Life& life(graph::ValueId value) const { return own_[index(value)]; }

  private:
    void find_lasts();

    std::vector<std::vector<graph::ValueId>> reads_;  // by node
    std::vector<graph::ValueId> bases_;               // by value: whose memory it shows
    std::vector<bool> escapes_;
    std::vector<Life> own_;  // by value; no bytes for inputs and views
};

}  // namespace fact::compose
