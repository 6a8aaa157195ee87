#include "index/collection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "index/text_features.h"
#include "support/files.h"

namespace fact::index {

namespace fs = std::filesystem;

namespace {

// How the file of an example begins.
constexpr std::string_view kHead = "# computes: ";

std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
         at.increment(ignored))
        if (at->path().extension() == ".fact") files.push_back(at->path());
    std::ranges::sort(files);
    return files;
}

Result<Entry> read_entry(const fs::path& file) {
    const auto text = read_file(file);
    if (!text) return text.error();
    auto example = example_from_file(file.stem().string(), *text);
    if (!example) return example.error();
    Diagnostics diagnostics;
    const auto program = dsl::compile(example->text, diagnostics);
    if (!program)
        return Error{fmt::format("example {}: this version of FACT cannot read its kernel text: {}",
                                 example->name, diagnostics.items().front().message),
                     ""};
    auto features = text_features(*program, example->extents);
    return Entry{std::move(*example), std::move(features)};
}

}  // namespace

Result<Collection> read_collection(const fs::path& index, const std::string& arch) {
    const auto folder = index / arch;
    std::error_code ignored;
    if (arch.empty() || arch.find('/') != arch.npos || !fs::is_directory(folder, ignored)) {
        std::vector<std::string> arches;
        for (fs::directory_iterator at(index, ignored), end; !ignored && at != end;
             at.increment(ignored))
            if (at->is_directory(ignored)) arches.push_back(at->path().filename().string());
        std::ranges::sort(arches);
        return Error{fmt::format("there are no examples for '{}' in {}", arch, index.string()),
                     arches.empty() ? "`fact examples build` makes them from the registry"
                                    : fmt::format("there are some for {}", fmt::join(arches, ", ")),
                     true};
    }
    Collection found;
    for (const auto& file : files_in(folder)) {
        auto entry = read_entry(file);
        if (entry)
            found.entries.push_back(std::move(*entry));
        else
            found.damaged.push_back(entry.error().message);
    }
    const auto file = folder / "cards.md";
    if (!fs::exists(file, ignored)) return found;
    const auto text = read_file(file);
    auto cards = text ? cards_from_file(*text) : Result<std::vector<Card>>(text.error());
    if (cards)
        found.cards = std::move(*cards);
    else
        found.damaged.push_back(cards.error().message);
    return found;
}

Result<Changes> write_examples(const fs::path& folder, const std::vector<Example>& examples) {
    Changes changes;
    std::set<std::string> names;
    for (const Example& example : examples) {
        names.insert(example.name);
        const auto file = folder / (example.name + ".fact");
        const auto text = to_file(example);
        const auto before = read_file(file);
        if (before && *before == text) {
            ++changes.kept;
            continue;
        }
        if (auto done = write_file_atomic(file, text); !done) return done.error();
        ++(before ? changes.changed : changes.added);
    }
    for (const auto& file : files_in(folder)) {
        if (names.contains(file.stem().string())) continue;
        const auto text = read_file(file);
        if (!text || !text->starts_with(kHead)) continue;  // not an example
        std::error_code failure;
        if (!fs::remove(file, failure) && failure)
            return file_error("remove", file, failure.value());
        ++changes.removed;
    }
    return changes;
}

}  // namespace fact::index
