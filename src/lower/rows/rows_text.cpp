#include "lower/rows/rows_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "ir/dims.h"
#include "ir/needed.h"
#include "lower/rows/record.h"
#include "support/result.h"

namespace fact::lower {

void RowsText::preamble(std::string_view header) {
    out_.line(fmt::format("#include \"common/{}.cuh\"", header));
    out_.line();
    out_.line("using namespace fact;");
    out_.line();
}

void RowsText::arguments(const std::vector<std::string>& more) {
    auto block = out_.block("struct Arguments", ";");
    const auto member = [&](const ir::Tensor& t, bool written) {
        out_.line(
            fmt::format("Tensor<{}{}, {}> {};", info(t.type.dtype).cuda, written ? "" : " const",
                        t.type.dims.size(), emit::identifier(t.name)),
            kernel_.line_of(t.span));
    };
    for (std::size_t i = 0; i < kernel_.params.size(); ++i)
        if (ir::is_read(kernel_, i)) member(kernel_.params[i], false);
    for (const ir::Output& o : kernel_.outputs) member(o.tensor, true);
    std::vector<std::string> numbers;
    for (const ir::DimId dim : extent_fields(kernel_, form_))
        numbers.push_back(emit::identifier(kernel_[dim].name));
    numbers.insert(numbers.end(), more.begin(), more.end());
    if (!numbers.empty()) out_.line(fmt::format("int {};", fmt::join(numbers, ", ")));
}

// The element type whose functions are accurate enough for every output.
std::string RowsText::function_type() const {
    // What is compared for equality may have been computed by another kernel, whose results are
    // f32.
    const auto is_computed = [&](ir::ExprId id) {
        return info(kernel_[id].type.dtype).floating &&
               !std::holds_alternative<ir::Literal>(kernel_[id].node);
    };
    for (const ir::ExprId id : form_.order)
        if (const auto* binary = std::get_if<ir::Binary>(&kernel_[id].node))
            if ((binary->op == ir::BinaryOp::eq || binary->op == ir::BinaryOp::ne) &&
                is_computed(binary->a) && is_computed(binary->b))
                return "float";
    DType type = DType::boolean;
    const auto accuracy = [](DType dtype) {
        return !info(dtype).floating ? 0 : dtype == DType::bf16 ? 1 : dtype == DType::f16 ? 2 : 3;
    };
    for (const ir::Output& output : kernel_.outputs)
        if (accuracy(output.tensor.type.dtype) > accuracy(type)) type = output.tensor.type.dtype;
    return accuracy(type) == 1 || accuracy(type) == 2 ? std::string(info(type).cuda) : "float";
}

std::string RowsText::extent(ir::DimId dim) const {
    std::string product;
    for (const ir::DimId factor : kernel_.factors({dim})) {
        if (!product.empty()) product += " * ";
        const ir::Dim& part = kernel_[factor];
        product +=
            part.extent ? std::to_string(*part.extent) : "args." + emit::identifier(part.name);
    }
    return product;
}

std::string RowsText::count(const Dims& dims, bool wide) const {
    std::string product;
    for (const ir::DimId dim : dims)
        product += product.empty()
                       ? fmt::format(fmt::runtime(wide ? "int64_t{{{}}}" : "{}"), extent(dim))
                       : fmt::format(" * {}", extent(dim));
    return product.empty() ? "1" : product;
}

void RowsText::name_coordinate(ExpressionText& text, ir::DimId dim) {
    std::string name = kernel_[dim].name;
    if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0]))) name = "c" + name;
    std::replace(name.begin(), name.end(), '*', '_');
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    // `Inputs` has members named after parameters: a coordinate must not hide one.
    const bool taken =
        std::any_of(kernel_.params.begin(), kernel_.params.end(), [&](const ir::Tensor& param) {
            return emit::identifier(param.name) == emit::identifier(name);
        });
    coordinates_[dim] = text.fresh(taken ? name + "_at" : name);
}

std::string RowsText::coordinate(ir::DimId dim, const Flips& flips) const {
    std::string text;
    for (const ir::DimId factor : kernel_.factors({dim})) {
        std::string at = coordinates_.at(factor);
        if (flips.contains(factor)) at = fmt::format("{} - {}", *kernel_[factor].extent - 1, at);
        if (text.empty()) {
            text = at;
            continue;
        }
        text = fmt::format("{} * {}", text.find(' ') == std::string::npos ? text : "(" + text + ")",
                           extent(factor));
        if (at != "0") text += " + " + at;
    }
    return text;
}

std::string RowsText::coordinates(const Dims& dims, const Flips& flips) const {
    std::string all;
    for (const ir::DimId dim : dims) all += (all.empty() ? "" : ", ") + coordinate(dim, flips);
    return all;
}

std::string RowsText::element(const ir::Tensor& tensor, const Flips& flips) const {
    return fmt::format("args.{}({})", emit::identifier(tensor.name),
                       coordinates(tensor.type.dims, flips));
}

std::string RowsText::flipped(const FlippedLeaf& leaf) const {
    const ir::Node& node = kernel_[leaf.leaf].node;
    if (const auto* index = std::get_if<ir::Index>(&node))
        return coordinate(index->dim, leaf.flips);
    return load(std::get<ir::Param>(node), leaf.flips);
}

std::string RowsText::windowed(ExpressionText& text, const ir::Window& window,
                               std::uint32_t param) {
    const auto outer = coordinates_;
    std::string inside;
    for (const ir::DimId places : window.places) {
        const ir::WindowRule& rule = *kernel_[places].window;
        const auto times = [](const std::string& at, std::int64_t factor) {
            return factor == 1 ? at : fmt::format("{} * {}", at, factor);
        };
        std::string at = times(coordinate(places), rule.stride);
        const std::string tap = times(coordinate(rule.taps), rule.dilation);
        if (tap != "0") at += " + " + tap;
        if (rule.before != 0)
            at += fmt::format(" {} {}", rule.before > 0 ? '-' : '+', std::abs(rule.before));
        name_coordinate(text, rule.of);
        const std::string name = coordinates_[rule.of];
        out_.line(fmt::format("int const {} = {};", name, at));
        const Dims& factors = kernel_[rule.of].factors;
        for (const ir::DimId factor : factors) name_coordinate(text, factor);
        if (!factors.empty()) decompose(name, factors, false);
        if (rule.before > 0 || rule.after > 0)
            inside += fmt::format("{}inside({}, {})", inside.empty() ? "" : " && ", name,
                                  extent(rule.of));
    }
    std::string value = load({param}, {});
    coordinates_ = outer;
    if (inside.empty()) return value;
    if (!known_inside_.empty())
        inside = window.places.size() == 1 ? fmt::format("{} || {}", known_inside_, inside)
                                           : fmt::format("{} || ({})", known_inside_, inside);
    const bool floating = info(kernel_.params[param].type.dtype).floating;
    return fmt::format("{} ? {} : {}", inside, value,
                       floating ? emit::float_literal(window.outside)
                                : fmt::format("{}", static_cast<long>(window.outside)));
}

std::string RowsText::all_inside(const ir::Window& window) const {
    std::string all;
    for (const ir::DimId places : window.places) {
        const ir::WindowRule& rule = *kernel_[places].window;
        const auto taps = kernel_[rule.taps].extent;
        if (contains_row({places}) || !taps || !contains_row({rule.taps})) return "";
        const auto tap_is_inside = [&](std::int64_t shift) {
            std::string at = coordinate(places);
            if (rule.stride != 1) at += fmt::format(" * {}", rule.stride);
            if (shift != 0) at += fmt::format(" {} {}", shift < 0 ? '-' : '+', std::abs(shift));
            all += fmt::format("{}inside({}, {})", all.empty() ? "" : " && ", at, extent(rule.of));
        };
        if (rule.before > 0) tap_is_inside(-rule.before);
        if (rule.after > 0) tap_is_inside((*taps - 1) * rule.dilation - rule.before);
    }
    return all;
}

void RowsText::decompose(const std::string& number, const Dims& dims, bool wide,
                         const Dims* needed) {
    std::string divisor;
    for (std::size_t i = dims.size(); i-- > 0;) {
        std::string at = divisor.empty() ? number : fmt::format("{} / {}", number, divisor);
        if (i > 0) at = fmt::format("{} % {}", at, extent(dims[i]));
        if (wide) at = fmt::format("static_cast<int>({})", at);
        if (!needed || contains(*needed, dims[i]))
            out_.line(fmt::format("int const {} = {};", coordinates_[dims[i]], at));
        divisor = i + 1 == dims.size()
                      ? extent(dims[i])
                      : fmt::format("({})",
                                    count({dims.begin() + static_cast<long>(i), dims.end()}, wide));
    }
}

bool RowsText::contains_row(const Dims& dims) const {
    const Dims all = kernel_.factors(dims);
    return std::any_of(form_.over.begin(), form_.over.end(),
                       [&](ir::DimId dim) { return contains(all, dim); });
}

void RowsText::declare(ExpressionText& text, ir::ExprId root, bool inside) {
    const auto needed = ir::needed_for(kernel_, {root}, [&](ir::ExprId id) {
        return text.has(id) || flipped_leaf(kernel_, id) || windowed_param(kernel_, id);
    });
    for (std::size_t i = 0; i < needed.size(); ++i) {
        const auto id = static_cast<ir::ExprId>(i);
        if (!needed[i] || text.has(id) || varies(id) != inside) continue;
        const ir::Node& node = kernel_[id].node;
        if (const auto* param = std::get_if<ir::Param>(&node))
            text.declare(out_, id, load(*param, {}));
        else if (const auto windows = windowed_param(kernel_, id))
            text.declare(out_, id, windowed(text, std::get<ir::Window>(node), *windows));
        else if (const auto leaf = flipped_leaf(kernel_, id))
            text.declare(out_, id, flipped(*leaf));
        else if (const auto* expand = std::get_if<ir::Expand>(&node))
            text.set(id, text.use(expand->x));
        else if (const auto* view = std::get_if<ir::View>(&node))
            text.set(id, text.use(view->x));
        else if (const std::string own = own_text(text, id); !own.empty())
            text.declare(out_, id, own);
        else
            text.declare(out_, id);
    }
}

void RowsText::return_reduced(const ExpressionText& text, ir::ExprId reduction, ir::ExprId x) {
    const bool floating = info(kernel_[reduction].type.dtype).floating;
    out_.line(fmt::format("return {}{};", text.use(x),
                          floating ? "" : " + 0"),  // a bool counts as an int
              kernel_.line_of(kernel_[reduction].span));
}

void RowsText::write_value(const ExpressionText& text, const ir::Output& output) {
    out_.line(fmt::format("{} = narrow<{}>({});", element(output.tensor),
                          info(output.tensor.type.dtype).cuda, text.use(output.value)),
              kernel_.line_of(kernel_[output.value].span));
}

}  // namespace fact::lower
