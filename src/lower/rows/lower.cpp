#include "lower/rows/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/extents.h"
#include "lower/pointwise/expression.h"
#include "lower/rows/record.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

namespace {

using Dims = std::vector<ir::DimId>;

class SourceWriter {
  public:
    SourceWriter(const ir::Kernel& kernel, const RowsForm& form)
        : kernel_(kernel),
          form_(form),
          text_(
              kernel, [this](ir::DimId dim) { return coordinate(dim); },
              [this](ir::DimId dim) { return extent(dim); }) {}

    std::string write() {
        out_.line("#include \"common/rows.cuh\"");
        out_.line();
        out_.line("using namespace fact;");
        out_.line();
        arguments();
        out_.line();
        entry();
        return out_.text();
    }

  private:
    void arguments() {
        auto block = out_.block("struct Arguments", ";");
        const auto member = [&](const ir::Tensor& t, bool written) {
            out_.line(
                fmt::format("Tensor<{}{}, {}> {};", info(t.type.dtype).cuda,
                            written ? "" : " const", t.type.dims.size(), emit::identifier(t.name)),
                kernel_.line_of(t.span));
        };
        for (std::size_t i = 0; i < kernel_.params.size(); ++i)
            if (ir::is_read(kernel_, i)) member(kernel_.params[i], false);
        for (const ir::Output& o : kernel_.outputs) member(o.tensor, true);
        std::vector<std::string> extents;
        for (const ir::DimId dim : extent_fields(kernel_, form_))
            extents.push_back(emit::identifier(kernel_[dim].name));
        if (!extents.empty()) out_.line(fmt::format("int {};", fmt::join(extents, ", ")));
    }

    void entry() {
        for (const char* word : {"args", "row", "rows", "at", "F", "Row"}) text_.reserve(word);
        for (const ir::DimId dim : form_.rows) coordinates_[dim] = coordinate_name(dim);
        for (const ir::DimId dim : form_.over) coordinates_[dim] = coordinate_name(dim);

        out_.line("extern \"C\" __global__ void __launch_bounds__(kRowThreads)");
        auto body = out_.block(
            fmt::format("{}_kernel(__grid_constant__ Arguments const args)", kernel_.name));
        out_.line(fmt::format("using F = Functions<{}>;", function_type()));
        out_.line(fmt::format("using Row = {};", row_shape(kernel_, form_).type));
        out_.line(fmt::format("int64_t const rows = {};", count(form_.rows)));
        auto loop = out_.block(
            "for (int64_t row = Row::first(); row < rows; row += int64_t{gridDim.x} * Row::kRows)");
        decompose("row", form_.rows);
        for (const ir::ExprId id : form_.order)
            if (const auto* reduce = std::get_if<ir::Reduce>(&kernel_[id].node))
                reduction(id, *reduce);
        store();
    }

    std::string function_type() const {
        const DType dtype = kernel_.outputs.front().tensor.type.dtype;
        return info(dtype).floating ? std::string(info(dtype).cuda) : "float";
    }

    std::string coordinate_name(ir::DimId dim) {
        std::string name = kernel_[dim].name;
        if (kernel_[dim].extent) name = "c" + name;
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return text_.fresh(name);
    }

    std::string extent(ir::DimId dim) const {
        std::string product;
        for (const ir::DimId factor : kernel_.factors({dim})) {
            if (!product.empty()) product += " * ";
            const ir::Dim& one = kernel_[factor];
            product +=
                one.extent ? std::to_string(*one.extent) : "args." + emit::identifier(one.name);
        }
        return product;
    }

    std::string count(const Dims& dims) const {
        std::string product;
        for (const ir::DimId dim : dims)
            product += product.empty() ? fmt::format("int64_t{{{}}}", extent(dim))
                                       : fmt::format(" * {}", extent(dim));
        return product.empty() ? "1" : product;
    }

    // A product of dimensions is walked by its factors.
    std::string coordinate(ir::DimId dim) const {
        std::string text;
        for (const ir::DimId factor : kernel_.factors({dim})) {
            const std::string& at = coordinates_.at(factor);
            if (text.empty())
                text = at;
            else
                text = fmt::format("{} * {} + {}",
                                   text.find(' ') == std::string::npos ? text : "(" + text + ")",
                                   extent(factor), at);
        }
        return text;
    }

    // The coordinates along `dims` from one number, the last of them running fastest.
    void decompose(const std::string& number, const Dims& dims) {
        std::string divisor;
        for (std::size_t i = dims.size(); i-- > 0;) {
            std::string at = divisor.empty() ? number : fmt::format("{} / {}", number, divisor);
            if (i > 0) at = fmt::format("{} % {}", at, extent(dims[i]));
            out_.line(
                fmt::format("int const {} = static_cast<int>({});", coordinates_[dims[i]], at));
            divisor = i + 1 == dims.size()
                          ? extent(dims[i])
                          : fmt::format("({})", count({dims.begin() + i, dims.end()}));
        }
    }

    bool varies(ir::ExprId id) const {
        const Dims dims = kernel_.factors(kernel_[id].type.dims);
        return std::any_of(form_.over.begin(), form_.over.end(), [&](ir::DimId dim) {
            return std::find(dims.begin(), dims.end(), dim) != dims.end();
        });
    }

    std::string load(const ir::Param& param) const {
        const ir::Tensor& tensor = kernel_.params[param.index];
        std::string at;
        for (const ir::DimId dim : tensor.type.dims)
            at += (at.empty() ? "" : ", ") + coordinate(dim);
        return fmt::format("widen(args.{}({}))", emit::identifier(tensor.name), at);
    }

    // Declares what `root` needs: of a whole row (`inside` false), or of a place in it.
    void declare(ExpressionText& text, ir::ExprId root, bool inside) {
        std::vector<bool> needed(kernel_.exprs.size());
        needed[ir::index(root)] = true;
        for (std::size_t i = ir::index(root) + 1; i-- > 0;) {
            if (!needed[i] || text.has(static_cast<ir::ExprId>(i))) continue;
            ir::for_each_operand(kernel_.exprs[i].node,
                                 [&](ir::ExprId x) { needed[ir::index(x)] = true; });
        }
        for (std::size_t i = 0; i <= ir::index(root); ++i) {
            const auto id = static_cast<ir::ExprId>(i);
            if (!needed[i] || text.has(id) || varies(id) != inside) continue;
            const ir::Node& node = kernel_[id].node;
            if (const auto* param = std::get_if<ir::Param>(&node))
                text.declare(out_, id, load(*param));
            else if (const auto* view = std::get_if<ir::View>(&node))
                text.set(id, text.use(view->x));
            else
                text.declare(out_, id);
        }
    }

    // Opens the lambda over a row; its scope knows what was declared for the row.
    std::string lambda() const {
        return form_.over.size() == 1
                   ? fmt::format("[&](int {})", coordinates_.at(form_.over.front()))
                   : "[&](int64_t at)";
    }

    void reduction(ir::ExprId id, const ir::Reduce& reduce) {
        constexpr std::string_view kNames[] = {"Sum", "Max", "Min"};
        declare(text_, reduce.x, false);
        const std::string name = text_.fresh(kernel_[id].name);
        {
            auto body = out_.block(fmt::format("auto const {} = Row::reduce<{}>({}, {}", name,
                                               kNames[static_cast<std::size_t>(reduce.op)],
                                               count(form_.over), lambda()),
                                   ");", kernel_.line_of(kernel_[id].span));
            ExpressionText inside = text_;
            if (form_.over.size() > 1) decompose("at", form_.over);
            declare(inside, reduce.x, true);
            const bool floating = info(kernel_[id].type.dtype).floating;
            out_.line(fmt::format("return {}{};", inside.use(reduce.x),
                                  floating ? "" : " + 0"),  // a bool counts as an int
                      kernel_.line_of(kernel_[id].span));
        }
        text_.set(id, name);
    }

    void store() {
        bool along = false;
        for (const ir::Output& output : kernel_.outputs) {
            declare(text_, output.value, false);
            along |= in_row(output);
        }
        if (form_.over.empty()) {
            for (const ir::Output& output : kernel_.outputs) write_value(text_, output);
            return;
        }
        for (const bool inside : {false, true}) {
            if (inside ? !along
                       : std::all_of(kernel_.outputs.begin(), kernel_.outputs.end(),
                                     [&](const ir::Output& o) { return in_row(o); }))
                continue;
            auto body =
                out_.block(inside ? fmt::format("Row::each({}, {}", count(form_.over), lambda())
                                  : "Row::once([&]",
                           ");");
            ExpressionText text = text_;
            if (inside && form_.over.size() > 1) decompose("at", form_.over);
            for (const ir::Output& output : kernel_.outputs)
                if (in_row(output) == inside) {
                    if (inside) declare(text, output.value, true);
                    write_value(text, output);
                }
        }
    }

    bool in_row(const ir::Output& output) const {
        const Dims dims = kernel_.factors(output.tensor.type.dims);
        return std::any_of(form_.over.begin(), form_.over.end(), [&](ir::DimId dim) {
            return std::find(dims.begin(), dims.end(), dim) != dims.end();
        });
    }

    void write_value(const ExpressionText& text, const ir::Output& output) {
        std::string at;
        for (const ir::DimId dim : output.tensor.type.dims)
            at += (at.empty() ? "" : ", ") + coordinate(dim);
        out_.line(fmt::format("args.{}({}) = narrow<{}>({});", emit::identifier(output.tensor.name),
                              at, info(output.tensor.type.dtype).cuda, text.use(output.value)),
                  kernel_.line_of(kernel_[output.value].span));
    }

    const ir::Kernel& kernel_;
    const RowsForm& form_;
    ExpressionText text_;
    std::map<ir::DimId, std::string> coordinates_;
    emit::CodeWriter out_;
};

}  // namespace

Result<Lowered> lower_rows(const ir::Kernel& kernel, std::string_view arch) {
    const auto form = rows_form(kernel);
    if (!form) return form.error();
    return Lowered{SourceWriter(kernel, *form).write(), rows_record(kernel, *form, arch)};
}

}  // namespace fact::lower
