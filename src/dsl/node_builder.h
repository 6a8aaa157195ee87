// Adds typed expressions to the kernel that is being checked, and reports type errors.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/reporter.h"
#include "ir/kernel.h"

namespace fact::dsl {

using Value = std::optional<ir::ExprId>;  // nullopt: an error that was already reported

inline constexpr std::size_t kMaxRank = 8;    // of a tensor or a value
inline constexpr std::size_t kMaxDims = 256;  // of a kernel

inline constexpr std::size_t kMaxExpressions = std::size_t{1} << 18;  // of a text

// How many more expressions one text may create: composite functions and pipelines multiply them.
struct Budget {
    std::size_t expressions = kMaxExpressions;
    bool exhausted = false;
};

class NodeBuilder {
  public:
    NodeBuilder(ir::Kernel& kernel, Reporter& reporter, Budget& budget)
        : kernel_(kernel), reporter_(reporter), budget_(budget) {}

    ir::Kernel& kernel() { return kernel_; }
    Reporter& reporter() { return reporter_; }
    bool exhausted() const { return budget_.exhausted; }
    bool too_many_dims() const { return too_many_dims_; }

    // Adds the node with its type; `wanted` as in ir::type_of.
    Value add(ir::Node node, Span span, const ir::Type& wanted = {});

    // A name for a value inside a call, with a number appended if an earlier call has used it:
    // schedules and reports identify products by name.
    std::string unique_name(const std::string& wanted) {
        const int number = ++calls_[wanted];
        return number == 1 ? wanted : wanted + std::to_string(number);
    }

    // Find or add; nullopt if there are too many, which is reported.
    std::optional<ir::DimId> dim(const std::string& name_or_digits, Span span);
    std::optional<ir::DimId> factored_dim(const std::vector<ir::DimId>& dims, Span span);

    Value cast(DType dtype, ir::ExprId x, Span span);
    Value permute(ir::ExprId x, std::vector<ir::DimId> dims, Span span);
    Value transpose(ir::ExprId x, Span span);
    Value expand(ir::ExprId x, std::vector<ir::DimId> dims, Span span);
    Value view(ir::ExprId x, std::vector<ir::DimId> dims, Span span);

    // Gives dimensions other names, which become aliases.
    Value rename(ir::ExprId x, std::vector<ir::DimId> dims, Span span);

    // Makes the dimension the places of windows. Reports a dimension that is something else.
    bool define_places(ir::DimId places, const ir::WindowRule& rule, Span span);

    // Reports extents that no parameter supplies, and too many dimensions.
    bool check_dims(const std::vector<ir::DimId>& dims, Span span);

  private:
    // Uses up one expression of the budget; false if none is left, which is reported once.
    bool spend(Span span);
    void drop_ones(ir::Node& node, Span span);
    // The dimension, unless the kernel now has too many, which is reported once.
    std::optional<ir::DimId> counted(ir::DimId dim, Span span);
    bool make_equal(ir::DimId a, ir::DimId b);
    // Whether the parameters supply the dimension's extent.
    bool known(ir::DimId dim);

    ir::Kernel& kernel_;
    Reporter& reporter_;
    Budget& budget_;
    bool too_many_dims_ = false;
    std::unordered_map<std::string, int> calls_;  // how often unique_name() was asked for a name
    std::vector<bool> known_;                     // by dimension; recomputed if there are new ones
};

}  // namespace fact::dsl
