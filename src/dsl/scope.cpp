#include "dsl/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "dsl/words.h"
#include "ir/extents.h"
#include "ir/typing.h"

namespace fact::dsl {
namespace {

constexpr std::size_t kMaxFactors = 8;         // of a dimension
constexpr std::size_t kMaxSuggestions = 1000;  // names that are compared with a misspelt one

bool is_digits(std::string_view text) {
    return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

// A constant extent without leading zeros; nullopt if it is 0 or too large.
std::optional<std::string> extent_name(std::string_view digits) {
    std::int32_t extent = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, extent);
    if (failure != std::errc() || stop != end || extent < 1) return std::nullopt;
    return std::to_string(extent);
}

// Whether the name of an alias occurs in that of a factored dimension: F in F*8.
bool is_in_factored_dim(const ir::Kernel& kernel, ir::DimId dim) {
    const auto used = ir::used_dims(kernel);
    const auto spells = [&](const std::string& product) {
        const auto starred = "*" + product + "*";
        return starred.find("*" + kernel[dim].name + "*") != starred.npos;
    };
    for (std::size_t d = 0; d < kernel.dims.size(); ++d)
        if (used[d] && d != ir::index(dim) && spells(kernel.dims[d].name)) return true;
    return false;
}

// How a value with the dimensions `have` becomes one with `want`.
std::string cure_of_output(const ir::Kernel& kernel, const std::vector<ir::DimId>& have,
                           const std::vector<ir::DimId>& want) {
    const auto without = [](const std::vector<ir::DimId>& dims, const auto& others) {
        std::vector<ir::DimId> rest;
        for (const auto dim : dims)
            if (std::ranges::find(others, dim) == others.end()) rest.push_back(dim);
        return rest;
    };
    const auto listed = [&](const std::vector<ir::DimId>& dims) {
        const auto text = ir::to_string(kernel, dims);
        return text.substr(1, text.size() - 2);
    };
    const auto missing = without(want, have), extra = without(have, want);
    if (missing.empty() && extra.empty() && have.size() == want.size())
        return fmt::format("Reorder the value: `.permute({})`.", listed(want));
    if (missing.empty() && extra.size() == 1)
        return fmt::format(
            "Reduce the value along {0}, such as `sum(..., over: {0})`, or declare the output as "
            "{1}.",
            listed(extra), ir::to_string(kernel, have));
    if (extra.empty() && !missing.empty())
        return fmt::format("Repeat the value along {}: `.expand({})`.", listed(missing),
                           listed(want));
    return fmt::format(
        "Declare the output as {}, or give its value the dimensions {}: `.view(...)` splits and "
        "merges them.",
        ir::to_string(kernel, have), ir::to_string(kernel, want));
}

}  // namespace

void Scope::declare_symbols(const std::vector<ast::Dim>& dims) {
    for (const ast::Dim& dim : dims)
        for (const ast::Word& word : dim.factors) {
            if (is_digits(word.text) || has_dim(word.text)) continue;
            if (!builder_.dim(std::string(word.text), word.span)) return;
            if (is_reserved(word.text))
                reporter_.error(code::reserved_name, word.span,
                                fmt::format("'{}' is a word of the language.", word.text),
                                "Choose another name for the dimension.");
        }
}

bool Scope::has_dim(std::string_view name) const {
    return std::any_of(kernel_.dims.begin(), kernel_.dims.end(),
                       [&](const ir::Dim& dim) { return dim.name == name; });
}

void Scope::declare(const ast::Kernel& kernel) {
    // All dimensions first, since a tensor may not have the name of any of them.
    for (const ast::Tensor& t : kernel.params) declare_symbols(t.dims);
    declare_factored_dims(kernel.constraints);
    // `.as` and `.window` may introduce new names, which outputs can use.
    for (const ast::Expr& expr : kernel.body.exprs) {
        if (const auto* rename = std::get_if<ast::Rename>(&expr.node))
            declare_symbols(rename->dims);
        if (const auto* window = std::get_if<ast::Window>(&expr.node))
            for (const ast::Windowed& dim : window->dims) declare_symbols({dim.places});
    }
    // A statement that could not be parsed may have introduced a name too.
    const bool parsed = std::ranges::all_of(
        kernel.body.statements, [](const ast::Statement& s) { return s.value.has_value(); });
    if (!parsed)
        for (const ast::Tensor& t : kernel.outputs) declare_symbols(t.dims);
    for (const ast::Tensor& t : kernel.params) {
        const int before = reporter_.count();
        kernel_.params.push_back(tensor(t));
        Symbol symbol{.kind = Kind::param,
                      .span = t.name.span,
                      .position = kernel_.params.size() - 1,
                      .assigned = true,
                      .value = {}};
        symbol.broken = reporter_.count() != before;
        claim(t.name, symbol);
    }
    declare_multiples(kernel.constraints);
    for (const ast::Tensor& t : kernel.outputs) {
        const int before = reporter_.count();
        kernel_.outputs.push_back({tensor(t), {}});
        Symbol symbol{.kind = Kind::output,
                      .span = t.name.span,
                      .position = kernel_.outputs.size() - 1,
                      .used = true,
                      .value = {}};
        symbol.broken = reporter_.count() != before;
        claim(t.name, symbol);
    }
}

ir::Tensor Scope::tensor(const ast::Tensor& t) {
    ir::Tensor out{std::string(t.name.text), {}, t.span};
    out.type.dtype = dtype(t.dtype).value_or(DType::f32);
    if (t.dims.size() > kMaxRank)
        reporter_.error(code::rank, t.span,
                        fmt::format("'{}' has {} dimensions.", t.name.text, t.dims.size()),
                        fmt::format("A tensor has at most {} dimensions; merge some.", kMaxRank));
    for (std::size_t i = 0; i < std::min(t.dims.size(), kMaxRank); ++i) {
        const auto id = dim(t.dims[i]);
        if (!id) continue;
        auto& dims = out.type.dims;
        if (std::find(dims.begin(), dims.end(), *id) != dims.end())
            reporter_.error(
                code::repeated_dim, t.dims[i].span,
                fmt::format("'{}' has dimension {} twice.", t.name.text, kernel_[*id].name),
                fmt::format("Give one another name, and say that they are equal: `where F = {}`; "
                            "`x.as(M, F)` then renames the dimensions of x[M, {}].",
                            kernel_[*id].name, kernel_[*id].name));
        else
            dims.push_back(*id);
    }
    return out;
}

std::optional<DType> Scope::dtype(const ast::Word& word) {
    const auto found = dtype_from_name(word.text);
    if (!found) {
        std::vector<std::string> names;
        for (const auto& row : kDTypes)
            if (row.dtype != DType::f64) names.emplace_back(row.name);
        const std::string near = nearest(word.text, names);
        reporter_.error(code::unknown_type, word.span,
                        fmt::format("There is no element type '{}'.", word.text),
                        near.empty() ? fmt::format("Use one of {}.", fmt::join(names, ", "))
                                     : fmt::format("Did you mean '{}'?", near));
    } else if (*found == DType::f64) {
        reporter_.error(code::f64_type, word.span, "Kernels do not compute in f64.", "Use f32.");
    }
    return found;
}

std::optional<std::vector<ir::DimId>> Scope::dims(const ast::Dim& dim) {
    const auto id = this->dim(dim);
    return id ? std::optional(std::vector{*id}) : std::nullopt;
}

std::optional<ir::DimId> Scope::dim(const ast::Dim& dim) {
    const auto parts = factors(dim);
    return parts ? builder_.factored_dim(*parts, dim.span) : std::nullopt;
}

std::optional<std::vector<ir::DimId>> Scope::factors(const ast::Dim& dim) {
    if (dim.factors.size() > kMaxFactors) {
        reporter_.error(code::too_many_dims, dim.span,
                        fmt::format("The dimension has {} factors.", dim.factors.size()),
                        fmt::format("Use at most {}.", kMaxFactors));
        return std::nullopt;
    }
    std::vector<ir::DimId> factors;
    double constant = 1;
    for (const ast::Word& word : dim.factors) {
        const auto id = factor(word);
        if (!id) return std::nullopt;
        constant *= static_cast<double>(kernel_[*id].extent.value_or(1));
        factors.push_back(*id);
    }
    if (constant < 0x1p31) return factors;
    reporter_.error(code::dim_extent, dim.span, "The extent is too large.",
                    "Keep the product of the constant factors below 2147483648.");
    return std::nullopt;
}

std::optional<ir::DimId> Scope::factor(const ast::Word& word) {
    if (is_digits(word.text)) {
        if (const auto extent = extent_name(word.text)) return builder_.dim(*extent, word.span);
        reporter_.error(code::dim_extent, word.span,
                        fmt::format("{} is not an extent.", word.text.substr(0, 40)),
                        "Use a number from 1 to 2147483647.");
        return std::nullopt;
    }
    if (has_dim(word.text)) return builder_.dim(std::string(word.text), word.span);
    if (builder_.too_many_dims() || reporter_.full()) return std::nullopt;
    std::vector<std::string> names;
    for (const ir::Dim& d : kernel_.dims) names.push_back(d.name);
    const std::string near = nearest(word.text, names);
    reporter_.error(code::unknown_dim, word.span,
                    fmt::format("No parameter has a dimension '{}'.", word.text),
                    near.empty() ? "Use a dimension of a parameter, or a number."
                                 : fmt::format("Did you mean '{}'?", near));
    return std::nullopt;
}

bool Scope::claim(const ast::Word& word, Symbol symbol) {
    const auto complain = [&](code::Code code, std::string message) {
        reporter_.error(code, word.span, std::move(message), "Choose another name.");
        return false;
    };
    if (is_reserved(word.text))
        return complain(code::reserved_name,
                        fmt::format("'{}' is a word of the language.", word.text));
    if (has_dim(word.text))
        return complain(code::defined_twice,
                        fmt::format("'{}' already names a dimension.", word.text));
    if (!symbols_.emplace(word.text, symbol).second)
        return complain(
            code::defined_twice,
            fmt::format("'{}' is defined twice; a name is assigned only once.", word.text));
    order_.push_back(word.text);
    return true;
}

Value Scope::value(const ast::Word& word) {
    const auto found = symbols_.find(word.text);
    if (found == symbols_.end()) {
        if (reporter_.full()) return {};  // a suggestion costs time
        std::vector<std::string> names;
        for (auto name = order_.rbegin(); name != order_.rend(); ++name)
            if (symbols_.at(*name).assigned && names.size() < kMaxSuggestions)
                names.emplace_back(*name);
        std::sort(names.begin(), names.end());
        const std::string near = nearest(word.text, names);
        std::string fix = fmt::format("Did you mean '{}'?", near);
        if (has_dim(word.text))
            fix = fmt::format("It is a dimension; `index({})` gives coordinates along it.",
                              word.text);
        else if (is_function(word.text))
            fix = fmt::format("It is a function: write `{}(...)`.", word.text);
        else if (near.empty())
            fix = "Use a parameter, or a name defined on a line above.";
        reporter_.error(code::unknown_name, word.span,
                        fmt::format("The name '{}' is not known here.", word.text), fix);
        return {};
    }
    Symbol& symbol = found->second;
    if (!symbol.assigned) {
        reporter_.error(code::unknown_name, word.span,
                        fmt::format("The output '{}' has no value yet.", word.text),
                        "Assign it on a line above this one.");
        return {};
    }
    symbol.used = true;
    if (symbol.kind == Kind::param && !symbol.value && !symbol.broken) {
        const auto position = static_cast<std::uint32_t>(symbol.position);
        symbol.value = kernel_.add({ir::Param{position}, kernel_.params[symbol.position].type,
                                    std::string(word.text), symbol.span});
    }
    return symbol.value;
}

void Scope::define(const ast::Statement& statement, const std::vector<Value>& values, Span at) {
    const bool several = statement.targets.size() > 1;
    for (std::size_t i = 0; i < values.size(); ++i)
        define(statement.targets[i], values[i], at, several);
    // A parameter is in memory already, so marking it as stored means nothing.
    if (statement.stored && values[0] &&
        !std::holds_alternative<ir::Param>(kernel_[*values[0]].node))
        kernel_.exprs[ir::index(*values[0])].stored = true;
}

void Scope::define(const ast::Word& word, Value value, Span at, bool one_of_several) {
    const auto found = symbols_.find(word.text);
    if (found != symbols_.end() && found->second.kind == Kind::output && !found->second.assigned) {
        found->second.assigned = true;
        found->second.value = value;
        check_output(found->second, at);
    } else if (!claim(word, {.kind = Kind::value,
                             .span = word.span,
                             .assigned = true,
                             .used = one_of_several,
                             .value = value})) {
        return;
    }
    if (value && kernel_[*value].name.empty())
        kernel_.exprs[ir::index(*value)].name = std::string(word.text);
}

void Scope::check_output(const Symbol& symbol, Span at) {
    if (!symbol.value || symbol.broken) return;
    ir::Output& output = kernel_.outputs[symbol.position];
    output.value = *symbol.value;
    const ir::Type &value = kernel_[*symbol.value].type, &stored = output.tensor.type;
    const std::string want = ir::to_string(kernel_, stored.dims);
    if (value.dims != stored.dims) {
        reporter_.error(code::output_dims, at,
                        fmt::format("The output '{}' has dimensions {} but its value has {}.",
                                    output.tensor.name, want, ir::to_string(kernel_, value.dims)),
                        cure_of_output(kernel_, value.dims, stored.dims));
    } else if (!ir::stores_as(value.dtype, stored.dtype)) {
        reporter_.error(
            code::output_type, at,
            fmt::format("The output '{}' is {} but its value is {}.", output.tensor.name,
                        info(stored.dtype).name, info(value.dtype).name),
            fmt::format("Cast the value: `{}(...)`.", info(stored.dtype).name));
    }
}

// Warns about an unread parameter, unless no other parameter supplies one of its extents.
void Scope::warn_if_unneeded(const Symbol& symbol) {
    const ir::Tensor& own = kernel_.params[symbol.position];
    std::vector<bool> declared(kernel_.dims.size());
    for (const ir::Tensor& param : kernel_.params)
        for (const ir::DimId dim : param.type.dims)
            if (&param != &own) declared[ir::index(dim)] = true;
    const auto known = ir::known_dims(kernel_, std::move(declared));
    for (const ir::DimId dim : own.type.dims)
        if (!known[ir::index(dim)]) return;
    reporter_.warning(code::unused_param, symbol.span,
                      fmt::format("The parameter '{}' is never used.", own.name),
                      "Use it, or remove it.");
}

void Scope::finish(bool complete) {
    const bool clean = complete && reporter_.count() == errors_before_;
    for (const std::string_view name : order_) {
        const Symbol& symbol = symbols_.at(name);
        if (!symbol.assigned)
            reporter_.error(code::unassigned_output, symbol.span,
                            fmt::format("The output '{}' is never assigned.", name),
                            fmt::format("Add a line `{} = ...`.", name));
        else if (!symbol.used && clean && symbol.kind == Kind::param)
            warn_if_unneeded(symbol);
        else if (!symbol.used && clean)
            reporter_.error(code::unused_value, symbol.span,
                            fmt::format("The value '{}' is never used.", name),
                            "Use it or remove the line.");
    }
    if (!complete || reporter_.count() != errors_before_) return;
    const auto used = ir::used_dims(kernel_);
    for (const auto& [dim, span] : named_factored_dims_)  // an unused one may be misspelt
        if (!used[ir::index(dim)] && !is_in_factored_dim(kernel_, dim))
            reporter_.error(code::unused_value, span,
                            fmt::format("The dimension '{}' is never used.", kernel_[dim].name),
                            "Give it to a tensor, or remove it.");
}

}  // namespace fact::dsl
