// The stage compose: the package of the patterns that pay.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compose/choose.h"
#include "compose/package.h"
#include "driver/discover.h"
#include "driver/realize.h"

namespace fact::driver {

// Which patterns are fused.
struct Plan {
    std::vector<compose::Choice> choices;  // one per pattern of the discovery, in its order
    int fused() const;                     // how many
    // The fused ones.
    std::vector<const match::Pattern*> patterns(const match::Discovery& discovery) const;
};

// The plan that follows from the times of each kernel by itself. `dropped`: families to leave out,
// and why.
Plan plan(const Discovered& found, const Realizations& realizations,
          const std::map<std::string, std::string>& dropped = {});

struct Composed {
    std::filesystem::path package;                 // where it can be loaded from; "": none
    std::optional<compose::StagedPackage> staged;  // nullopt: it is at its destination already
    std::string inputs;                            // what the package depends on
    std::string contents;                          // the same without destination and weights
    std::vector<compose::WrittenCat> cats;         // what became of the graph's cats
};

// The package of some realized patterns, not yet written.
Result<compose::Package> assemble(const RunFolder& run, const Settings& settings,
                                  const Discovered& found, const Realizations& realizations,
                                  const std::vector<const match::Pattern*>& patterns);

// Everything that the package's bytes depend on, except the weights.
Result<std::string> package_contents(const compose::Package& package);
// Those contents and the weights of the run's archive, which is identified by its size and time
// of change.
std::string package_inputs(std::string contents, const RunFolder& run);

// Writes the plan's package next to its destination, unless the destination has one from the same
// inputs. Without a pattern to fuse no package is written.
Result<Composed> compose_stage(const RunFolder& run, const Settings& settings,
                               const Discovered& found, const Realizations& realizations,
                               const Plan& plan, const std::filesystem::path& output);
// Moves the package to its destination, where an earlier one has stayed until now.
Result<> accept(const RunFolder& run, Composed& composed);

// Removes the packages of the run, in its folder or where `fact optimize -o` put it, that have a
// kernel for the pattern `id`; returns their paths. A folder with other files too loses only its
// manifest, without which it cannot be loaded.
Result<std::vector<std::string>> remove_packages_with(const RunFolder& run, const std::string& id);

// A note that `output` holds the package of an earlier run, for when this run writes none; "" if it
// does not.
std::string note_of_earlier_package(const std::filesystem::path& output);

}  // namespace fact::driver
