// How far results are from f64's, over a whole output and over slices of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "target/dtype.h"
#include "torch/executor.h"
#include "verify/tolerance.h"

namespace fact::exec {

// `eager` says where the type overflows.
verify::Difference difference(const at::Tensor& exact, const at::Tensor& result,
                              const at::Tensor& eager);

// The parts of an output that are judged by their own magnitude: each row, each column, and the
// elements of like magnitude. Made for one f64 answer, with the error each part may have.
class Slices {
  public:
    // `moved` are f64's answers to inputs that were moved by a rounding (verify::Grain): what
    // a sum that cancels is worth, which neither its value nor the luck of eager's rounding tells.
    Slices(const at::Tensor& exact, const at::Tensor& eager, const Tensors& moved,
           const verify::Grain& grain);
    Slices() = default;  // judges nothing

    // The slice with the largest share of the error that is allowed there.
    struct Worst {
        double share = 0;  // at most 1 passes
        std::string what;  // "row [0, 3, 1023]: root mean square error 0.05, at most 0.004 ..."
    };
    Worst worst(const at::Tensor& exact, const at::Tensor& eager, const at::Tensor& result) const;

  private:
    struct Sums {
        at::Tensor squares, largest;  // one element a slice: rows, columns, magnitudes
    };
    // Takes some elements out of an output that is laid flat.
    using Part = std::function<at::Tensor(const at::Tensor& flat)>;
    // Magnitudes of some elements.
    using Magnitudes = std::function<at::Tensor(const Part& part)>;
    void choose_classes(const at::Tensor& exact, const at::Tensor& eager);
    // `each`: by how much (squared) every slice moves, a row for each way to move the inputs.
    at::Tensor without_shared(const at::Tensor& enough, const at::Tensor& each) const;
    Sums sums(const Magnitudes& magnitudes) const;
    Sums errors(const at::Tensor& exact, const at::Tensor& eager, const at::Tensor& result) const;
    std::string name(std::int64_t slice) const;

    // Elements of like magnitude: neighbours in `by_magnitude_`.
    struct Class {
        double least = 0;  // magnitude; of the last class 0
        std::int64_t first = 0, count = 0;
    };

    std::vector<std::int64_t> sizes_;
    std::int64_t count_ = 0;     // of elements
    std::int64_t length_ = 0;    // of a row
    std::int64_t together_ = 0;  // elements of rows that are judged as one, as they are short
    std::int64_t rows_ = 0, columns_ = 0;
    at::Tensor by_magnitude_;     // where elements are, by rising magnitude; of large outputs some
    std::vector<Class> classes_;  // by falling magnitude
    Sums values_, limits_;
};

}  // namespace fact::exec
