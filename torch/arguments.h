// A graph node's arguments as the values torch's dispatcher takes.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::exec {

// A place on an operator's stack that is filled at every call.
struct Slot {
    enum class Kind { value, tensors, optional_tensors };
    std::size_t position = 0;
    Kind kind = Kind::value;
    std::vector<std::optional<graph::ValueId>> values;  // one for Kind::value
};

// Everything about an operator call that does not change from run to run.
struct PreparedCall {
    c10::OperatorHandle op;
    std::vector<c10::IValue> stack;  // constants in place, slots empty
    std::vector<Slot> slots;
};

// Finds the operator and lays its arguments out by its schema, defaults filled in. Device arguments
// become `device`, and so does the device of an operator that makes a tensor from nothing.
Result<PreparedCall> prepare_call(const graph::Node& node, c10::Device device);

}  // namespace fact::exec
