#include "schedule/skeletons.h"

#include "support/result.h"

namespace fact::schedule {
namespace {

bool finds_no_statistics(const Schedule&, const Problem&) {
    return false;
}

struct Space {
    std::vector<Schedule> (*candidates)(const Problem&);
    double (*expected_us)(const Schedule&, const Problem&);
    std::string (*illegal)(const Schedule&, const Problem&);
    SharedMemory (*shared_memory)(const Schedule&, const Problem&);
    int (*accumulators)(const Schedule&, const Problem&);
    bool (*finds_statistics)(const Schedule&, const Problem&);
};

Space space_of(Skeleton skeleton) {
    switch (skeleton) {
        case Skeleton::sm80:
            return {candidates_on_sm80,    expected_us_on_sm80,  illegal_on_sm80,
                    shared_memory_on_sm80, accumulators_on_sm80, finds_no_statistics};
        case Skeleton::sm90:
            return {candidates_on_sm90,    expected_us_on_sm90,  illegal_on_sm90,
                    shared_memory_on_sm90, accumulators_on_sm90, finds_statistics_on_sm90};
    }
    throw InternalError("a skeleton without schedules");
}

}  // namespace

std::vector<Schedule> candidates(Skeleton skeleton, const Problem& problem) {
    return space_of(skeleton).candidates(problem);
}

double expected_us(Skeleton skeleton, const Schedule& schedule, const Problem& problem) {
    return space_of(skeleton).expected_us(schedule, problem);
}

std::string illegal(Skeleton skeleton, const Schedule& schedule, const Problem& problem) {
    return space_of(skeleton).illegal(schedule, problem);
}

SharedMemory shared_memory(Skeleton skeleton, const Schedule& schedule, const Problem& problem) {
    return space_of(skeleton).shared_memory(schedule, problem);
}

int accumulators_per_thread(Skeleton skeleton, const Schedule& schedule, const Problem& problem) {
    return space_of(skeleton).accumulators(schedule, problem);
}

bool finds_statistics(Skeleton skeleton, const Schedule& schedule, const Problem& problem) {
    return space_of(skeleton).finds_statistics(schedule, problem);
}

}  // namespace fact::schedule
