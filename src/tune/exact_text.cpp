#include "tune/exact_text.h"

#include <string_view>

namespace fact::tune {

std::optional<std::string> exact_text(const std::string& text) {
    constexpr std::string_view kAsked = ", precision: tf32";  // as the printer spells it
    std::string exact = text;
    for (auto at = exact.find(kAsked); at != exact.npos; at = exact.find(kAsked, at))
        exact.erase(at, kAsked.size());
    return exact == text ? std::nullopt : std::optional(std::move(exact));
}

bool all_wrong(const Realization& r) {
    using verify::Outcome;
    bool any = false;
    for (const CandidateResult& candidate : r.candidates) {
        switch (candidate.outcome) {
            case Outcome::incorrect:
                any = true;
                break;
            case Outcome::failed_to_build:
            case Outcome::unsupported:
            case Outcome::untried:
                break;  // did not run
            case Outcome::passed:
            case Outcome::timed_out:
            case Outcome::crashed:
                return false;
        }
    }
    return any && !r.realized;
}

}  // namespace fact::tune
