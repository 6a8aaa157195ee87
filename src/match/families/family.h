// Families of rules. Each is a file of this folder, which says what it anchors on and how it finds
// a pattern there, and a line of families.cpp.
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

// What is searched, and what has been found so far.
struct Search {
    const graph::Graph& graph;
    const Options& options;
    const GpuSpec& gpu;
    Facts facts;
    KnownValues known;
    std::vector<Candidate> chosen = {};
    std::set<graph::NodeId> taken = {}, copied = {};    // nodes of those, and Pattern::copied
    std::map<graph::NodeId, std::string> reasons = {};  // why a node is left

    void take(Candidate candidate);
    // The first reason for a node stands; an empty one says nothing.
    void note(graph::NodeId node, const std::string& reason);
    // A better reason than what was noted before.
    void replace_reason(graph::NodeId node, const std::string& reason);
};

enum class Round {
    first,   // candidates of all these families compete: of overlapping ones the best is chosen
    second,  // candidates are added: over what is left, or as alternatives to chosen ones
};

// Finds a pattern around every node that may begin one and that no other has taken.
struct Around {
    bool (*begins)(const Search& search, const graph::Node& node);
    Result<Candidate> (*find)(Search& search, graph::NodeId node);
    // Records why `find` found nothing.
    void (*record_reason)(Search& search, graph::NodeId node, const std::string& reason) =
        [](Search& search, graph::NodeId node, const std::string& reason) {
            search.note(node, reason);
        };
};

// Finds its patterns in the whole graph, or among those that were chosen.
struct Anywhere {
    std::vector<Candidate> (*find)(Search& search);
};

struct Family {
    char id_prefix;  // of its patterns' ids; several families may share one
    Round round;
    std::variant<Around, Anywhere> how;
};

// In the order in which they look.
std::span<const Family* const> families();

// An exception costs the pattern it was thrown for, not the run.
template <class Find>
auto guarded(Find find) -> decltype(find()) {
    try {
        return find();
    } catch (const std::exception& error) {
        return Error{std::string("a defect of FACT, please report it: ") + error.what(), ""};
    }
}

}  // namespace fact::match
