#include "support/times.h"

#include <algorithm>
#include <cmath>

namespace fact {

Times summarize(std::vector<double> us) {
    if (us.empty()) return {};
    std::ranges::sort(us);
    const auto rank = [&](double share) {
        const auto n = static_cast<double>(us.size());
        const auto place = static_cast<std::size_t>(std::ceil(share * n));
        return us[std::clamp<std::size_t>(place, 1, us.size()) - 1];
    };
    const auto middle = us.size() / 2;
    const double median = us.size() % 2 == 1 ? us[middle] : (us[middle - 1] + us[middle]) / 2;
    return {median, rank(0.1), rank(0.9), static_cast<int>(us.size())};
}

double uncertainty(const Times& times) {
    return times.runs > 0 ? (times.high_us - times.low_us) / std::sqrt(times.runs) : 0;
}

}  // namespace fact
