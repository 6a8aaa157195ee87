#include "support/clock.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

namespace fact {

namespace {

std::string utc_text(std::chrono::system_clock::time_point moment) {
    const std::time_t seconds =
        std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(moment));
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    const auto milliseconds =
        std::chrono::floor<std::chrono::milliseconds>(moment).time_since_epoch();
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                       milliseconds.count() % 1000);
}

}  // namespace

std::string utc_now() {
    return utc_text(std::chrono::system_clock::now());
}

std::string utc_days_ago(double days) {
    using namespace std::chrono;
    return utc_text(system_clock::now() - seconds(static_cast<long>(days * 86400)));
}

}  // namespace fact
