// Numbers that the schedules of several skeletons depend on.
#pragma once

namespace fact::schedule {

// The multiprocessors of an A100 and an H100, used to choose and rank schedules; launches ask the
// GPU itself.
inline constexpr int kMultiprocessorsSm80 = 108, kMultiprocessorsSm90 = 132;

inline constexpr long kLongSum = 65536;  // sums of more terms have two levels, to round less

}  // namespace fact::schedule
