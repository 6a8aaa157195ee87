// torch's precision settings in this process.
#pragma once

#include "ir/kernel.h"
#include "target/torch_precision.h"

namespace fact::exec {

void set_precision(const TorchPrecision& precision);

// The settings under which torch computes the results that a text's are compared with: TF32 only if
// the user's settings allow it and the text says that it computes in TF32, and never sums in 16
// bits. A baseline that rounds more than the kernel claims to would let a worse kernel pass.
TorchPrecision reference_precision(const TorchPrecision& user_settings, const ir::Kernel& text);

// Applies the settings `inside` during its lifetime, and then `after`.
class PrecisionScope {
  public:
    PrecisionScope(const TorchPrecision& inside, const TorchPrecision& after) : after_(after) {
        set_precision(inside);
    }
    ~PrecisionScope() { set_precision(after_); }
    PrecisionScope(const PrecisionScope&) = delete;
    PrecisionScope& operator=(const PrecisionScope&) = delete;

  private:
    TorchPrecision after_;
};

}  // namespace fact::exec
