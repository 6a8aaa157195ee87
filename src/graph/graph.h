// The typed graph: what torch.export wrote, as plain values linked by strong ids.
//
// Nodes are in execution order and functional: no node changes a value in place. Operators the
// project does not know are carried as they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "target/dtype.h"

namespace fact::graph {

enum class ValueId : std::uint32_t {};
enum class NodeId : std::uint32_t {};

constexpr std::size_t index(ValueId id) {
    return static_cast<std::size_t>(id);
}
constexpr std::size_t index(NodeId id) {
    return static_cast<std::size_t>(id);
}

// If an extent is known only at run time, `sizes` has the extent it was traced with, and the type
// is marked dynamic.
struct TensorType {
    DType dtype = DType::f32;
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset = 0;  // of the first element, in elements
    bool dynamic = false;     // some extent, stride or offset is symbolic
    std::string device = "cpu";
    bool operator==(const TensorType&) const = default;
};

// Elements of memory from the first element to the last; 0 if there are none.
std::int64_t storage_length(std::span<const std::int64_t> sizes,
                            std::span<const std::int64_t> strides);
// Whether the elements are in order in memory, without gaps.
bool is_dense(const TensorType& type);

struct None {
    bool operator==(const None&) const = default;
};
struct DTypeArg {
    DType dtype;
    bool operator==(const DTypeArg&) const = default;
};
struct MemoryFormatArg {
    // In torch.export's numbering: 1 contiguous, 2 channels last, 3 channels last 3d, 4 preserve.
    int code;
    bool operator==(const MemoryFormatArg&) const = default;
};
struct LayoutArg {
    int code;  // in torch.export's numbering: 7 is strided
    bool operator==(const LayoutArg&) const = default;
};
struct DeviceArg {
    std::string text;  // "cpu", "cuda:0"
    bool operator==(const DeviceArg&) const = default;
};
// Something this project carries but cannot interpret; `tag` is torch.export's name for it.
struct OpaqueArg {
    std::string tag, json;
    bool operator==(const OpaqueArg&) const = default;
};

using Argument =
    std::variant<None, ValueId, std::vector<ValueId>, std::vector<std::optional<ValueId>>, bool,
                 std::int64_t, double, std::string, std::vector<bool>, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>, DTypeArg, MemoryFormatArg,
                 LayoutArg, DeviceArg, OpaqueArg>;

struct NamedArgument {
    std::string name;
    Argument value;
    bool keyword = false;
    bool operator==(const NamedArgument&) const = default;
};

// The place in the user's code that a node comes from.
struct Provenance {
    std::string file;         // as torch recorded it
    int line = 0;             // 0: unknown
    std::string code;         // the line's text
    std::string module_path;  // "blocks.0.mlp"; "" is the root or unknown
    std::string module_type;  // "Linear"
    bool operator==(const Provenance&) const = default;
};

// A node returns tensors one by one or as one list; both are `outputs` here.
struct Node {
    std::string target;  // "aten.linear.default", without the "torch.ops." of the archive
    std::vector<NamedArgument> inputs;
    std::vector<ValueId> outputs;
    bool returns_list = false;
    Provenance where;
    std::string name;
};

struct Value {
    std::string name;
    std::optional<TensorType> type;  // absent: not a tensor, or of an element type DType lacks
    std::optional<NodeId> producer;  // absent: an input of the graph
};

enum class InputKind { user, parameter, buffer, constant };

struct GraphInput {
    ValueId value;
    InputKind kind = InputKind::user;
    std::string fqn;                // full name, "blocks.0.mlp.weight"; "" for user inputs
    std::optional<Argument> fixed;  // the plain value that a user input had when traced
};

struct GraphOutput {
    std::optional<ValueId> value;  // absent: `fixed` is returned
    Argument fixed;
    std::string mutates;  // fqn of a buffer this value is written back to; "" for a plain result
};

struct Graph {
    std::vector<Value> values;
    std::vector<Node> nodes;
    std::vector<GraphInput> inputs;
    std::vector<GraphOutput> outputs;
    std::string in_spec, out_spec;  // torch's pytree descriptions of the call, as they were written
    std::string torch_version, schema_version;

    const Value& operator[](ValueId id) const { return values[index(id)]; }
    Value& operator[](ValueId id) { return values[index(id)]; }
    const Node& operator[](NodeId id) const { return nodes[index(id)]; }
    Node& operator[](NodeId id) { return nodes[index(id)]; }

    ValueId add_value(Value value) {
        values.push_back(std::move(value));
        return static_cast<ValueId>(values.size() - 1);
    }
};

// The argument called `name`, or nullptr if it was left at its default.
const Argument* find_argument(const Node& node, std::string_view name);
// Every tensor a node reads, in argument order, lists flattened.
std::vector<ValueId> tensor_inputs(const Node& node);
// For each value, the nodes that read it (a node once, even if it reads it twice).
std::vector<std::vector<NodeId>> users(const Graph& graph);
// For each value, whether it is a graph output.
std::vector<bool> escapes(const Graph& graph);
// "model.py:41, blocks.0.mlp"
std::string describe(const Provenance& where);
// "model.py:41": without the module, for lines with operators of several modules.
std::string describe_line(Provenance where);

// The first problem of the graph (broken references, values defined twice, use before definition);
// "" if there is none.
std::string verify(const Graph& graph);

// The nodes as a graph of their own: `inputs`, which they read from outside, become its user
// inputs, `outputs` its results. Provenance and names are kept.
Graph extract(const Graph& graph, const std::vector<NodeId>& nodes,
              const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs);

}  // namespace fact::graph
