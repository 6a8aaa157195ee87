// Records that are worth an example.
#pragma once

#include "../registry/records.h"

namespace fact::index {

// Near its bound and ahead of torch, whatever the size.
inline registry::Record good(std::int64_t m = 4096) {
    auto record = registry::linear(m);
    const double time = m >= 1024 ? 60 : 5;
    record.single = {time, time - 1, time + 1, 40};
    return record;
}

}  // namespace fact::index
