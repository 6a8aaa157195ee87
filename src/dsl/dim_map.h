// How the dimensions of a called kernel stand for those of its caller.
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

    // Matches a parameter's dimensions with its argument's, of the same number: those that are
    // products, or the others, which must go first. Whether they fit; reports it at the span.
    bool match(const ir::Type& parameter, const ir::Type& argument, bool products, Span span);

    // The caller's dimension; nothing after an error, which is reported at the span.
    std::optional<ir::DimId> operator()(ir::DimId dim, Span span);
    std::optional<std::vector<ir::DimId>> operator()(const std::vector<ir::DimId>& dims, Span span);

  private:
    bool match_name(ir::DimId dim, ir::DimId actual, Span span);
    bool match_product(const ir::Dim& product, ir::DimId actual, Span span);
    // The part of the caller's factors that a known factor of the callee stands for.
    std::optional<std::vector<ir::DimId>> known_part(ir::DimId factor,
                                                     const std::vector<ir::DimId>& given) const;
    std::optional<ir::DimId> other_name(std::string name, const std::vector<ir::DimId>& of,
                                        Span span);
    bool differs(const std::string& name, ir::DimId actual, Span span);

    const ir::Kernel& callee_;
    NodeBuilder& builder_;
    std::vector<std::optional<ir::DimId>> map_;  // by the callee's dimension
};

}  // namespace fact::dsl
