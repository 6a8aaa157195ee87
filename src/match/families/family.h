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
    std::set<graph::NodeId> taken = {}, copied = {};    // by those
    std::map<graph::NodeId, std::string> reasons = {};  // why a node is left

    void take(Candidate candidate);
    // The first reason that is found for a node stands; an empty one says nothing.
    void note(graph::NodeId node, const std::string& reason);
};

// When a family looks.
enum class Turn {
    contest,  // first: of what several find around the same operators, what gains most is chosen
    rest,     // afterwards: what is left, or another way to what was chosen, which is offered too
};

// Finds a pattern around every node that may begin one and that no other has taken.
struct Around {
    bool (*begins)(const Search& search, const graph::Node& node);
    Result<Candidate> (*find)(Search& search, graph::NodeId node);
    // What becomes of the reason why there is none.
    void (*fail)(Search& search, graph::NodeId node, const std::string& reason) =
        [](Search& search, graph::NodeId node, const std::string& reason) {
            search.note(node, reason);
        };
};

// Finds its patterns in the whole graph, or among those that were chosen.
struct Anywhere {
    std::vector<Candidate> (*find)(Search& search);
};

struct Family {
    char letter;  // that the ids of its patterns begin with
    Turn turn;
    std::variant<Around, Anywhere> how;
};

// In the order in which they look.
std::span<const Family* const> families();

// One operator that trips us up, in whatever way, costs its pattern, not the run.
template <class Find>
auto guarded(Find find) -> decltype(find()) {
    try {
        return find();
    } catch (const std::exception& error) {
        return Error{std::string("a defect of FACT, please report it: ") + error.what(), ""};
    }
}

}  // namespace fact::match
