// Stage 4: the package of the patterns that pay.
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

// Which patterns are fused; in the order of the discovery's patterns.
struct Plan {
    std::vector<compose::Choice> choices;
    int fused() const;
    std::vector<const match::Pattern*> patterns(const match::Discovery& discovery) const;
};

// What the kernels' own times say.
// `dropped`: families that are out, and why.
Plan plan(const Discovered& found, const Realizations& realizations,
          const std::map<std::string, std::string>& dropped = {});

struct Composed {
    std::filesystem::path package;                 // where it can be loaded from; "": none
    std::optional<compose::StagedPackage> staged;  // nothing: it is in its place already
    std::string inputs;                            // what the package follows from
    std::string contents;                          // the same without its place and its weights
};

// The package of some realized patterns, not yet written.
Result<compose::Package> assemble(const RunFolder& run, const Settings& settings,
                                  const Discovered& found, const Realizations& realizations,
                                  const std::vector<const match::Pattern*>& patterns);

// Everything but the weights that the package's bytes follow from.
Result<std::string> package_contents(const compose::Package& package);
// Those contents and the weights of the run's archive, which stands for itself by size and time.
std::string package_inputs(std::string contents, const RunFolder& run);

// Writes the plan's package beside its place, unless one from the same inputs is there. Without a
// pattern to fuse no package is written.
Result<Composed> compose_stage(const RunFolder& run, const Settings& settings,
                               const Discovered& found, const Realizations& realizations,
                               const Plan& plan, const std::filesystem::path& output);
// Puts it in its place. An earlier package stays there until now.
Result<> accept(const RunFolder& run, Composed& composed);

// Of a package that an earlier run wrote there, when this one writes none; "" without one.
std::string left_as_it_is(const std::filesystem::path& output);

}  // namespace fact::driver
