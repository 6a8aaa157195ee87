// The typing rules of expressions, in one place: the builder, the verifier and the checker of the
// language ask the same function.
#pragma once

#include <string>
#include <variant>

#include "ir/kernel.h"

namespace fact::ir {

enum class Fault {
    reference,      // an operand, parameter or dimension that does not exist
    literal,        // a value its type cannot hold
    cast,           // to a type expressions cannot have
    broadcast,      // neither operand's dimensions contain the other's
    needs_bool,     // a condition or a logical operand that is not bool
    permutation,    // not a reordering of the operand's dimensions
    expand,         // to dimensions without all of the operand's
    product_rank,   // an operand with fewer than two dimensions
    contraction,    // the summed dimensions differ
    product_dims,   // the result would repeat a dimension
    product_batch,  // neither operand's batch dimensions contain the other's
    product_types,  // operands of two types, or not floating
    precision,      // tf32 for operands that are not f32
    view,           // dimensions that are not the operand's taken apart or put together
    repeated_dim,   // a view with one dimension twice
    flip,           // along a dimension the operand lacks, or whose extent is not a number
    reduction,      // over a dimension the operand lacks, or one twice, or none
    attention,      // operands whose dimensions do not fit
};

struct TypeError {
    Fault fault{};
    std::string message;  // one sentence of cause
    std::string fix;      // one sentence of cure
};

// The type of `node` from its operands' types. Literal and Cast take their element type, Permute
// and View their dimensions from `given`.
std::variant<Type, TypeError> type_of(const Kernel& kernel, const Node& node, const Type& given);

// Whether an output of type `stored` takes a value of type `value`: floating types round when they
// are stored, anything else needs an explicit cast.
bool stores_as(DType value, DType stored);

// "[M, K]"
std::string to_string(const Kernel& kernel, const std::vector<DimId>& dims);

}  // namespace fact::ir
