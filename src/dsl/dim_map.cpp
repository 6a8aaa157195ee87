#include "dsl/dim_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace fact::dsl {

using ir::DimId;
using ir::index;

bool DimMap::match(const ir::Type& parameter, const ir::Type& argument, bool factored, Span span) {
    for (std::size_t i = 0; i < parameter.dims.size(); ++i) {
        const ir::Dim& dim = callee_[parameter.dims[i]];
        if (dim.factors.empty() == factored) continue;
        const DimId actual = argument.dims[i];
        if (!(factored ? match_factored(dim, actual, span)
                       : match_name(parameter.dims[i], actual, span)))
            return false;
    }
    return true;
}

bool DimMap::report_mismatch(const std::string& name, DimId actual, Span span) {
    builder_.reporter().error(code::call_dims, span,
                              fmt::format("'{}' expects dimension {} here, which cannot be {}.",
                                          callee_.name, name, builder_.kernel()[actual].name),
                              "Pass a tensor whose dimensions fit the kernel's, or reorder it.");
    return false;
}

bool DimMap::match_name(DimId dim, DimId actual, Span span) {
    const ir::Dim& own = callee_[dim];
    const ir::Kernel& caller = builder_.kernel();
    auto& mapped = map_[index(dim)];
    if (own.extent && caller[actual].extent != own.extent)
        return report_mismatch(own.name, actual, span);
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
                                                     const std::vector<DimId>& actual) const {
    if (map_[index(factor)]) return builder_.kernel().factors({*map_[index(factor)]});
    if (!callee_[factor].extent) return std::nullopt;
    for (const DimId dim : actual)
        if (builder_.kernel()[dim].extent == callee_[factor].extent) return std::vector{dim};
    return std::vector<DimId>(actual.size() + 1);  // no such constant: too long to match
}

// Known factors are matched from both ends of `actual`. The remaining factors are matched one by
// one; a single remaining factor takes all that is left.
bool DimMap::match_factored(const ir::Dim& dim, DimId actual, Span span) {
    std::vector<DimId> own = dim.factors, remaining = builder_.kernel().factors({actual});
    for (const bool front : {true, false}) {
        while (!own.empty()) {
            const auto part = known_part(front ? own.front() : own.back(), remaining);
            if (!part) break;
            if (part->size() > remaining.size()) return report_mismatch(dim.name, actual, span);
            const auto size = static_cast<std::ptrdiff_t>(part->size());
            const auto begin = front ? remaining.begin() : remaining.end() - size;
            if (!std::equal(part->begin(), part->end(), begin))
                return report_mismatch(dim.name, actual, span);
            remaining.erase(begin, begin + size);
            own.erase(front ? own.begin() : own.end() - 1);
        }
    }
    if (own.empty()) return remaining.empty() || report_mismatch(dim.name, actual, span);
    if (own.size() == 1 && !remaining.empty()) {
        map_[index(own[0])] = builder_.factored_dim(remaining, span);
        return map_[index(own[0])].has_value();
    }
    if (own.size() != remaining.size()) return report_mismatch(dim.name, actual, span);
    for (std::size_t i = 0; i < own.size(); ++i)
        if (!match_name(own[i], remaining[i], span)) return false;
    return true;
}

std::optional<DimId> DimMap::operator()(DimId dim, Span span) {
    auto& mapped = map_[index(dim)];
    const ir::Dim& own = callee_[dim];
    if (own.window) return mapped = places(dim, span);
    if (mapped) return mapped;
    if (own.extent) return mapped = constant(own, span);
    if (!own.factors.empty()) {
        const auto factors = (*this)(own.factors, span);
        if (factors && own.factors.size() == 1) return mapped = alias(own.name, *factors, span);
        return mapped = factors ? builder_.factored_dim(*factors, span) : std::nullopt;
    }
    builder_.reporter().error(
        code::call_dims, span,
        fmt::format("No argument determines dimension {} of '{}'.", own.name, callee_.name),
        "Declare the argument's dimension as a product such as `8*D`, as the kernel does.");
    return std::nullopt;
}

template <class Fits>
std::optional<DimId> DimMap::named(std::string name, Span span, Fits fits) {
    for (;; name += '_') {
        const auto& dims = builder_.kernel().dims;
        const auto found = std::ranges::find(dims, name, &ir::Dim::name);
        if (found == dims.end() || fits(*found)) return builder_.dim(name, span);
    }
}

std::optional<DimId> DimMap::constant(const ir::Dim& own, Span span) {
    const auto mapped =
        named(own.name, span, [&](const ir::Dim& other) { return other.extent == own.extent; });
    if (mapped) builder_.kernel().dims[index(*mapped)].extent = own.extent;
    return mapped;
}

std::optional<DimId> DimMap::places(DimId dim, Span span) {
    ir::WindowRule rule = *callee_[dim].window;
    const auto of = (*this)(rule.of, span), taps = (*this)(rule.taps, span);
    if (!of || !taps) return std::nullopt;
    rule.of = *of, rule.taps = *taps;
    std::optional<DimId> mapped = map_[index(dim)];
    if (!mapped)
        mapped = named(callee_[dim].name, span,
                       [&](const ir::Dim& other) { return other.window == rule; });
    return mapped && builder_.define_places(*mapped, rule, span) ? mapped : std::nullopt;
}

std::optional<DimId> DimMap::alias(const std::string& name, const std::vector<DimId>& of,
                                   Span span) {
    const auto factors = builder_.kernel().factors(of);
    const auto mapped =
        named(name, span, [&](const ir::Dim& other) { return other.factors == factors; });
    if (mapped) builder_.kernel().dims[index(*mapped)].factors = factors;
    return mapped;
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
