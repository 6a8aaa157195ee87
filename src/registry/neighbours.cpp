#include "registry/neighbours.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "registry/identity.h"

namespace fact::registry {

namespace {

double log_distance(std::int64_t a, std::int64_t b) {
    return std::abs(std::log2(static_cast<double>(std::max<std::int64_t>(a, 1)) /
                              static_cast<double>(std::max<std::int64_t>(b, 1))));
}

// How different the computations and GPUs are, 0 for the same; nullopt if schedules cannot be
// reused. `identity`: rule_identity of the wanted text.
std::optional<int> unlikeness(const Work& recorded, const Work& wanted,
                              const std::string& identity) {
    const auto kind = [](const Work& w) {
        return std::tuple(w.arch, w.dtype, w.split, w.a_along_k, w.b_along_k);
    };
    if (kind(recorded) != kind(wanted)) return std::nullopt;
    const int other_gpu = recorded.gpu == wanted.gpu ? 0 : 1;
    if (rule_identity(recorded.text) == identity) return other_gpu;
    if (recorded.rule == wanted.rule) return 2 + other_gpu;
    return std::nullopt;
}

}  // namespace

double distance(const Work& a, const Work& b) {
    return log_distance(a.m, b.m) + log_distance(a.n, b.n) + log_distance(a.k, b.k) +
           log_distance(a.batch, b.batch);
}

std::vector<std::string> neighbour_schedules(const std::vector<Entry>& entries, const Work& work,
                                             std::size_t most) {
    struct Neighbour {
        int unlikeness;
        double distance;
        const Record* record;
    };
    const std::string identity = rule_identity(work.text);
    std::vector<Neighbour> neighbours;
    for (const auto& entry : entries)
        if (const auto unlike = unlikeness(entry.record.work, work, identity))
            neighbours.push_back({*unlike, distance(entry.record.work, work), &entry.record});
    // Among equally near ones the later measurement first, so that file order does not matter.
    std::sort(neighbours.begin(), neighbours.end(), [](const Neighbour& a, const Neighbour& b) {
        if (a.unlikeness != b.unlikeness) return a.unlikeness < b.unlikeness;
        if (a.distance != b.distance) return a.distance < b.distance;
        return better(*a.record, *b.record);
    });
    std::vector<std::string> schedules;
    for (const auto& neighbour : neighbours) {
        if (schedules.size() == most) break;
        const auto& schedule = neighbour.record->schedule;
        if (!schedule.empty() && std::ranges::find(schedules, schedule) == schedules.end())
            schedules.push_back(schedule);
    }
    return schedules;
}

}  // namespace fact::registry
