#include "graph/einsum.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/arguments.h"
#include "graph/einsum_equation.h"
#include "graph/splitter.h"
#include "graph/strides.h"

namespace fact::graph {

namespace {

using Ints = std::vector<std::int64_t>;
using Letters = std::string;

struct Operand {
    ValueId value;
    Letters letters;  // one for each dimension
};

bool has(const Letters& letters, char letter) {
    return letters.find(letter) != Letters::npos;
}

template <class Wanted>
Letters letters_if(const Letters& letters, Wanted wanted) {
    Letters found;
    std::ranges::copy_if(letters, std::back_inserter(found), wanted);
    return found;
}

std::int64_t place_of(const Letters& letters, char letter) {
    return static_cast<std::int64_t>(letters.find(letter));
}

class EinsumSplitter {
  public:
    explicit EinsumSplitter(const Graph& graph) : splitter_(graph) {}

    Graph run() {
        return splitter_.run([&](const Node& node) {
            if (!split(node)) splitter_.add(node);
        });
    }

  private:
    // Returns false if the node is to stay as it is.
    bool split(const Node& node) {
        const auto equation = read_einsum(node);
        const auto values = tensor_inputs(node);
        if (!equation || values.empty() || node.outputs.size() != 1) return false;
        const auto extents = index_extents(splitter_.graph(), *equation, values);
        const auto path = contractions(node, values.size());
        if (!extents || !path || !type(node.outputs[0])) return false;
        node_ = &node;
        extents_ = *extents;
        result_ = equation->result;
        order_ = result_;  // torch's own: the result's, then the others by name
        for (const auto& [letter, extent] : extents_)
            if (!has(result_, letter)) order_ += letter;
        std::vector<Operand> operands;
        for (std::size_t i = 0; i < values.size(); ++i)
            operands.push_back({values[i], equation->inputs[i]});
        if (is_simple(operands)) return false;
        steps_ = 0;
        for (const auto& [first, second] : *path) {
            const Operand a = operands[first], b = operands[second];
            operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(second));
            operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(first));
            Letters later = result_;
            for (const Operand& operand : operands) later += operand.letters;
            const Operand made = contract(a, b, later, operands.empty());
            // As torch does: last with a path, first without one.
            operands.insert(find_argument(node, "path") ? operands.end() : operands.begin(), made);
        }
        if (values.size() == 1) rearrange(operands.front());
        return true;
    }

    // One that a text can compute as it is, or that does nothing.
    bool is_simple(const std::vector<Operand>& operands) const {
        if (operands.size() == 1) return operands[0].letters == result_;
        if (operands.size() != 2) return false;
        const Letters &a = operands[0].letters, &b = operands[1].letters;
        const Letters gone = letters_if(order_, [&](char letter) { return !has(result_, letter); });
        return gone.size() == 1 && has(a, gone[0]) && has(b, gone[0]) && !is_vector(a, b, gone);
    }

    // Whether an operand has nothing beyond what the other one has too, in a type in which a
    // product that is stored loses nothing to one that is summed at once.
    bool is_vector(const Letters& a, const Letters& b, const Letters& summed) const {
        const auto own = [](const Letters& of, const Letters& other) {
            return std::ranges::any_of(of, [&](char letter) { return !has(other, letter); });
        };
        const DType dtype = type(node_->outputs[0])->dtype;
        return !summed.empty() && dtype == DType::f32 && (!own(a, b) || !own(b, a));
    }

    Operand contract(Operand a, Operand b, const Letters& later, bool last) {
        const auto alone = [&](const Operand& one, const Operand& other) {
            return letters_if(one.letters, [&](char letter) {
                return !has(other.letters, letter) && !has(later, letter);
            });
        };
        const Letters of_a = alone(a, b), of_b = alone(b, a);
        a = summed_alone(a, of_a);
        b = summed_alone(b, of_b);
        const auto summed = letters_if(order_, [&](char letter) {
            return has(a.letters, letter) && has(b.letters, letter) && !has(later, letter);
        });
        if (!summed.empty() && !is_vector(a.letters, b.letters, summed))
            return multiplied_and_summed(a, b, summed, last);
        if (summed.empty())
            return multiplied(a, b, last ? result_ : in_order(a.letters + b.letters), last);
        const Letters stored = stored_order(a, b, summed);
        const Operand sum = summed_over(multiplied(a, b, stored + summed, false), summed,
                                        last && stored == result_);
        return last && stored != result_ ? permuted_to(sum, result_, true) : sum;
    }

    // The letters in torch's order.
    Letters in_order(const Letters& letters) const {
        return letters_if(order_, [&](char letter) { return has(letters, letter); });
    }

    // The order in which torch's bmm stores the contraction of two operands.
    Letters stored_order(const Operand& a, const Operand& b, const Letters& summed) const {
        const auto kept = [&](bool in_a, bool in_b) {
            return letters_if(order_, [&](char letter) {
                return !has(summed, letter) && has(a.letters, letter) == in_a &&
                       has(b.letters, letter) == in_b;
            });
        };
        Letters rows = kept(true, false), columns = kept(false, true);
        if (order_.find_first_of(columns) < order_.find_first_of(rows)) std::swap(rows, columns);
        return kept(true, true) + rows + columns;
    }

    // Torch sums what it has permuted to its order, in which the sum then lies.
    Operand summed_alone(const Operand& operand, const Letters& summed, bool last = false) {
        if (summed.empty()) return operand;
        return summed_over(permuted_to(operand, in_order(operand.letters)), summed, last);
    }

    Operand summed_over(const Operand& operand, const Letters& summed, bool last = false) {
        const Letters kept = letters_if(operand.letters, [&](char l) { return !has(summed, l); });
        Ints dims;
        for (std::size_t i = 0; i < operand.letters.size(); ++i)
            if (has(summed, operand.letters[i])) dims.push_back(static_cast<std::int64_t>(i));
        TensorType made = *type(operand.value);
        made.sizes = sizes(kept);
        made.strides = dense_strides(made.sizes);
        made.offset = 0;
        return {step("sum", "aten.sum.dim_IntList",
                     {{"self", operand.value, false}, {"dim", dims, false}}, made, last),
                kept};
    }

    // The product of two tensors that broadcast.
    Operand multiplied(const Operand& a, const Operand& b, const Letters& letters, bool last) {
        const ValueId self = aligned(a, letters), other = aligned(b, letters);
        const std::vector<TensorType> types{*type(self), *type(other)};
        return {step("product", "aten.mul.Tensor", {{"self", self, false}, {"other", other, false}},
                     broadcast_result(sizes(letters), types), last),
                letters};
    }

    // The operand as a tensor that broadcasts to one with these indices.
    ValueId aligned(const Operand& operand, const Letters& letters) {
        const Letters order =
            letters_if(letters, [&](char letter) { return has(operand.letters, letter); });
        Operand turned = permuted_to(operand, order);
        Ints view;
        for (const char letter : letters)
            if (!view.empty() || has(order, letter))
                view.push_back(has(order, letter) ? extents_.at(letter) : 1);
        return reshape(turned.value, view);
    }

    // The contraction of two tensors, over one index.
    Operand multiplied_and_summed(Operand a, Operand b, const Letters& summed, bool last) {
        const char k = summed.front();
        if (summed.size() > 1) {
            const Letters order = order_of_sum(a, b, summed);
            a = merged(a, order), b = merged(b, order);
        }
        const Letters letters = last ? result_ : stored_order(a, b, summed);
        TensorType made = *type(a.value);
        made.offset = 0;
        made.sizes = sizes(letters);
        made.strides = dense_strides(made.sizes);
        const std::string equation =
            fmt::format("{},{}->{}", with_one(a, summed, k), with_one(b, summed, k), letters);
        return {step("matmul", "aten.einsum.default",
                     {{"equation", equation, false},
                      {"tensors", std::vector<ValueId>{a.value, b.value}, false}},
                     made, last),
                letters};
    }

    // The letters of an operand whose summed dimensions, if several, are merged into its last one.
    static Letters with_one(const Operand& operand, const Letters& summed, char k) {
        if (summed.size() == 1) return operand.letters;
        return letters_if(operand.letters, [&](char letter) { return !has(summed, letter); }) + k;
    }

    // The order of the summed indices in which less has to be copied: that of one of the operands.
    Letters order_of_sum(const Operand& a, const Operand& b, const Letters& summed) const {
        const auto in = [&](const Operand& operand) {
            return letters_if(operand.letters, [&](char letter) { return has(summed, letter); });
        };
        const auto copied = [&](const Letters& order) {
            double elements = 0;
            for (const Operand* operand : {&a, &b}) {
                const Letters kept = kept_before(*operand, order);
                const TensorType turned = permuted(*type(operand->value), dims(*operand, kept));
                TensorType whole = reshaped(turned, merged_sizes(kept, order.size()));
                if (whole.strides.back() != turned.strides.back() ||
                    whole.strides.front() != turned.strides.front())
                    elements += static_cast<double>(storage_length(whole.sizes, whole.strides));
            }
            return elements;
        };
        const Letters first = in(a), second = in(b);
        return copied(second) < copied(first) ? second : first;
    }

    // The operand's letters with those of `order` last.
    static Letters kept_before(const Operand& operand, const Letters& order) {
        return letters_if(operand.letters, [&](char l) { return !has(order, l); }) + order;
    }

    // The sizes with the last `count` dimensions in one.
    Ints merged_sizes(const Letters& letters, std::size_t count) const {
        Ints all = sizes(letters);
        std::int64_t last = 1;
        for (; count > 0; --count, all.pop_back()) last *= all.back();
        all.push_back(last);
        return all;
    }

    // The operand viewed with the dimensions of `order` as its last one; its letters stay.
    Operand merged(const Operand& operand, const Letters& order) {
        Operand turned = permuted_to(operand, kept_before(operand, order));
        turned.value = reshape(turned.value, merged_sizes(turned.letters, order.size()));
        return turned;
    }

    static Ints dims(const Operand& operand, const Letters& order) {
        Ints dims;
        for (const char letter : order) dims.push_back(place_of(operand.letters, letter));
        return dims;
    }

    // An einsum of one operand.
    void rearrange(const Operand& operand) {
        const Letters summed =
            letters_if(operand.letters, [&](char letter) { return !has(result_, letter); });
        if (summed.empty())
            permuted_to(operand, result_, true);
        else
            summed_alone(operand, summed, true);
    }

    Operand permuted_to(const Operand& operand, const Letters& order, bool last = false) {
        if (order == operand.letters && !last) return operand;
        const Ints order_of_dims = dims(operand, order);
        return {step("permute", "aten.permute.default",
                     {{"self", operand.value, false}, {"dims", order_of_dims, false}},
                     permuted(*type(operand.value), order_of_dims), last),
                order};
    }

    ValueId reshape(ValueId value, const Ints& sizes) {
        if (sizes == type(value)->sizes) return value;
        return step("reshape", "aten.reshape.default",
                    {{"self", value, false}, {"shape", sizes, false}},
                    reshaped(*type(value), sizes));
    }

    Ints sizes(const Letters& letters) const {
        Ints sizes;
        for (const char letter : letters) sizes.push_back(extents_.at(letter));
        return sizes;
    }

    const std::optional<TensorType>& type(ValueId value) const {
        return splitter_.graph()[value].type;
    }

    // The last step of an einsum gives its result.
    ValueId step(std::string_view name, std::string_view target, std::vector<NamedArgument> inputs,
                 const TensorType& made, bool last = false) {
        return splitter_.step(*node_, fmt::format("{}_{}", name, ++steps_), target,
                              std::move(inputs), made,
                              last ? std::optional(node_->outputs[0]) : std::nullopt);
    }

    Splitter splitter_;
    // The einsum that is being split.
    const Node* node_ = nullptr;
    Extents extents_;
    Letters result_, order_;
    int steps_ = 0;
};

}  // namespace

Graph split_einsums(const Graph& graph) {
    return EinsumSplitter(graph).run();
}

}  // namespace fact::graph
