// The typing rules of expressions, shared by the builder, the verifier and the language's checker.
#pragma once

#include <string>
#include <variant>

#include "ir/kernel.h"

namespace fact::ir {

enum class Fault {
    reference,      // an operand, parameter or dimension that does not exist
    literal,        // a value its type cannot hold
    cast,           // to a type that expressions cannot have
    broadcast,      // neither operand's dimensions contain the other's
    needs_bool,     // a condition or a logical operand that is not bool
    permutation,    // not a reordering of the operand's dimensions
    expand,         // to dimensions that do not include all of the operand's
    product_rank,   // an operand with fewer than two dimensions
    contraction,    // the summed dimensions differ
    product_dims,   // the result would repeat a dimension
    product_batch,  // neither operand's batch dimensions contain the other's
    product_types,  // operands of two types, or not floating
    precision,      // tf32 for operands that are not f32
    view,           // dimensions that are not the operand's, split or merged
    repeated_dim,   // a view or expansion with one dimension twice
    flip,           // along a dimension the operand lacks, or whose extent is not constant
    window,         // over a dimension the operand lacks, or with taps that are not constant
    reduction,      // over a dimension the operand lacks, or one twice, or none
    attention,      // operands whose dimensions do not fit
};

struct TypeError {
    Fault fault{};
    std::string message;  // the cause, one sentence
    std::string fix;      // what to do, one sentence
};

// The type of `node` from its operands' types. Literal and Cast take their element type from
// `wanted`, Permute, Expand and View their dimensions.
std::variant<Type, TypeError> type_of(const Kernel& kernel, const Node& node, const Type& wanted);

// Whether an output of type `stored` can take a value of type `value`: floating values are rounded,
// i32 widens to i64, anything else needs an explicit cast.
bool stores_as(DType value, DType stored);

// "[M, K]"
std::string to_string(const Kernel& kernel, const std::vector<DimId>& dims);

}  // namespace fact::ir
