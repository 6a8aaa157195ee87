// Emits row kernels that read memory element by element, once per reduction: for rows of any length
// and layout (element_rows_source() of source.h).
#include <fmt/format.h>

#include <algorithm>

#include "lower/rows/record.h"
#include "lower/rows/rows_text.h"
#include "lower/rows/source.h"

namespace fact::lower {

namespace {

class ElementWriter : RowsText {
  public:
    ElementWriter(const ir::Kernel& kernel, const RowsForm& form) : RowsText(kernel, form) {}

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

        out_.line("extern \"C\" __global__ void __launch_bounds__(kRowThreads)");
        auto body = out_.block(
            fmt::format("{}_kernel(__grid_constant__ Arguments const args)", kernel_.name));
        out_.line(fmt::format("using F = Functions<{}>;", function_type()));
        out_.line(fmt::format("using Row = {};", row_shape(kernel_, form_).type));
        const bool wide = !form_.narrow;
        auto loop = out_.block(fmt::format("Row::each_row({}, [&]({} row)", count(form_.rows, wide),
                                           wide ? "int64_t" : "int"),
                               ");");
        decompose("row", form_.rows, wide);
        for (const ir::ExprId id : form_.order)
            if (const auto* reduce = std::get_if<ir::Reduce>(&kernel_[id].node))
                reduction(id, *reduce);
        store();
    }

    std::string load(const ir::Param& param, const Flips& flips) const override {
        return fmt::format("widen({})", element(kernel_.params[param.index], flips));
    }

    // The head of a lambda over the elements of a row.
    std::string lambda() const {
        return form_.over.size() == 1
                   ? fmt::format("[&](int {})", coordinates_.at(form_.over.front()))
                   : "[&](int64_t at)";
    }

    // How many elements a thread reduces by itself, if that is a constant; else 0.
    std::int64_t unrolled() const {
        if (row_shape(kernel_, form_).type != "ThreadRow") return 0;
        std::int64_t length = 1;
        for (const ir::DimId dim : form_.over) length *= kernel_[dim].extent.value_or(0);
        return length;
    }

    void reduction(ir::ExprId id, const ir::Reduce& reduce) {
        declare(text_, reduce.x, false);
        const std::string name = text_.fresh(kernel_[id].name);
        const std::string op(ir::info(reduce.op).kernels_name);
        const std::int64_t length = unrolled();
        const std::string begin =
            length == 0 ? fmt::format("Row::reduce<{}>({}, {}", op, count(form_.over), lambda())
            : form_.over.size() == 1 ? fmt::format("Row::reduce<{}, {}>({}", op, length, lambda())
                                     : fmt::format("Row::reduce<{}, {}>([&](int at)", op, length);
        {
            auto body = out_.block(fmt::format("auto const {} = {}", name, begin), ");",
                                   kernel_.line_of(kernel_[id].span));
            ExpressionText inside = text_;
            if (form_.over.size() > 1) decompose("at", form_.over, length == 0);
            declare(inside, reduce.x, true);
            return_reduced(inside, id, reduce.x);
        }
        text_.set(id, name);
    }

    void store() {
        bool any_in_row = false;
        for (const ir::Output& output : kernel_.outputs) {
            declare(text_, output.value, false);
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
            auto body =
                out_.block(inside ? fmt::format("Row::each({}, {}", count(form_.over), lambda())
                                  : "Row::once([&]",
                           ");");
            ExpressionText text = text_;
            if (inside && form_.over.size() > 1) decompose("at", form_.over);
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
};

}  // namespace

std::string element_rows_source(const ir::Kernel& kernel, const RowsForm& form) {
    return ElementWriter(kernel, form).write();
}

}  // namespace fact::lower
