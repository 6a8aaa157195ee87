// The list of all families, and the functions of Search (family.h).
#include <array>

#include "match/families/family.h"

namespace fact::match {

// Each is defined in the file of its name.
extern const Family kAttention, kProducts, kConvolutions, kLinears, kNorms, kFolds, kRotary, kRows,
    kImages;

std::span<const Family* const> families() {
    // kLinears comes before kFolds, which folds norms into joined linears too; kRotary uses what is
    // left, kRows what is left then, and kImages adds alternatives to what all others found.
    static constexpr std::array kAll{&kAttention, &kProducts, &kConvolutions, &kLinears, &kNorms,
                                     &kFolds,     &kRotary,   &kRows,         &kImages};
    return kAll;
}

void Search::take(Candidate candidate) {
    taken.insert(candidate.nodes.begin(), candidate.nodes.end());
    copied.insert(candidate.copied.begin(), candidate.copied.end());
    chosen.push_back(std::move(candidate));
}

void Search::replace_reason(graph::NodeId node, const std::string& reason) {
    reasons[node] = reason;
}

void Search::note(graph::NodeId node, const std::string& reason) {
    if (!reason.empty()) reasons.try_emplace(node, reason);
}

}  // namespace fact::match
