// How widely a user has searches look.
#pragma once

namespace fact::tune {

struct Effort {
    int candidates = 0;      // a family; 0: 16 with a GPU, one without
    double budget_s = 0;     // for all searches together; 0: as long as they take
    bool stop_early = true;  // where the bound or the model says that enough was tried
    bool operator==(const Effort&) const = default;
};

}  // namespace fact::tune
