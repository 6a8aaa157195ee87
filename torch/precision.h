// torch's precision settings in this process.
#pragma once

#include "ir/kernel.h"
#include "target/torch_precision.h"

namespace fact::exec {

void set_precision(const TorchPrecision& precision);

// What results of the text are measured against: TF32 only where the settings allow it and the text
// says that it computes in it, and never sums in 16 bits. A baseline that rounds more than the
// kernel claims to would let a worse kernel pass.
TorchPrecision reference_precision(const TorchPrecision& users, const ir::Kernel& text);

// Other settings for as long as it lives.
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
