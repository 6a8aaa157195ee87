// Numbers that schedules of several skeletons are ranked by.
#pragma once

namespace fact::schedule {

// Of an A100 and of an H100; they only rank candidates: launches ask the GPU itself.
inline constexpr int kMultiprocessorsSm80 = 108, kMultiprocessorsSm90 = 132;

inline constexpr long kLongSum = 65536;  // beyond this one level of sums is rounded too often

}  // namespace fact::schedule
