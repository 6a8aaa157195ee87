#include "tools/statistics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/number.h"
#include "support/hash.h"

namespace fact::tools {

Statistics statistics_of(const HostTensor& tensor) {
    Statistics s;
    s.count = tensor.count();
    s.min = std::numeric_limits<double>::infinity();
    s.max = -s.min;
    double sum = 0;
    std::int64_t finite = 0;
    for (std::int64_t i = 0; i < s.count; ++i) {
        double value = 0;
        ir::load(tensor.data.data(), tensor.dtype, i, 1, 1, &value);
        if (std::isnan(value)) {
            ++s.nans;
            continue;
        }
        s.min = std::min(s.min, value);
        s.max = std::max(s.max, value);
        if (std::isinf(value)) {
            ++s.infinities;
            continue;
        }
        sum += value;
        ++finite;
    }
    if (finite > 0) s.mean = sum / static_cast<double>(finite);
    s.checksum =
        short_hash(fmt::format("{}[{}]\n", info(tensor.dtype).name, fmt::join(tensor.sizes, ", ")) +
                   tensor.data);
    return s;
}

std::string to_string(const Statistics& s) {
    std::string text;
    if (s.count == 0)
        text = "empty";
    else if (s.nans == s.count)
        text = "all NaN";
    else
        text = fmt::format("min {:.6g}  max {:.6g}  mean {:.6g}", s.min, s.max, s.mean);
    if (s.nans > 0 && s.nans < s.count) text += fmt::format("  NaN {}", s.nans);
    if (s.infinities > 0) text += fmt::format("  infinite {}", s.infinities);
    return text + "  checksum " + s.checksum;
}

}  // namespace fact::tools
