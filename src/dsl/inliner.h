// Inlines a checked kernel into a pipeline.
#pragma once

#include <string_view>
#include <vector>

#include "dsl/node_builder.h"

namespace fact::dsl {

struct CallArgument {
    ir::ExprId value{};
    Span span;
};

// The callee's outputs as values of the caller, rounded to their element types and marked as
// stored; empty after an error, reported at the argument or at `span`. Values inside are named
// `prefix_name`.
std::vector<Value> inline_kernel(NodeBuilder& builder, const ir::Kernel& callee,
                                 const std::vector<CallArgument>& arguments, Span span,
                                 std::string_view prefix);

// Removes the cast and the `stored` mark of outputs that nothing else reads: writing an output
// rounds and stores it anyway.
void tidy_outputs(ir::Kernel& pipeline);

}  // namespace fact::dsl
