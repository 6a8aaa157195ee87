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
    // moved(0), moved(1) ... are f64 results for inputs that were changed by a rounding error
    // (verify::Grain). They show how accurate a sum whose terms cancel can be. Its value does not
    // show that, nor does eager's error, which is partly luck.
    Slices(const at::Tensor& exact, const at::Tensor& eager, const verify::Grain& grain,
           std::size_t changes = 0, const std::function<at::Tensor(std::size_t)>& moved = {});
    Slices() = default;  // judges nothing

    // The slice whose error is largest relative to the error that is allowed there.
    struct Worst {
        double share = 0;  // its error divided by the allowed one: at most 1 passes
        std::string what;  // "row [0, 3, 1023]: root mean square error 0.05, at most 0.004 ..."
    };
    Worst worst(const at::Tensor& exact, const at::Tensor& eager, const at::Tensor& result) const;

  private:
    struct Sums {
        // The sum of squared magnitudes and the largest magnitude in each slice: of rows, then of
        // columns, then of classes of magnitude.
        at::Tensor squares, largest;
    };
    // Takes some elements out of a flattened output.
    using Part = std::function<at::Tensor(const at::Tensor& flat)>;
    // The magnitudes of the elements that `part` takes.
    using Magnitudes = std::function<at::Tensor(const Part& part)>;
    void choose_classes(const at::Tensor& exact, const at::Tensor& eager);
    // Which slices are judged: those with `enough` elements, unless their elements share one
    // rounding error. `squared_changes`: of every slice, one row per change of the inputs.
    at::Tensor without_shared_errors(const at::Tensor& enough,
                                     const at::Tensor& squared_changes) const;
    Sums sums(const Magnitudes& magnitudes) const;
    Sums errors(const at::Tensor& exact, const at::Tensor& eager, const at::Tensor& result) const;
    std::string name(std::int64_t slice) const;

    // Elements of similar magnitude: neighbours in `by_magnitude_`.
    struct Class {
        double least = 0;                   // magnitude in the class; 0 for the last one
        std::int64_t first = 0, count = 0;  // places in `by_magnitude_`
    };

    std::vector<std::int64_t> sizes_;
    std::int64_t count_ = 0;      // elements of the output
    std::int64_t length_ = 0;     // elements of a row
    std::int64_t row_group_ = 0;  // elements of the rows of one slice: short rows are grouped
    std::int64_t rows_ = 0, columns_ = 0;  // numbers of slices
    at::Tensor by_magnitude_;     // indices by increasing magnitude; a sample of a large output
    std::vector<Class> classes_;  // by decreasing magnitude
    Sums values_;                 // of the exact result
    Sums limits_;                 // the allowed errors; `squares` holds their square roots
};

}  // namespace fact::exec
