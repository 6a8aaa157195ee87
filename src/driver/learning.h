// Turns a pattern that a model found into a rule that finds it without a model.
#pragma once

#include "driver/compose.h"
#include "driver/learned_rules.h"

namespace fact::driver {

// The pattern as a rule; its evidence says where it was found and what was measured.
Result<agent::LearnedRule> rule_from(const Discovered& found, const Settings& settings,
                                     const match::Pattern& pattern,
                                     const tune::Realization& realization);

// Learns the model's patterns that were timed on a GPU and are in the package, that is, pay off in
// the whole module.
Result<> learn_what_pays(const registry::Folders& folders, const Discovered& found,
                         const Settings& settings, const Realizations& realizations,
                         const Plan& plan);

}  // namespace fact::driver
