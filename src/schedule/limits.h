// Numbers that rank the schedules of several skeletons.
#pragma once

namespace fact::schedule {

// The multiprocessors of an A100 and an H100, to rank candidates: launches ask the GPU itself.
inline constexpr int kMultiprocessorsSm80 = 108, kMultiprocessorsSm90 = 132;

inline constexpr long kLongSum = 65536;  // longer sums are added in two levels, to round less

}  // namespace fact::schedule
