// Collects errors up to a limit, so that a broken text takes bounded time to check and to read.
#pragma once

#include "dsl/codes.h"
#include "support/diagnostics.h"

namespace fact::dsl {

class Reporter {
  public:
    explicit Reporter(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

    void error(code::Code code, Span at, std::string message, std::string fix) {
        if (++count_ < kMaxErrors) diagnostics_.error(code, at, std::move(message), std::move(fix));
        if (count_ == kMaxErrors)
            diagnostics_.error(code::too_many, at, "There are more errors, which are not listed.",
                               "Fix the ones above first.");
    }
    void warning(code::Code code, Span at, std::string message, std::string fix) {
        diagnostics_.warning(code, at, std::move(message), std::move(fix));
    }
    int count() const { return count_; }  // of all errors, including those not listed
    bool ok() const { return count_ == 0; }
    // Whether no more errors are listed, so that checking may stop.
    bool full() const { return count_ >= kMaxErrors; }

  private:
    static constexpr int kMaxErrors = 50;
    Diagnostics& diagnostics_;
    int count_ = 0;
};

}  // namespace fact::dsl
