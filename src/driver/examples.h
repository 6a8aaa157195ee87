// Access to the index of vetted examples for runs, actions and commands.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "driver/run_folder.h"
#include "index/cards.h"
#include "index/collection.h"
#include "index/text_features.h"
#include "match/patterns/pattern.h"
#include "support/result.h"
#include "target/arch.h"

namespace fact::driver {

// FACT_INDEX, else index/ of FACT's own folder.
Result<std::filesystem::path> index_folder();

// The examples and rule cards of the index that help in writing a given kernel.
struct RelatedExamples {
    struct Near {
        index::Example example;
        double distance = 0;
    };
    std::vector<Near> examples;  // the nearest first
    std::vector<index::Card> cards;
};
struct RelatedRequest {
    std::string arch{kDefaultArch};
    std::size_t examples = 3, cards = 3;
};
Result<RelatedExamples> find_related(const index::Features& wanted, const RelatedRequest& request);

// The structure of a kernel text; an Error shows its mistakes. `name` is the file name shown there.
Result<index::Features> features_of_text(std::string_view name, std::string_view text,
                                         const index::Extents& extents = {});
// The structure of a pattern's text.
Result<index::Features> features_of_pattern(const RunFolder& run, const std::string& pattern);
Result<index::Features> features_of_pattern(const match::Discovery& discovery,
                                            const std::string& pattern);

nlohmann::json to_json(const index::Example& example);
nlohmann::json to_json(const RelatedExamples& related);

// As part of a prompt, in at most `max_bytes`: an entry that does not fit is left out, as are
// examples after the first that have little in common with the wanted kernel.
std::string in_prompt(const RelatedExamples& related, std::size_t max_bytes);

// Writes the examples of every architecture from the registry's records.
Result<index::Changes> build_index(const std::filesystem::path& index);

}  // namespace fact::driver
