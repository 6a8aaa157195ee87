#include "lower/rows/columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dims.h"
#include "ir/needed.h"
#include "ir/reorderings.h"
#include "lower/record/extent_terms.h"
#include "lower/rows/record.h"
#include "lower/rows/rows_text.h"

namespace fact::lower {

namespace {

constexpr int kColumnThreads = 128;  // as in columns.cuh

class ColumnsWriter : RowsText {
  public:
    ColumnsWriter(const ir::Kernel& kernel, const ColumnsForm& form)
        : RowsText(kernel, form.dims), columns_(form) {}

    std::string write() {
        preamble("columns");
        arguments();
        out_.line();
        entry();
        return out_.text();
    }

  private:
    void entry() {
        for (const char* word : {"args", "row", "at", "F", "Rows", "neighbours", "i"})
            text_.reserve(word);
        for (const ir::DimId dim : form_.rows) name_coordinate(text_, dim);
        for (const ir::DimId dim : form_.over) name_coordinate(text_, dim);

        out_.line("extern \"C\" __global__ void __launch_bounds__(kColumnThreads)");
        auto body = out_.block(
            fmt::format("{}_kernel(__grid_constant__ Arguments const args)", kernel_.name));
        out_.line(fmt::format("using F = Functions<{}>;", function_type()));
        out_.line(fmt::format("using Rows = Columns<{}>;", columns_.neighbours));
        auto loop = out_.block(
            fmt::format("Rows::each_row({}, [&](int row)", count(form_.rows, false)), ");");
        decompose("row", form_.rows, false);
        if (columns_.held)
            for (const ir::ExprId id : form_.order)
                if (is_held_param(kernel_, form_, id)) hold_param(id);
        for (const ir::ExprId id : form_.order)
            if (const auto* reduce = std::get_if<ir::Reduce>(&kernel_[id].node))
                reduction(id, *reduce);
        store();
    }

    std::string load(const ir::Param& param, const Flips& flips) const override {
        return fmt::format("widen({})", element(kernel_.params[param.index], flips));
    }

    // The text that reads a parameter for all rows of the thread.
    std::string read_together(const ir::Tensor& tensor) const {
        return fmt::format("neighbours<{}>({})", columns_.neighbours, element(tensor));
    }
    std::string position() const {
        return form_.over.size() > 1 ? "at" : coordinates_.at(form_.over.front());
    }
    // The head of a lambda over the elements of a row.
    std::string lambda() const { return fmt::format("[&](int {})", position()); }
    // Declares the coordinates along the row that these values are read at.
    void position_in_row(const Dims& dims) {
        const Dims needed = kernel_.factors(dims);
        if (form_.over.size() > 1) decompose("at", form_.over, false, &needed);
    }
    void position_in_row(const ExpressionText& text, ir::ExprId root) {
        Dims dims;
        const auto needed =
            ir::needed_for(kernel_, {root}, [&](ir::ExprId id) { return text.has(id); });
        for (const ir::ExprId id : form_.order) {
            const ir::Node& node = kernel_[id].node;
            const bool reads =
                std::holds_alternative<ir::Param>(node) || std::holds_alternative<ir::Index>(node);
            if (!reads || !needed[ir::index(id)] || text.has(id)) continue;
            const Dims& own = kernel_[id].type.dims;
            dims.insert(dims.end(), own.begin(), own.end());
        }
        position_in_row(dims);
    }

    void hold_param(ir::ExprId id) {
        const ir::Tensor& tensor = kernel_.params[std::get<ir::Param>(kernel_[id].node).index];
        const std::string name = text_.fresh(tensor.name);
        auto body = out_.block(
            fmt::format("auto const {} = Rows::hold<{}>({}", name, columns_.length, lambda()), ");",
            kernel_.line_of(kernel_[id].span));
        position_in_row(tensor.type.dims);
        out_.line(fmt::format("return {};", read_together(tensor)));
        text_.set(id, fmt::format("{}({})[i]", name, position()));
    }

    // Declares what `root` is computed from and other passes over the row need, too.
    void hold_values(ir::ExprId root) {
        const auto needed = needed_by(root, [&](ir::ExprId id) { return !varies(id); });
        for (const ir::ExprId id : form_.order) {
            if (!columns_.in_registers.contains(id) || text_.has(id) || !needed[ir::index(id)])
                continue;
            row_values(id);
            const std::string name = text_.fresh(kernel_[id].name);
            {
                auto body = out_.block(fmt::format("auto const {} = Rows::hold<{}>({}", name,
                                                   columns_.length, lambda()),
                                       ");", kernel_.line_of(kernel_[id].span));
                return_values(id);
            }
            text_.set(id, fmt::format("{}({})[i]", name, position()));
        }
    }

    template <class IsAvailable>
    std::vector<bool> needed_by(ir::ExprId root, IsAvailable available) const {
        return ir::needed_for(kernel_, {root},
                              [&](ir::ExprId id) { return text_.has(id) || available(id); });
    }

    // Declares what `root`, which varies along the row, needs and does not.
    void row_values(ir::ExprId root) {
        const auto needed = needed_by(root, [&](ir::ExprId id) { return !varies(id); });
        for (const ir::ExprId id : form_.order) {
            const ir::Node& node = kernel_[id].node;
            if (!needed[ir::index(id)] || varies(id) || text_.has(id) ||
                std::holds_alternative<ir::Literal>(node) ||
                std::holds_alternative<ir::Extent>(node))
                continue;
            read_params(text_, id);
            if (text_.has(id)) continue;
            const std::string name = text_.fresh(kernel_[id].name);
            {
                ExpressionText inside = text_;
                values_of(inside, id, fmt::format("auto const {} = ", name), false);
            }
            text_.set(id, name + "[i]");
        }
        for (const ir::ExprId id : form_.order)
            if (needed[ir::index(id)] && varies(id)) divisor_of(id);
    }

    // What a quotient along the row is divided by, if that is one number for the row.
    std::optional<ir::ExprId> row_divisor(ir::ExprId id) const {
        const auto* binary = std::get_if<ir::Binary>(&kernel_[id].node);
        if (!binary || binary->op != ir::BinaryOp::div || function_type() != "float")
            return std::nullopt;
        ir::ExprId by = ir::behind_reorderings(kernel_, binary->b);
        while (const auto* expand = std::get_if<ir::Expand>(&kernel_[by].node))
            by = ir::behind_reorderings(kernel_, expand->x);
        if (varies(by) || std::holds_alternative<ir::Literal>(kernel_[by].node))
            return std::nullopt;
        return by;
    }
    void divisor_of(ir::ExprId id) {
        const auto by = row_divisor(id);
        if (!by || divisors_.contains(*by)) return;
        if (!text_.has(*by)) text_.declare(out_, *by);
        const std::string name = text_.fresh("divisor");
        const bool floating = info(kernel_[*by].type.dtype).floating;
        out_.line(fmt::format(
            "auto const {} = Rows::values([&](int i) {{ return Divisor({}); }});", name,
            fmt::format(fmt::runtime(floating ? "{}" : "static_cast<float>({})"), text_.use(*by))));
        divisors_[*by] = name + "[i]";
    }
    std::string own_text(const ExpressionText& text, ir::ExprId id) const override {
        const auto by = row_divisor(id);
        const auto divisor = by ? divisors_.find(*by) : divisors_.end();
        const auto* binary = std::get_if<ir::Binary>(&kernel_[id].node);
        if (divisor == divisors_.end() || !info(kernel_[binary->a].type.dtype).floating) return "";
        return fmt::format("F::divide({}, {})", text.use(binary->a), divisor->second);
    }

    // Reads the parameters that `root` needs here, each once for all rows of the thread. One that
    // has rows elsewhere in memory is read where it is used.
    void read_params(ExpressionText& text, ir::ExprId root) {
        const auto needed =
            ir::needed_for(kernel_, {root}, [&](ir::ExprId id) { return text.has(id); });
        for (const ir::ExprId id : form_.order) {
            const auto* param = std::get_if<ir::Param>(&kernel_[id].node);
            if (!param || !needed[ir::index(id)] || text.has(id)) continue;
            const ir::Tensor& tensor = kernel_.params[param->index];
            const bool has_rows =
                ir::contains(kernel_.factors(tensor.type.dims), form_.rows.back());
            if (!has_rows) {
                text.declare(out_, id, load(*param, {}));
            } else if (is_side_by_side(kernel_, form_, tensor)) {
                const std::string name = text.fresh(tensor.name);
                out_.line(fmt::format("auto const {} = {};", name, read_together(tensor)),
                          kernel_.line_of(tensor.span));
                text.set(id, name + "[i]");
            }
        }
    }

    // Computes `root` for all rows of the thread, after `begin`.
    void values_of(ExpressionText& text, ir::ExprId root, const std::string& begin, bool inside,
                   std::string_view function = "Rows::values(", std::string_view end = ");") {
        const bool is_bool = kernel_[root].type.dtype == DType::boolean;
        const std::string sum = is_bool && counts_ ? " + 0" : "";
        if (text.has(root)) {
            out_.line(fmt::format("{}{}[&](int i) {{ return {}{}; }}{}", begin, function,
                                  text.use(root), sum, end),
                      kernel_.line_of(kernel_[root].span));
            return;
        }
        const ir::DimId last = form_.rows.back();
        const std::string first = coordinates_.at(last);
        auto body = out_.block(fmt::format("{}{}[&](int i)", begin, function), std::string(end),
                               kernel_.line_of(kernel_[root].span));
        if (columns_.neighbours > 1) coordinates_[last] = fmt::format("({} + i)", first);
        if (inside) declare(text, root, false);
        declare(text, root, inside);
        coordinates_[last] = first;
        out_.line(fmt::format("return {}{};", text.use(root), sum));
    }

    // The body of a lambda over the row: what `root` is there.
    void return_values(ir::ExprId root) {
        ExpressionText inside = text_;
        position_in_row(inside, root);
        read_params(inside, root);
        values_of(inside, root, "return ", true);
    }

    void reduction(ir::ExprId id, const ir::Reduce& reduce) {
        if (columns_.held) hold_values(reduce.x);
        row_values(reduce.x);
        const std::string name = text_.fresh(kernel_[id].name);
        {
            auto body =
                out_.block(fmt::format("auto const {} = Rows::reduce{}<{}, {}>({}", name,
                                       columns_.held ? "_held" : "",
                                       ir::info(reduce.op).kernels_name, columns_.length, lambda()),
                           ");", kernel_.line_of(kernel_[id].span));
            counts_ = true;  // a bool counts as an int
            return_values(reduce.x);
            counts_ = false;
        }
        text_.set(id, name + "[i]");
    }

    // First the outputs with one value per row, then those with one per element.
    void store() {
        for (const ir::Output& output : kernel_.outputs) {
            if (in_row(output)) continue;
            read_params(text_, output.value);
            store(output);
        }
        if (std::ranges::none_of(kernel_.outputs, [&](const auto& o) { return in_row(o); })) return;
        for (const ir::Output& output : kernel_.outputs) {
            if (!in_row(output)) continue;
            hold_values(output.value);
            row_values(output.value);
        }
        for (const ir::Output& output : kernel_.outputs)
            if (in_row(output)) write_row(output);
    }

    void write_row(const ir::Output& output) {
        const std::string to = text_.fresh("to");
        {
            auto body = out_.block(fmt::format("auto const {} = {} -> auto&", to, lambda()), ";");
            position_in_row(output.tensor.type.dims);
            out_.line(fmt::format("return {};", element(output.tensor)));
        }
        auto body =
            out_.block(fmt::format("Rows::write<{}>({}, {}", columns_.length, to, lambda()), ");");
        return_values(output.value);
    }

    void store(const ir::Output& output) {
        ExpressionText inside = text_;
        values_of(inside, output.value, "", false,
                  fmt::format("Rows::store({}, ", element(output.tensor)));
    }

    const ColumnsForm& columns_;
    std::map<ir::ExprId, std::string> divisors_;  // of rows, by what they divide by
    bool counts_ = false;                         // whether values are reduced
};

}  // namespace

std::string columns_source(const ir::Kernel& kernel, const ColumnsForm& form) {
    return ColumnsWriter(kernel, form).write();
}

LaunchRecord columns_record(const ir::Kernel& kernel, const ColumnsForm& form,
                            std::string_view arch) {
    const std::string schedule =
        form.neighbours == 1 ? "a thread a row" : fmt::format("a thread {} rows", form.neighbours);
    LaunchRecord record = element_record(kernel, form.dims, arch, schedule);
    if (form.neighbours > 1)
        for (std::size_t i = 0; i < kernel.params.size() + kernel.outputs.size(); ++i) {
            const bool is_param = i < kernel.params.size();
            const ir::Tensor& tensor =
                is_param ? kernel.params[i] : kernel.outputs[i - kernel.params.size()].tensor;
            if ((!is_param || ir::is_read(kernel, i)) && is_side_by_side(kernel, form.dims, tensor))
                record.alignments.push_back(
                    {static_cast<int>(i), columns_access(tensor, form.neighbours), 1});
        }
    record.counts.push_back(extent_of(kernel, form.dims.rows));
    Launch& launch = record.launches.front();
    launch.grid =
        LinearGrid{extent_of(kernel, form.dims.rows), kColumnThreads * form.neighbours, kWaves};
    launch.block = kColumnThreads;
    return record;
}

}  // namespace fact::lower
