// Extents across operators that work along dimensions, and across einsum, convolutions and
// attention: members of ExtentClasses (verify/extents.h).
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "graph/arguments.h"
#include "graph/operators.h"
#include "graph/windows.h"
#include "verify/extents.h"

namespace fact::verify {

namespace {

using graph::Along;
using graph::Node;
using graph::OperatorKind;
using graph::ValueId;
using Ints = std::vector<std::int64_t>;

}  // namespace

bool ExtentClasses::visit_einsum(const Node& node) {
    const auto read = graph::read_einsum(node);
    auto values = graph::tensor_inputs(node);
    if (!read || read->inputs.size() != values.size()) return false;
    auto letters = read->inputs;
    values.push_back(node.outputs[0]);
    letters.push_back(read->result);
    std::map<char, std::pair<ValueId, int>> first_uses;  // by letter: a value and its dimension
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (letters[i].size() != static_cast<std::size_t>(rank(values[i]))) return false;
        for (int d = 0; d < rank(values[i]); ++d) {
            const auto [at, fresh] =
                first_uses.try_emplace(letters[i][static_cast<std::size_t>(d)], values[i], d);
            if (!fresh) tie(at->second.first, at->second.second, values[i], d);
        }
    }
    return true;
}

// Only convolutions of one tap: weight[O, C, 1, 1] by input[B, C, H, W].
bool ExtentClasses::visit_convolution(const Node& node) {
    const auto reads = graph::tensor_inputs(node);
    if (!is_convolution(node) || reads.size() < 2) return false;
    const ValueId x = reads[0], w = reads[1], out = node.outputs[0];
    if (rank(x) != rank(w) || rank(x) < 3 || extent(x, 1) != extent(w, 1)) return false;
    for (int d = 2; d < rank(x); ++d)
        if (extent(w, d) != 1 || extent(x, d) != extent(out, d)) return false;
    tie(x, 0, out, 0);
    for (int d = 2; d < rank(x); ++d) tie(x, d, out, d);
    tie(x, 1, w, 1);
    tie(w, 0, out, 1);
    if (reads.size() > 2) tie(reads[2], 0, w, 0);
    return true;
}

// Windows fix what they go over; a weight has the channels of results and inputs before its taps.
bool ExtentClasses::visit_windows(const Node& node) {
    const auto read = graph::read_windows(graph_, node);
    if (!read) return false;
    const ValueId x = read->source, out = node.outputs[0];
    const int first = static_cast<int>(read->dims.front().dim);
    const bool convolves = read->kind == graph::WindowKind::convolution;
    for (int d = 0; d < (convolves ? first - 1 : first); ++d) tie(x, d, out, d);
    for (int d = first; d < rank(x); ++d) fix(x, d), fix(out, d);
    if (read->weight) {
        for (int d = 2; d < rank(*read->weight); ++d) fix(*read->weight, d);
        tie(*read->weight, read->transposed ? 1 : 0, out, first - 1);
        if (convolves)
            tie(*read->weight, read->transposed ? 0 : 1, x, first - 1);
        else
            fix(out, first - 1);  // the number of groups is an argument of the node
    }
    if (read->bias) tie(*read->bias, 0, out, first - 1);
    return true;
}

// Queries, keys and values end in [M, D], [N, D] and [N, E], a mask in [M, N]. D is fixed, because
// the scale may be computed from it.
bool ExtentClasses::visit_attention(const Node& node) {
    if (node.target != "aten.scaled_dot_product_attention.default") return false;
    auto values = graph::tensor_inputs(node);
    const ValueId out = node.outputs[0];
    const int r = rank(out);
    std::optional<ValueId> mask;
    if (values.size() == 4) {
        mask = values.back();
        values.pop_back();
    }
    if (values.size() != 3 || r < 2 || (mask && rank(*mask) > r)) return false;
    for (const ValueId value : values)
        if (rank(value) != r) return false;
    const ValueId q = values[0], k = values[1], v = values[2];
    tie(q, r - 2, out, r - 2);
    tie(k, r - 2, v, r - 2);
    tie(q, r - 1, k, r - 1);
    tie(v, r - 1, out, r - 1);
    fix(q, r - 1);
    for (int d = 0; d < r - 2; ++d)
        for (const ValueId value : values)
            if (extent(value, d) == extent(out, d)) tie(value, d, out, d);
    if (!mask) return true;
    // Dimensions match from the right; one of a single element is broadcast.
    const int shift = r - rank(*mask);
    for (int d = 0; d < rank(*mask); ++d) {
        if (extent(*mask, d) == 1) continue;
        const bool columns = d + shift == r - 1;
        tie(*mask, d, columns ? k : out, columns ? r - 2 : d + shift);
    }
    return true;
}

// Input and target have the same shape; the result has it too, or is a single number.
bool ExtentClasses::visit_loss(const Node& node) {
    const auto reads = graph::tensor_inputs(node);
    if (reads.size() != 2) return false;
    const ValueId in = reads.front(), out = node.outputs.front();
    for (const ValueId value : {reads.back(), out})
        if (rank(value) != 0 && rank(value) != rank(in)) return false;
    for (const ValueId value : {reads.back(), out})
        for (int d = 0; d < rank(value); ++d)
            if (extent(value, d) == extent(in, d)) tie(in, d, value, d);
    return true;
}

// Scores [B, C, ...] with, for each position, a class number or a probability per class.
bool ExtentClasses::visit_cross_entropy(const Node& node) {
    const auto reads = graph::tensor_inputs(node);
    if (reads.size() != 2 || rank(reads[0]) < 2) return false;
    const ValueId in = reads[0];
    const bool class_numbers = rank(reads[1]) == rank(in) - 1;
    if (!class_numbers && rank(reads[1]) != rank(in)) return false;
    for (const ValueId value : {reads[1], node.outputs.front()}) {
        const bool lacks_classes = rank(value) == rank(in) - 1;
        if (!lacks_classes && rank(value) != rank(in)) continue;
        for (int d = 0; d < rank(in); ++d)
            if (d != 1 || !lacks_classes) tie(in, d, value, lacks_classes && d > 1 ? d - 1 : d);
    }
    if (class_numbers) fix(in, 1);
    return true;
}

bool ExtentClasses::visit_rowwise(const Node& node) {
    const auto reads = graph::tensor_inputs(node);
    if (reads.empty() || node.outputs.empty()) return false;
    const ValueId in = reads.front(), out = node.outputs.front();
    const auto [kind, flops, motion, along] = graph::facts_of(node);
    const bool window = along == Along::window, last = along == Along::last;
    const bool channels = along == Along::batch || along == Along::running;
    const bool groups = along == Along::group || along == Along::channel;
    if (node.target == "aten.cross_entropy_loss.default") return visit_cross_entropy(node);
    if (kind == OperatorKind::loss) return visit_loss(node);
    if (kind == OperatorKind::reduction && along == Along::dims) {
        Ints dims = graph::dims_argument(node);
        for (auto& dim : dims)
            if (dim < 0) dim += rank(in);
        const bool kept = rank(out) == rank(in);
        int out_dim = 0;
        for (int d = 0; d < rank(in); ++d) {
            const bool reduced = dims.empty() || std::ranges::find(dims, d) != dims.end();
            if (!reduced)
                for (const ValueId value : node.outputs) tie(in, d, value, out_dim);
            if (!reduced || kept) ++out_dim;
        }
        return true;
    }
    if (!window && !channels && !groups && !last && kind != OperatorKind::softmax) return false;
    for (int d = 0; d < rank(in); ++d) {
        if (window && d + 1 == rank(in)) {
            fix(in, d);
            fix(out, d);
        } else {
            tie(in, d, out, d);
        }
    }
    if (groups) fix(in, 1);
    // Channels are dimension 1; weights and statistics are vectors with an element per channel.
    if (channels || groups) {
        for (const ValueId value : reads)
            if (value != in && rank(value) == 1) tie(value, 0, in, 1);
        for (std::size_t i = 1; i < node.outputs.size(); ++i)
            if (rank(node.outputs[i]) == 1 && extent(node.outputs[i], 0) == extent(in, 1))
                tie(node.outputs[i], 0, in, 1);
    }
    if (last) {  // resize.cpp does not adapt the argument normalized_shape
        const int count = static_cast<int>(graph::ints_argument(node, "normalized_shape").size());
        for (int d = rank(in) - count; d < rank(in); ++d) fix(in, d);
        for (const ValueId value : reads)
            for (int d = 0; value != in && d < rank(value); ++d) fix(value, d);
    }
    return true;
}

}  // namespace fact::verify
