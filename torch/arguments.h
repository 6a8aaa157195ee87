// Converts a graph node's arguments to the values that torch's dispatcher takes.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::exec {

// A position on an operator's stack that is filled at every call.
struct Slot {
    enum class Kind { value, tensors, optional_tensors };
    std::size_t position = 0;
    Kind kind = Kind::value;
    std::vector<std::optional<graph::ValueId>> values;  // a single one for Kind::value
};

// Everything about an operator call that does not change from run to run.
struct PreparedCall {
    c10::OperatorHandle op;
    std::vector<c10::IValue> stack;  // constants in place, slots empty
    std::vector<Slot> slots;
};

// Finds the operator and orders its arguments by its schema, with defaults filled in. Device
// arguments become `device`, and so does the device of an operator that reads no tensor.
Result<PreparedCall> prepare_call(const graph::Node& node, c10::Device device);

}  // namespace fact::exec
