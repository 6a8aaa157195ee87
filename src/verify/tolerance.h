// When a kernel's results are accurate enough: their error against f64 compared with eager's.
#pragma once

#include <string>

#include "target/dtype.h"
#include "verify/protocol.h"

namespace fact::verify {

// How one output differs from its f64 oracle. Elements for which the oracle is not finite, or eager
// overflowed, are only checked for NaN and infinity and left out of the sums.
struct Difference {
    double largest_error = 0, sum_squared_error = 0;  // over finite elements
    double largest_value = 0, sum_squared_value = 0;  // of the oracle
    long compared = 0;
    long wrong_nan = 0;       // NaN only in the result or only in the oracle
    long wrong_infinity = 0;  // an infinity missing, unexpected or of the other sign
};

// The errors relative to the oracle's magnitude.
ErrorPair relative(const Difference& difference);

// Relative errors up to these pass, however small eager's are.
ErrorPair floor_of(DType output);

// The accuracy by which parts of an output are judged.
struct Grain {
    ErrorPair floor;      // like floor_of, relative to the part's own magnitude
    double rounding = 0;  // how much inputs are changed, relatively, to see how results react
    double least = 0;     // an absolute error that is allowed: the type has no smaller numbers
};
// `tf32`: the output is f32, computed from operands in TF32, which has as many bits as f16.
Grain grain_of(DType output, bool tf32);

// Why the kernel does not pass; "" if it does. It passes if NaNs and infinities are in the right
// places, and both relative errors are at most twice eager's or at most the floor.
std::string judge(const Difference& eager, const Difference& kernel, DType output);

}  // namespace fact::verify
