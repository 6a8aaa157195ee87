// The examples and cards of one architecture: index/<arch>/*.fact and cards.md.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "index/cards.h"
#include "index/example.h"
#include "index/features.h"
#include "support/result.h"

namespace fact::index {

struct Entry {
    Example example;
    Features features;
};

struct Collection {
    std::vector<Entry> entries;  // sorted by name
    std::vector<Card> cards;
    std::vector<std::string> damaged;  // for each skipped file, what is wrong with it
};

// An Error if there is nothing for that architecture; it names the architectures that there are.
Result<Collection> read_collection(const std::filesystem::path& index, const std::string& arch);

struct Changes {
    int added = 0, changed = 0, kept = 0, removed = 0;
};
// Makes the folder of an architecture hold exactly these examples: other examples are removed,
// other files stay, and unchanged files are not written.
Result<Changes> write_examples(const std::filesystem::path& folder,
                               const std::vector<Example>& examples);

}  // namespace fact::index
