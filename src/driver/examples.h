// The index of vetted examples, as runs, actions and commands ask it.
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

// What of the index is of use for something that is to be written.
struct Advice {
    struct Near {
        index::Example example;
        double distance = 0;
    };
    std::vector<Near> examples;  // the nearest first
    std::vector<index::Card> cards;
};
struct AdviceRequest {
    std::string arch{kUsualArch};
    std::size_t examples = 3, cards = 3;
};
Result<Advice> advice_for(const index::Features& wanted, const AdviceRequest& request);

// The structure of a kernel text; an Error shows its mistakes. `name` is what they call it.
Result<index::Features> features_of_text(std::string_view name, std::string_view text,
                                         const index::Extents& extents = {});
// That of a pattern which a run has found.
Result<index::Features> features_of_pattern(const RunFolder& run, const std::string& pattern);
Result<index::Features> features_of_pattern(const match::Discovery& discovery,
                                            const std::string& pattern);

nlohmann::json to_json(const index::Example& example);
nlohmann::json to_json(const Advice& advice);

// As part of a prompt, in at most so many bytes: what does not fit is left out whole, and so are
// examples behind the first that have little in common with what is asked.
std::string in_prompt(const Advice& advice, std::size_t max_bytes);

// Makes the examples of every architecture from the registry's records.
Result<index::Changes> build_index(const std::filesystem::path& index);

}  // namespace fact::driver
