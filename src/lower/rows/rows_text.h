// Emits what all row kernels have in common: coordinates, extents and values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit/code_writer.h"
#include "lower/pointwise/expression.h"
#include "lower/rows/flips.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

class RowsText {
  protected:
    using Dims = std::vector<ir::DimId>;

    RowsText(const ir::Kernel& kernel, const RowsForm& form)
        : kernel_(kernel),
          form_(form),
          text_(
              kernel, [this](ir::DimId dim) { return coordinate(dim); },
              [this](ir::DimId dim) { return extent(dim); }) {}
    virtual ~RowsText() = default;
    RowsText(const RowsText&) = delete;
    RowsText& operator=(const RowsText&) = delete;

    // The text that reads a parameter at a position in the row, backwards along `flips`.
    virtual std::string load(const ir::Param& param, const Flips& flips) const = 0;

    // The included header of kernels/common, and the namespace.
    void preamble(std::string_view header);
    // The struct Arguments; `more` are int members after the extents.
    void arguments(const std::vector<std::string>& more = {});
    // The element type of the `Functions` that the kernel uses.
    std::string function_type() const;
    std::string extent(ir::DimId dim) const;
    // The product of the extents; in 64 bits if `wide`.
    std::string count(const Dims& dims, bool wide = true) const;

    // Gives the dimension's coordinate a name that is not one in `text`.
    void name_coordinate(ExpressionText& text, ir::DimId dim);
    // The text of the dimension's coordinate; a factored one is computed from those of its factors.
    std::string coordinate(ir::DimId dim, const Flips& flips = {}) const;
    // The coordinates of a tensor's dimensions.
    std::string coordinates(const Dims& dims, const Flips& flips) const;
    // "args.x(m, n)".
    std::string element(const ir::Tensor& tensor, const Flips& flips = {}) const;
    // Declares the coordinates along `dims`, computed from one number; the last runs fastest. With
    // `needed`, only those among them.
    void decompose(const std::string& number, const Dims& dims, bool wide = true,
                   const Dims* needed = nullptr);

    // Declares the coordinates that a window reads at, and returns the text of what it reads.
    virtual std::string windowed(ExpressionText& text, const ir::Window& window,
                                 std::uint32_t param);
    // Whether all that the row's windows read is in the tensor, as a text for the whole row; "" if
    // that is always so, or differs from one element of the row to the next.
    std::string all_inside(const ir::Window& window) const;
    // The text of a parameter or coordinate that is read backwards.
    std::string flipped(const FlippedLeaf& leaf) const;
    // Whether any of the dimensions is along the row.
    bool contains_row(const Dims& dims) const;
    bool varies(ir::ExprId id) const { return contains_row(kernel_[id].type.dims); }
    bool in_row(const ir::Output& output) const { return contains_row(output.tensor.type.dims); }

    // The text of a value that a kernel computes in another way than by itself; "" for others.
    virtual std::string own_text(const ExpressionText&, ir::ExprId) const { return ""; }
    // Declares the values that `root` needs: those that differ between positions in the row
    // (`inside`), or those that are the same for the whole row.
    void declare(ExpressionText& text, ir::ExprId root, bool inside);
    // The return statement of a function that a reduction calls per element.
    void return_reduced(const ExpressionText& text, ir::ExprId reduction, ir::ExprId x);
    void write_value(const ExpressionText& text, const ir::Output& output);

    const ir::Kernel& kernel_;
    const RowsForm& form_;
    ExpressionText text_;
    std::map<ir::DimId, std::string> coordinates_;
    std::string known_inside_;  // a variable: true where windows need no tests; "": there is none
    emit::CodeWriter out_;
};

}  // namespace fact::lower
