// Emits row kernels that read memory element by element, once per reduction: for rows of any length
// and layout (element_rows_source() of source.h).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/needed.h"
#include "lower/rows/record.h"
#include "lower/rows/register_values.h"
#include "lower/rows/rows_text.h"
#include "lower/rows/source.h"

namespace fact::lower {

namespace {

class ElementWriter : RowsText {
  public:
    ElementWriter(const ir::Kernel& kernel, const RowsForm& form)
        : RowsText(kernel, form), held_(held_length(kernel, form)) {
        if (held_ > 0) in_registers_ = values_in_registers(kernel, form);
    }

    std::string write() {
        preamble(form_.scan ? "scan" : "rows");
        arguments();
        out_.line();
        entry();
        return out_.text();
    }

  private:
    void entry() {
        for (const char* word : {"args", "row", "at", "F", "Row", "value", "store"})
            text_.reserve(word);
        for (const ir::DimId dim : form_.rows) name_coordinate(text_, dim);
        for (const ir::DimId dim : form_.over) name_coordinate(text_, dim);

        const RowShape shape = row_shape(kernel_, form_);
        const bool loads_ahead = shape.type == "ColumnRow" && held_ == 0;
        out_.line(fmt::format("extern \"C\" __global__ void __launch_bounds__(kRowThreads{})",
                              loads_ahead ? ", ColumnRow::kBlocks" : ""));
        auto body = out_.block(
            fmt::format("{}_kernel(__grid_constant__ Arguments const args)", kernel_.name));
        out_.line(fmt::format("using F = Functions<{}>;", function_type()));
        out_.line(fmt::format("using Row = {};", shape.type));
        const bool wide = !form_.narrow;
        auto loop = out_.block(fmt::format("Row::each_row({}, [&]({} row)", count(form_.rows, wide),
                                           wide ? "int64_t" : "int"),
                               ");");
        decompose("row", form_.rows, wide);
        if (held_ > 0) hold_params();
        for (const ir::ExprId id : form_.order)
            if (const auto* reduce = std::get_if<ir::Reduce>(&kernel_[id].node))
                reduction(id, *reduce);
        store();
    }

    // Declares what the thread holds of tensors that differ from row to row.
    void hold_params() {
        for (const ir::ExprId id : form_.order)
            if (is_held_param(kernel_, form_, id)) hold(id);
    }

    // Declares what `root` is computed from and other passes over the row need, too.
    void hold_values(ir::ExprId root) {
        const auto needed = ir::needed_for(
            kernel_, {root}, [&](ir::ExprId id) { return !varies(id) || text_.has(id); });
        for (const ir::ExprId id : form_.order)
            if (in_registers_.contains(id) && !text_.has(id) && needed[ir::index(id)]) {
                declare(text_, id, false);
                hold(id);
            }
    }

    void hold(ir::ExprId id) {
        const auto* param = std::get_if<ir::Param>(&kernel_[id].node);
        const std::string name =
            text_.fresh(param ? kernel_.params[param->index].name : kernel_[id].name);
        {
            auto body =
                out_.block(fmt::format("auto const {} = Row::hold<{}>({}", name, held_, lambda()),
                           ");", kernel_.line_of(kernel_[id].span));
            ExpressionText inside = text_;
            if (form_.over.size() > 1) decompose("at", form_.over, false);
            if (!param) declare(inside, id, true);
            out_.line(fmt::format("return {};", param ? load(*param, {}) : inside.use(id)));
        }
        text_.set(id,
                  fmt::format("{}({})", name,
                              form_.over.size() > 1 ? "at" : coordinates_.at(form_.over.front())));
    }

    std::string load(const ir::Param& param, const Flips& flips) const override {
        return fmt::format("widen({})", element(kernel_.params[param.index], flips));
    }

    // The head of a lambda over the elements of a row.
    std::string lambda() const {
        return form_.over.size() == 1
                   ? fmt::format("[&](int {})", coordinates_.at(form_.over.front()))
               : unrolled() > 0 ? "[&](int at)"
                                : "[&](int64_t at)";
    }

    // How many elements of a row are taken in straight-line code; 0 for a loop.
    std::int64_t unrolled() const {
        if (held_ > 0) return held_;
        if (row_shape(kernel_, form_).type != "ThreadRow") return 0;
        std::int64_t length = 1;
        for (const ir::DimId dim : form_.over) length *= kernel_[dim].extent.value_or(0);
        return length;
    }

    void reduction(ir::ExprId id, const ir::Reduce& reduce) {
        declare(text_, reduce.x, false);
        hold_values(reduce.x);
        const std::string name = text_.fresh(kernel_[id].name);
        const std::string op(ir::info(reduce.op).kernels_name);
        const std::int64_t length = unrolled();
        const std::string call =
            length == 0 ? fmt::format("Row::reduce<{}>({}, {}", op, count(form_.over), lambda())
                        : fmt::format("Row::reduce<{}, {}>({}", op, length, lambda());
        const std::string line = kernel_.line_of(kernel_[id].span), declared = "auto const " + name;
        const auto reduced = [&](const std::string& begin) {
            auto body = out_.block(begin + " " + call, ");", line);
            ExpressionText inside = text_;
            if (form_.over.size() > 1) decompose("at", form_.over, length == 0);
            declare(inside, reduce.x, true);
            return_reduced(inside, id, reduce.x);
        };
        if (const std::string test = length > 1 ? windows_inside(reduce.x) : ""; !test.empty()) {
            const std::string all = text_.fresh("all_inside");
            out_.line(fmt::format("bool const {} = {};", all, test));
            known_inside_ = text_.fresh("known");
            auto cases = out_.block(
                fmt::format("{} = by_case({}, [&](auto {})", declared, all, known_inside_), ");");
            reduced("return");
            known_inside_.clear();
        } else {
            reduced(declared + " =");
        }
        text_.set(id, name);
    }

    // RowsText::all_inside of all windows that `root` is computed from, in straight-line code.
    std::string windows_inside(ir::ExprId root) const {
        if (held_ > 0) return "";
        const auto needed = ir::needed_for(kernel_, {root}, [&](ir::ExprId id) {
            return text_.has(id) || windowed_param(kernel_, id).has_value();
        });
        std::string all;
        for (std::size_t i = 0; i < needed.size(); ++i) {
            const auto* window = std::get_if<ir::Window>(&kernel_.exprs[i].node);
            if (!needed[i] || !window || text_.has(static_cast<ir::ExprId>(i))) continue;
            const std::string one = all_inside(*window);
            if (one.empty()) return "";
            if (!all.empty()) all += " && ";
            all += one;
        }
        return all;
    }

    void store() {
        bool any_in_row = false;
        for (const ir::Output& output : kernel_.outputs) {
            declare(text_, output.value, false);
            if (in_row(output)) hold_values(output.value);
            any_in_row |= in_row(output);
        }
        if (form_.over.empty()) {
            for (const ir::Output& output : kernel_.outputs) write_value(text_, output);
            return;
        }
        // First the outputs with one value per row, then those with one per element.
        for (const bool inside : {false, true}) {
            if (inside ? !any_in_row
                       : std::all_of(kernel_.outputs.begin(), kernel_.outputs.end(),
                                     [&](const ir::Output& o) { return in_row(o); }))
                continue;
            if (inside && form_.scan) {
                store_scanned(std::get<ir::Scan>(kernel_[*form_.scan].node));
                continue;
            }
            auto body = out_.block(
                !inside     ? "Row::once([&]"
                : held_ > 0 ? fmt::format("Row::each<{}>({}", held_, lambda())
                            : fmt::format("Row::each({}, {}", count(form_.over), lambda()),
                ");");
            ExpressionText text = text_;
            if (inside && form_.over.size() > 1) decompose("at", form_.over, held_ == 0);
            store_outputs(text, inside);
        }
    }

    // Those along the row, or those with one value a row.
    void store_outputs(ExpressionText& text, bool inside) {
        for (const ir::Output& output : kernel_.outputs)
            if (in_row(output) == inside) {
                if (inside) declare(text, output.value, true);
                write_value(text, output);
            }
    }

    // The outputs along the row, as a running sum comes to their elements.
    void store_scanned(const ir::Scan& scan) {
        const std::string origin = kernel_.line_of(kernel_[*form_.scan].span);
        {
            auto body = out_.block("auto const value = [&](int64_t at)", ";", origin);
            ExpressionText inside = text_;
            coordinates_of_scan(scan);
            declare(inside, scan.x, true);
            return_reduced(inside, *form_.scan, scan.x);
        }
        {
            ExpressionText inside = text_;
            const std::string name = inside.fresh(kernel_[*form_.scan].name);
            inside.set(*form_.scan, name);
            auto body =
                out_.block(fmt::format("auto const store = [&](int64_t at, auto {})", name), ";");
            coordinates_of_scan(scan);
            store_outputs(inside, true);
        }
        out_.line(fmt::format("Row::scan<{}>({}, value, store);", ir::info(scan.op).kernels_name,
                              count(form_.over)));
    }

    void coordinates_of_scan(const ir::Scan& scan) {
        if (!scan.backwards) return decompose("at", form_.over);
        const std::string turned = fmt::format("{} - 1 - at", count(form_.over));
        decompose(form_.over.size() > 1 ? fmt::format("({})", turned) : turned, form_.over);
    }

    const std::int64_t held_;  // elements of a row that a thread block holds in registers; 0: none
    std::set<ir::ExprId> in_registers_;  // computed values that are held
};

}  // namespace

std::string element_rows_source(const ir::Kernel& kernel, const RowsForm& form) {
    return ElementWriter(kernel, form).write();
}

}  // namespace fact::lower
