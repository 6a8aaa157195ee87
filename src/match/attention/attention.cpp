#include "match/attention/attention.h"

#include "graph/arguments.h"

namespace fact::match {

using graph::Graph;
using graph::NodeId;

Result<AttentionPattern> attention_pattern(const Graph& graph, const Facts& facts,
                                           KnownValues& known, NodeId node, const Options& options,
                                           const GpuSpec& gpu) {
    const bool whole = is_attention(graph[node]);
    Result<AttentionCall> read = Error{"", ""};
    if (whole)
        read = read_attention(graph, known, node);
    else if (auto chain = read_attention_chain(graph, facts, known, node))
        read = std::move(*chain);
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
            if (apart && !take_masks_apart(graph, known, call)) continue;
            auto written = write_attention(graph, facts, call, options, gpu);
            if (written && written->held) return written;
        }
    if (!whole) return Error{"", ""};
    // Written out, heads that share keys would be multiplied one by one.
    if (graph::flag_argument(graph[node], "enable_gqa", false))
        return Error{read->extent(read->m) == 1 ? "a single query of grouped heads is left to torch"
                                                : "grouped heads that torch repeats are left to it",
                     ""};
    read_permuted(graph, facts, *read);
    return write_attention(graph, facts, *read, options, gpu);
}

}  // namespace fact::match
