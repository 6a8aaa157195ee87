// How far results are from those in f64, over a whole output and over slices of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "target/dtype.h"
#include "torch/executor.h"
#include "verify/tolerance.h"

namespace fact::exec {

// `eager` shows where the type overflows: such elements are not compared.
verify::Difference difference(const at::Tensor& exact, const at::Tensor& result,
                              const at::Tensor& eager);

// The slices of an output that are judged by their own magnitude: each row, each column, and the
// elements of similar magnitude. Made for one f64 result, with the error that each slice may have.
class Slices {
  public:
    // `moved` are f64 results for inputs that were changed by a rounding error (verify::Grain).
    // They show how accurate a sum that cancels can be, which neither its value nor eager's
    // error, which is partly luck, can show.
    Slices(const at::Tensor& exact, const at::Tensor& eager, const Tensors& moved,
           const verify::Grain& grain);
    Slices() = default;  // judges nothing

    // The slice whose error is largest relative to the error that is allowed there.
    struct Worst {
        double share = 0;  // at most 1 passes
        std::string what;  // "row [0, 3, 1023]: root mean square error 0.05, at most 0.004 ..."
    };
    Worst worst(const at::Tensor& exact, const at::Tensor& eager, const at::Tensor& result) const;

  private:
    struct Sums {
        at::Tensor squares, largest;  // one element per slice: rows, columns, magnitudes
    };
    // Takes some elements out of a flattened output.
    using Part = std::function<at::Tensor(const at::Tensor& flat)>;
    // Magnitudes of some elements.
    using Magnitudes = std::function<at::Tensor(const Part& part)>;
    void choose_classes(const at::Tensor& exact, const at::Tensor& eager);
    // Which slices are judged: those with `enough` elements, unless their elements share one
    // rounding error. `each`: the squared change of every slice, one row per change of the inputs.
    at::Tensor without_shared_errors(const at::Tensor& enough, const at::Tensor& each) const;
    Sums sums(const Magnitudes& magnitudes) const;
    Sums errors(const at::Tensor& exact, const at::Tensor& eager, const at::Tensor& result) const;
    std::string name(std::int64_t slice) const;

    // Elements of similar magnitude: neighbours in `by_magnitude_`.
    struct Class {
        double least = 0;  // magnitude; 0 for the last class
        std::int64_t first = 0, count = 0;
    };

    std::vector<std::int64_t> sizes_;
    std::int64_t count_ = 0;      // of elements
    std::int64_t length_ = 0;     // of a row
    std::int64_t row_group_ = 0;  // elements of the rows of one slice: short rows are grouped
    std::int64_t rows_ = 0, columns_ = 0;
    at::Tensor by_magnitude_;     // indices by increasing magnitude; a sample of a large output
    std::vector<Class> classes_;  // by decreasing magnitude
    Sums values_, limits_;
};

}  // namespace fact::exec
