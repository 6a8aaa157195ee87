#include "driver/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "driver/discover.h"
#include "driver/environment.h"
#include "index/build.h"
#include "index/retrieve.h"

namespace fact::driver {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

// Examples at a larger distance are left out of a prompt. This is about the distance of two texts
// that differ by one product and by a norm or a softmax.
constexpr double kFarAway = 8;

}  // namespace

Result<fs::path> index_folder() {
    if (const char* given = std::getenv("FACT_INDEX"); given && *given) return fs::path(given);
    const auto root = own_folder();
    if (!root) return root.error();
    return *root / "index";
}

Result<RelatedExamples> find_related(const index::Features& wanted, const RelatedRequest& request) {
    const auto folder = index_folder();
    if (!folder) return folder.error();
    const auto collection = index::read_collection(*folder, request.arch);
    if (!collection) return collection.error();
    RelatedExamples related;
    for (const auto& found : index::nearest(collection->entries, wanted, request.examples))
        related.examples.push_back({found.entry->example, found.distance});
    related.cards = index::fitting_cards(collection->cards, wanted, request.cards);
    return related;
}

Result<index::Features> features_of_text(std::string_view name, std::string_view text,
                                         const index::Extents& extents) {
    Diagnostics diagnostics;
    const auto program = dsl::compile(text, diagnostics);
    if (!program)
        return Error{"the text does not compile:\n" + render_all(diagnostics, name, text),
                     "`fact kernel check` shows the same; docs/language.md describes the language",
                     true};
    if (program->kernels.empty() && program->pipelines.empty())
        return Error{fmt::format("{}: the text has no kernel", name), "", true};
    return index::text_features(*program, extents);
}

Result<index::Features> features_of_pattern(const match::Discovery& discovery,
                                            const std::string& pattern) {
    const auto* found = find_pattern(discovery, pattern);
    if (!found) return no_such_pattern(discovery, pattern);
    return features_of_text(found->id, found->kernel, found->extents);
}

Result<index::Features> features_of_pattern(const RunFolder& run, const std::string& pattern) {
    const auto found = read_discovered(run);
    if (!found) return found.error();
    return features_of_pattern(found->discovery, pattern);
}

Json to_json(const index::Example& example) {
    return {{"name", example.name},         {"computes", example.computes},
            {"from", example.from},         {"measured", example.measured},
            {"arch", example.arch},         {"gpu", example.gpu},
            {"extents", example.extents},   {"precision", example.precision},
            {"schedule", example.schedule}, {"time_us", example.time_us},
            {"torch_us", example.torch_us}, {"bound_us", example.bound_us},
            {"error", example.error},       {"torch_error", example.torch_error},
            {"text", example.text}};
}

Json to_json(const RelatedExamples& related) {
    Json examples = Json::array(), cards = Json::array();
    for (const auto& [example, distance] : related.examples) {
        auto entry = to_json(example);
        entry["distance"] = distance;
        examples.push_back(std::move(entry));
    }
    for (const auto& card : related.cards)
        cards.push_back(
            {{"title", card.title}, {"advice", card.advice}, {"evidence", card.evidence}});
    return {{"examples", examples}, {"cards", cards}};
}

std::string in_prompt(const RelatedExamples& related, std::size_t max_bytes) {
    std::string out;
    const auto add = [&](const std::string& part) {
        if (out.size() + part.size() <= max_bytes) out += part;
    };
    for (const auto& card : related.cards)
        add(fmt::format("- {}: {} (Evidence: {})\n", card.title, card.advice, card.evidence));
    for (const auto& [example, distance] : related.examples) {
        if (distance > kFarAway && example.name != related.examples.front().example.name) continue;
        std::string extents;
        for (const auto& [dim, extent] : example.extents)
            extents += fmt::format(", {} = {}", dim, extent);
        add(fmt::format("\n{}: {}; {}{}; {}\n```fact\n{}```\n", example.computes,
                        index::times_line(example), example.gpu, extents, example.schedule,
                        example.text));
    }
    if (out.empty()) return "(none is near)";
    if (out.ends_with('\n')) out.pop_back();
    return out;
}

Result<index::Changes> build_index(const fs::path& index) {
    const registry::Registry registry(registry_folders());
    std::vector<registry::Record> records;
    for (const auto& entry : registry.all().entries) records.push_back(entry.record);
    auto examples = index::examples_from(records);
    if (examples.empty())
        return Error{"the registry has no record from which an example can be made",
                     "records are made by `fact optimize` on a GPU; FACT_REGISTRY names their "
                     "folder",
                     true};
    std::map<std::string, std::vector<index::Example>> by_arch;
    for (auto& example : examples) by_arch[example.arch].push_back(std::move(example));
    index::Changes all;
    for (const auto& [arch, of_arch] : by_arch) {
        const auto changes = index::write_examples(index / arch, of_arch);
        if (!changes) return changes.error();
        all.added += changes->added;
        all.changed += changes->changed;
        all.kept += changes->kept;
        all.removed += changes->removed;
    }
    return all;
}

}  // namespace fact::driver
