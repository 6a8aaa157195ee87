// `fact registry show`; add_registry_show is declared in cli/registry_commands.h.
#include <fmt/format.h>

#include <memory>

#include "cli/registry_commands.h"
#include "registry/identity.h"
#include "report/report.h"
#include "report/spelling.h"
#include "support/table.h"

namespace fact::cli {

namespace {

struct RegistryShowOptions {
    std::string key;
    bool json = false;
};

// The record whose key begins with `key`.
Result<registry::Entry> find(const std::string& key) {
    std::vector<registry::Entry> found;
    for (auto& entry : open_registry().all().entries)
        if (registry::key(entry.record).starts_with(key)) found.push_back(std::move(entry));
    if (found.size() == 1) return std::move(found.front());
    if (found.empty())
        return Error{fmt::format("there is no record {}", key), "`fact registry list` names them",
                     true};
    return Error{fmt::format("{} records begin with {}", found.size(), key),
                 "give more digits of the key", true};
}

std::string times_text(const Times& t) {
    if (t.runs == 0) return "not measured";
    return fmt::format("{} ({} to {}, {} runs)", duration(t.median_us), duration(t.low_us),
                       duration(t.high_us), t.runs);
}

std::string describe(const registry::Entry& entry) {
    const auto& r = entry.record;
    const auto& w = r.work;
    std::string extents;
    for (const auto& [name, extent] : w.extents) extents += fmt::format(" {}={}", name, extent);
    const auto exact = registry::exactness(r);
    std::string out =
        fmt::format("{}: {} on {} ({})\n\n{}\n", registry::key(r), r.kernel, w.gpu, w.arch, w.text);
    const auto line = [&](std::string_view title, const std::string& text) {
        if (!text.empty()) out += fmt::format("  {:<12}{}\n", title, text);
    };
    line("shape", fmt::format("{}  {}", shape_text(w), extents));
    line("precision", r.precision);
    line("schedule", r.schedule);
    line("single", times_text(r.single));
    line("  torch", times_text(r.torch_single));
    line("sustained", times_text(r.sustained));
    line("  torch", times_text(r.torch_sustained));
    line("error", fmt::format("{} / torch's {}, {}", report::error_text(exact.kernel),
                              report::error_text(exact.eager), counted(r.checks.size(), "check")));
    line("search",
         fmt::format("{} tried of at most {}", counted(r.candidates, "candidate"), r.effort));
    line("toolchain", r.toolchain.versions);
    line("code", fmt::format("{}, cubin {}", r.toolchain.code, r.toolchain.compile_key));
    line("note", r.note);
    line("proof", r.proof);
    const auto& p = r.provenance;
    line("measured",
         fmt::format("{}, FACT {}{}{}", p.date, p.fact, p.commit.empty() ? "" : " at " + p.commit,
                     p.torch.empty() ? "" : ", torch " + p.torch));
    line("file", entry.file.string());
    return out;
}

int show(const RegistryShowOptions& options) {
    const auto entry = find(options.key);
    if (!entry) return fail(entry.error());
    print(options.json ? registry::to_json(entry->record) : describe(*entry));
    return kDone;
}

}  // namespace

void add_registry_show(CLI::App& app, Action& action) {
    auto options = std::make_shared<RegistryShowOptions>();
    auto* command = app.add_subcommand("show", "Show one record completely");
    command->add_option("KEY", options->key, "Its key, or the beginning of it")->required();
    command->add_flag("--json", options->json, "Print it as stored");
    command->callback([&action, options] { action = [options] { return show(*options); }; });
}

}  // namespace fact::cli
