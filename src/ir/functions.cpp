#include "ir/functions.h"

namespace fact::ir {
namespace {

bool is_function_name(std::string_view name) {
    return !name.empty() && name[0] >= 'a' && name[0] <= 'z' && name != "not" && name != "and" &&
           name != "or";
}

}  // namespace

std::optional<UnaryOp> find_unary_function(std::string_view name) {
    if (!is_function_name(name)) return std::nullopt;
    for (const auto& row : kUnary)
        if (row.name == name) return row.op;
    return std::nullopt;
}

std::optional<BinaryOp> find_binary_function(std::string_view name) {
    if (!is_function_name(name)) return std::nullopt;
    for (const auto& row : kBinary)
        if (row.name == name) return row.op;
    return std::nullopt;
}

std::optional<ReduceOp> find_reduction(std::string_view name) {
    for (const auto& row : kReductions)
        if (row.name == name) return row.op;
    return std::nullopt;
}

std::optional<ScanOp> find_scan(std::string_view name) {
    for (const auto& row : kScans)
        if (row.name == name) return row.op;
    return std::nullopt;
}

}  // namespace fact::ir
