// Maps the dimensions of a called kernel to those of its caller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/node_builder.h"

namespace fact::dsl {

class DimMap {
  public:
    DimMap(const ir::Kernel& callee, NodeBuilder& builder)
        : callee_(callee), builder_(builder), map_(callee.dims.size()) {}

    // Matches a parameter's dimensions with those of its argument, which has as many. Call it first
    // with `factored` false, for the plain ones, then with true, for the factored ones, which need
    // them. Returns false after reporting a mismatch at the span.
    bool match(const ir::Type& parameter, const ir::Type& argument, bool factored, Span span);

    // The caller's dimension; nullopt after an error, which is reported at the span.
    std::optional<ir::DimId> operator()(ir::DimId dim, Span span);
    std::optional<std::vector<ir::DimId>> operator()(const std::vector<ir::DimId>& dims, Span span);

  private:
    bool match_name(ir::DimId dim, ir::DimId actual, Span span);
    bool match_factored(const ir::Dim& dim, ir::DimId actual, Span span);
    // If this factor of the callee is a constant or already mapped: those factors of `actual` whose
    // product it equals. Otherwise nullopt.
    std::optional<std::vector<ir::DimId>> known_part(ir::DimId factor,
                                                     const std::vector<ir::DimId>& actual) const;
    // The caller's dimension `name` if it fits, or else a new one of that name, with underscores if
    // it is taken; nullopt after an error.
    template <class Fits>
    std::optional<ir::DimId> named(std::string name, Span span, Fits fits);
    // The same for a constant, for the places of windows, and for the product of `of`.
    std::optional<ir::DimId> constant(const ir::Dim& own, Span span);
    std::optional<ir::DimId> places(ir::DimId dim, Span span);
    std::optional<ir::DimId> alias(const std::string& name, const std::vector<ir::DimId>& of,
                                   Span span);
    bool report_mismatch(const std::string& name, ir::DimId actual, Span span);

    const ir::Kernel& callee_;
    NodeBuilder& builder_;
    std::vector<std::optional<ir::DimId>> map_;  // by the callee's dimension
};

}  // namespace fact::dsl
