// Attention: torch's operator, or a chain of product, softmax and product.
#include "graph/arguments.h"
#include "match/attention/write.h"
#include "match/families/family.h"

namespace fact::match {

using graph::NodeId;

namespace {

bool begins_attention(const Search&, const graph::Node& node) {
    return is_attention(node) || is_anchor(node);
}

// The Error is empty if the product simply does not begin an attention.
Result<AttentionCall> read_call(Search& search, NodeId node) {
    if (is_attention(search.graph[node])) return read_attention(search.graph, search.known, node);
    auto chain = read_attention_chain(search.graph, search.facts, search.known, node);
    if (!chain) return Error{"", ""};
    return std::move(*chain);
}

// A chain becomes a pattern only if one attention skeleton computes it; torch's operator otherwise
// becomes an expanded text.
Result<AttentionPattern> write_call(Search& search, NodeId node) {
    const graph::Graph& graph = search.graph;
    const Facts& facts = search.facts;
    const bool is_operator = is_attention(graph[node]);
    auto read = read_call(search, node);
    if (!read) return read.error();
    if (read->extent(read->n) == 1)
        return Error{is_operator ? "attention over a single key is left to torch" : "", ""};
    // `near` reads the operands from before permutes only, `far` from before all that moves them.
    AttentionCall near = *read;
    move_result_forward(graph, facts, near);
    AttentionCall far = near;
    look_through_permutes(graph, facts, near);
    look_through_movement(graph, facts, far);
    for (const bool compute_masks : {true, false})
        for (AttentionCall call : {far, near}) {
            if (compute_masks && !compute_masks_in_kernel(graph, search.known, call)) continue;
            auto written = write_attention(graph, facts, call, search.options, search.gpu);
            if (written && written->one_kernel) return written;
        }
    if (!is_operator) return Error{"", ""};
    // An expanded text would multiply keys once for every head that shares them.
    if (graph::flag_argument(graph[node], "enable_gqa", false))
        return Error{read->extent(read->m) == 1
                         ? "no kernel computes attention of a single query with grouped heads"
                         : "no kernel computes attention with grouped heads in this form",
                     ""};
    look_through_permutes(graph, facts, *read);
    return write_attention(graph, facts, *read, search.options, search.gpu);
}

Result<Candidate> find_attention(Search& search, NodeId node) {
    auto found = write_call(search, node);
    if (!found) return found.error();
    Candidate candidate{node, std::move(found->nodes), std::move(found->pattern), false,
                        found->one_kernel};
    candidate.copied = std::move(found->copied);
    return candidate;
}

}  // namespace

// Declared and listed in families.cpp.
extern const Family kAttention{'p', Round::first, Around{begins_attention, find_attention}};

}  // namespace fact::match
