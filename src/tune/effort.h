// How wide a search the user wants.
#pragma once

namespace fact::tune {

struct Effort {
    int candidates = 0;      // per family; 0: 16 with a GPU, one without
    double budget_s = 0;     // for all searches together; 0: no limit
    bool stop_early = true;  // if the bound or the cost model says that nothing better is left
    bool operator==(const Effort&) const = default;
};

constexpr int kQuickCandidates = 4;  // of `--effort quick`
// Whether the user would rather wait less than have everything measured.
inline bool is_quick(const Effort& effort) {
    return effort.candidates > 0 && effort.candidates <= kQuickCandidates;
}

}  // namespace fact::tune
