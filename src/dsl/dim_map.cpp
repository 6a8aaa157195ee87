#include "dsl/dim_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace fact::dsl {

using ir::DimId;
using ir::index;

bool DimMap::match(const ir::Type& parameter, const ir::Type& argument, bool products, Span span) {
    for (std::size_t i = 0; i < parameter.dims.size(); ++i) {
        const ir::Dim& dim = callee_[parameter.dims[i]];
        if (dim.factors.empty() == products) continue;
        const DimId actual = argument.dims[i];
        if (!(products ? match_product(dim, actual, span)
                       : match_name(parameter.dims[i], actual, span)))
            return false;
    }
    return true;
}

bool DimMap::differs(const std::string& name, DimId actual, Span span) {
    builder_.reporter().error(code::call_dims, span,
                              fmt::format("'{}' has dimension {} here, which cannot be {}.",
                                          callee_.name, name, builder_.kernel()[actual].name),
                              "Pass a tensor whose dimensions fit the kernel's, or reorder it.");
    return false;
}

bool DimMap::match_name(DimId dim, DimId actual, Span span) {
    const ir::Dim& own = callee_[dim];
    const ir::Kernel& caller = builder_.kernel();
    auto& mapped = map_[index(dim)];
    if (own.extent && caller[actual].extent != own.extent) return differs(own.name, actual, span);
    if (mapped && *mapped != actual) {
        builder_.reporter().error(
            code::call_dims, span,
            fmt::format("Dimension {} of '{}' would be both {} and {}.", own.name, callee_.name,
                        caller[*mapped].name, caller[actual].name),
            "Pass tensors that agree in this dimension's name.");
        return false;
    }
    mapped = actual;
    return true;
}

std::optional<std::vector<DimId>> DimMap::known_part(DimId factor,
                                                     const std::vector<DimId>& given) const {
    if (map_[index(factor)]) return builder_.kernel().factors({*map_[index(factor)]});
    if (!callee_[factor].extent) return std::nullopt;
    for (const DimId dim : given)
        if (builder_.kernel()[dim].extent == callee_[factor].extent) return std::vector{dim};
    return std::vector<DimId>(given.size() + 1);  // a constant that is not there fits nowhere
}

// Factors that are known take their part of `actual` from both ends; the rest is matched one by
// one, or goes to the only factor left.
bool DimMap::match_product(const ir::Dim& product, DimId actual, Span span) {
    std::vector<DimId> own = product.factors, given = builder_.kernel().factors({actual});
    for (const bool front : {true, false}) {
        while (!own.empty()) {
            const auto part = known_part(front ? own.front() : own.back(), given);
            if (!part) break;
            if (part->size() > given.size()) return differs(product.name, actual, span);
            const auto size = static_cast<std::ptrdiff_t>(part->size());
            const auto begin = front ? given.begin() : given.end() - size;
            if (!std::equal(part->begin(), part->end(), begin))
                return differs(product.name, actual, span);
            given.erase(begin, begin + size);
            own.erase(front ? own.begin() : own.end() - 1);
        }
    }
    if (own.empty()) return given.empty() || differs(product.name, actual, span);
    if (own.size() == 1 && !given.empty()) {
        map_[index(own[0])] = builder_.dim_product(given, span);
        return map_[index(own[0])].has_value();
    }
    if (own.size() != given.size()) return differs(product.name, actual, span);
    for (std::size_t i = 0; i < own.size(); ++i)
        if (!match_name(own[i], given[i], span)) return false;
    return true;
}

std::optional<DimId> DimMap::operator()(DimId dim, Span span) {
    auto& mapped = map_[index(dim)];
    if (mapped) return mapped;
    const ir::Dim& own = callee_[dim];
    if (own.extent) return mapped = builder_.dim(own.name, span);
    if (!own.factors.empty()) {
        const auto factors = (*this)(own.factors, span);
        if (factors && own.factors.size() == 1)
            return mapped = other_name(own.name, *factors, span);
        return mapped = factors ? builder_.dim_product(*factors, span) : std::nullopt;
    }
    builder_.reporter().error(
        code::call_dims, span,
        fmt::format("Nothing here tells dimension {} of '{}'.", own.name, callee_.name),
        "Declare the argument with a product of dimensions, as the kernel does.");
    return std::nullopt;
}

// Another name stays one among the caller's dimensions.
std::optional<DimId> DimMap::other_name(std::string name, const std::vector<DimId>& of, Span span) {
    const auto factors = builder_.kernel().factors(of);
    for (;; name += '_') {
        const auto& dims = builder_.kernel().dims;
        const auto found = std::find_if(dims.begin(), dims.end(),
                                        [&](const ir::Dim& dim) { return dim.name == name; });
        if (found != dims.end() && found->factors != factors) continue;
        const auto added = builder_.dim(name, span);
        if (added) builder_.kernel().dims[index(*added)].factors = factors;
        return added;
    }
}

std::optional<std::vector<DimId>> DimMap::operator()(const std::vector<DimId>& dims, Span span) {
    std::vector<DimId> out;
    for (const DimId dim : dims) {
        const auto mapped = (*this)(dim, span);
        if (!mapped) return std::nullopt;
        out.push_back(*mapped);
    }
    return out;
}

}  // namespace fact::dsl
