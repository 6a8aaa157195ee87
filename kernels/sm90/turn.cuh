// Consumer groups that take turns at the tensor cores: while one multiplies, the others compute.
#pragma once

namespace fact::sm90 {

// With a single group, both functions do nothing.
template <int kGroups>
struct Turn {
    int group;
    static constexpr int kFirstBarrier = 1;
    static constexpr int kThreads = 256;  // the group that waits and the one that passes

    __device__ explicit Turn(int group) : group(group) {
        if (kGroups > 1 && group == kGroups - 1) pass();  // group 0 begins
    }
    __device__ void wait() const {
        if (kGroups > 1)
            asm volatile("bar.sync %0, %1;" ::"r"(kFirstBarrier + group), "n"(kThreads));
    }
    __device__ void pass() const {
        int const next = group + 1 == kGroups ? 0 : group + 1;
        if (kGroups > 1)
            asm volatile("bar.arrive %0, %1;" ::"r"(kFirstBarrier + next), "n"(kThreads));
    }
};

}  // namespace fact::sm90
