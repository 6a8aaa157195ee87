// Consumer groups that take turns at the tensor cores: while one uses them, the others run their
// softmax or epilogue.
#pragma once

namespace fact::sm90 {

// Each group calls wait() and pass() alternately. The last pass has no wait, unless its receiver
// adds one at the end. With a single group, both functions do nothing.
template <int kGroups>
struct Turn {
    int group;
    static constexpr int kFirstBarrier = 1;
    static constexpr int kBarrierThreads = 2 * 128;  // the group that waits and the one that passes

    __device__ explicit Turn(int group) : group(group) {
        if (kGroups > 1 && group == kGroups - 1) pass();  // group 0 begins
    }
    __device__ void wait() const {
        if (kGroups > 1)
            asm volatile("bar.sync %0, %1;" ::"r"(kFirstBarrier + group), "n"(kBarrierThreads));
    }
    __device__ void pass() const {
        int const next = group + 1 == kGroups ? 0 : group + 1;
        if (kGroups > 1)
            asm volatile("bar.arrive %0, %1;" ::"r"(kFirstBarrier + next), "n"(kBarrierThreads));
    }
};

}  // namespace fact::sm90
