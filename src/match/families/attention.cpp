// Attention as a pattern of its own: torch's operator, or scores, softmax and mix written out.
#include "graph/arguments.h"
#include "match/attention/write.h"
#include "match/families/family.h"

namespace fact::match {

using graph::NodeId;

namespace {

bool begins_attention(const Search&, const graph::Node& node) {
    return is_attention(node) || is_anchor(node);
}

// Empty where the product begins no attention: then there is nothing to say about it.
Result<AttentionCall> read_call(Search& search, NodeId node) {
    if (is_attention(search.graph[node])) return read_attention(search.graph, search.known, node);
    auto chain = read_attention_chain(search.graph, search.facts, search.known, node);
    if (!chain) return Error{"", ""};
    return std::move(*chain);
}

// What was written out only where a skeleton holds it.
Result<AttentionPattern> write_call(Search& search, NodeId node) {
    const graph::Graph& graph = search.graph;
    const Facts& facts = search.facts;
    const bool whole = is_attention(graph[node]);
    auto read = read_call(search, node);
    if (!read) return read.error();
    if (read->extent(read->n) == 1)
        return Error{whole ? "attention over a single key is left to torch" : "", ""};
    AttentionCall plain = *read;
    write_where_wanted(graph, facts, plain);
    AttentionCall furthest = plain;
    read_permuted(graph, facts, plain);
    read_as_it_lies(graph, facts, furthest);
    for (const bool apart : {true, false})
        for (AttentionCall call : {furthest, plain}) {
            if (apart && !take_masks_apart(graph, search.known, call)) continue;
            auto written = write_attention(graph, facts, call, search.options, search.gpu);
            if (written && written->one_kernel) return written;
        }
    if (!whole) return Error{"", ""};
    // Written out, heads that share keys would be multiplied one by one.
    if (graph::flag_argument(graph[node], "enable_gqa", false))
        return Error{read->extent(read->m) == 1
                         ? "a single query of grouped heads has no kernel here"
                         : "grouped heads in this form have no kernel here",
                     ""};
    read_permuted(graph, facts, *read);
    return write_attention(graph, facts, *read, search.options, search.gpu);
}

Result<Candidate> find_attention(Search& search, NodeId node) {
    auto found = write_call(search, node);
    if (!found) return found.error();
    Candidate own{node, std::move(found->nodes), std::move(found->pattern), false,
                  found->one_kernel};
    own.copied = std::move(found->copied);
    return own;
}

}  // namespace

extern const Family kAttention{'p', Round::first, Around{begins_attention, find_attention}};

}  // namespace fact::match
