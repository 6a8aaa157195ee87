// Families of rules. Each is one file of this folder, which defines what it anchors on and how it
// finds a pattern there, and one entry of the list in families.cpp.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "graph/pt2_archive.h"
#include "match/families/candidate.h"
#include "match/known/values.h"
#include "match/patterns/pattern.h"
#include "match/regions/facts.h"
#include "support/result.h"
#include "target/gpu_spec.h"

namespace fact::match {

// The state of the search: its input and what has been found so far.
struct Search {
    const graph::Graph& graph;
    const Options& options;
    const GpuSpec& gpu;
    Facts facts;
    KnownValues known;
    std::vector<Candidate> chosen = {};
    std::set<graph::NodeId> taken = {}, copied = {};    // their nodes, and their Pattern::copied
    std::map<graph::NodeId, std::string> reasons = {};  // why a node is left to torch

    void take(Candidate candidate);
    // Records a reason unless it is empty or the node already has one.
    void note(graph::NodeId node, const std::string& reason);
    // Records a better reason than one that was noted before.
    void replace_reason(graph::NodeId node, const std::string& reason);
};

enum class Round {
    first,   // candidates of all these families compete: the best of overlapping ones is chosen
    second,  // all candidates are added: for remaining nodes, or as alternatives to chosen ones
};

// Finds a pattern around every node that may begin one and that no chosen pattern contains.
struct Around {
    bool (*begins)(const Search& search, const graph::Node& node);
    Result<Candidate> (*find)(Search& search, graph::NodeId node);
    // Records why `find` found nothing.
    void (*record_reason)(Search& search, graph::NodeId node, const std::string& reason) =
        [](Search& search, graph::NodeId node, const std::string& reason) {
            search.note(node, reason);
        };
};

// Finds patterns in the whole graph, or alternatives to chosen ones.
struct Anywhere {
    std::vector<Candidate> (*find)(Search& search);
};

struct Family {
    char id_prefix;  // of its patterns' ids; several families may share one
    Round round;
    std::variant<Around, Anywhere> how;
};

// In the order in which they search.
std::span<const Family* const> families();

// Turns an exception into an Error, so that it costs one pattern and not the run.
template <class Find>
auto guarded(Find find) -> decltype(find()) {
    try {
        return find();
    } catch (const std::exception& error) {
        return Error{std::string("a defect of FACT, please report it: ") + error.what(), ""};
    }
}

}  // namespace fact::match
