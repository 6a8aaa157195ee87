// When a kernel's results are good enough: judged against f64, beside what eager itself achieves.
#pragma once

#include <string>

#include "target/dtype.h"
#include "verify/protocol.h"

namespace fact::verify {

// How one output differs from its f64 oracle. Elements where the oracle is not finite, or where
// eager overflowed, are judged by class only and left out of the sums.
struct Difference {
    double largest_error = 0, sum_squared_error = 0;  // over finite elements
    double largest_value = 0, sum_squared_value = 0;  // of the oracle
    long compared = 0;
    long wrong_nan = 0;       // NaN where the oracle has none, or the other way round
    long wrong_infinity = 0;  // an infinity missing, unexpected or of the other sign
};

ErrorPair relative(const Difference& difference);

// Errors below this pass whatever eager's are.
ErrorPair floor_of(DType output);

// How exact the numbers are that parts of an output are judged by.
struct Grain {
    ErrorPair floor;      // as floor_of, of the part's own magnitude
    double rounding = 0;  // how far inputs are moved, as a share, to learn what that is worth
    double least = 0;     // errors below it are those of numbers too small for the type
};
// `tf32`: the output is of f32, and follows from operands with TF32's bits, which are as many as
// f16 has.
Grain grain_of(DType output, bool tf32);

// "" when the kernel passes: no NaN, no infinity out of place, and both errors at most twice
// eager's, or below the floor.
std::string judge(const Difference& eager, const Difference& kernel, DType output);

}  // namespace fact::verify
