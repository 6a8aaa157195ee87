// The action that lists the schedules of a pattern's products, or tries one. Declared in
// driver/action_requests.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "driver/action_requests.h"
#include "dsl/dsl.h"
#include "tools/plan.h"

namespace fact::driver {

namespace {

Result<tools::Plan> planned(const LoadedRun& loaded, const match::Pattern& pattern,
                            const ir::Kernel& kernel) {
    std::vector<tools::Setting> settings;
    for (const auto& [dim, extent] : pattern.extents) settings.push_back({dim, extent, "the run"});
    const auto extents = tools::bind_extents(kernel, settings, tools::Assume::typical);
    if (!extents) return extents.error();
    return tools::plan_stages(kernel, loaded.options.arch, *extents);
}

// An Error if the request names a product that the text does not have.
Result<> check_product(const tools::Plan& plan, const std::string& pattern,
                       const std::string& product) {
    std::vector<std::string> names;
    for (const auto& stage : plan.stages)
        if (stage.product && !stage.product->name.empty()) names.push_back(stage.product->name);
    if (product.empty() || std::ranges::find(names, product) != names.end()) return Ok{};
    return Error{fmt::format("the text of {} has no product '{}'", pattern, product),
                 names.empty() ? "its text names no product: leave 'product' out"
                               : fmt::format("its products: {}", fmt::join(names, ", ")),
                 true};
}

// The pattern's products with the schedules that the cost model ranks best. `wanted`: only this
// product; "": all.
Json listed(const tools::Plan& plan, const match::Pattern& pattern, const std::string& wanted,
            int most) {
    Json all = Json::array();
    for (const auto& stage : plan.stages) {
        if (!stage.product || (!wanted.empty() && stage.product->name != wanted)) continue;
        const auto& [name, at, skeleton, problem] = *stage.product;
        const auto ranked = schedule::candidates(skeleton, problem);
        const auto count = std::min(ranked.size(), static_cast<std::size_t>(most));
        for (std::size_t i = 0; i < count; ++i)
            all.push_back({{"product", tools::title(*stage.product)},
                           {"schedule", schedule::to_string(ranked[i])},
                           {"expected_us", schedule::expected_us(skeleton, ranked[i], problem)}});
    }
    Json reply{{"pattern", pattern.id}, {"schedules", all}};
    if (all.empty()) reply["note"] = "only products have schedules";
    return reply;
}

}  // namespace

Result<Json> schedules(LoadedRun& loaded, const Json& request) {
    const auto id = text_field(request, "pattern", true);
    if (!id) return id.error();
    const auto tried = text_field(request, "schedule", false);
    if (!tried) return tried.error();
    const auto product = text_field(request, "product", false);
    if (!product) return product.error();
    const auto most = count_field(request, "most", 8);
    if (!most) return most.error();
    if (*most == 0)
        return Error{"'most' is 0: no schedule would be listed", "leave it out to see 8", true};
    const auto* pattern = find_pattern(loaded.found.discovery, *id);
    if (!pattern) return no_such_pattern(loaded.found.discovery, *id);
    Diagnostics ignored;
    const auto program = dsl::compile(pattern->kernel, ignored);
    if (!program) return Error{fmt::format("the text of {} does not compile", *id), ""};
    const auto& kernel = program->kernels.front();
    const auto plan = planned(loaded, *pattern, kernel);
    if (!plan) return plan.error();
    if (auto fine = check_product(*plan, *id, *product); !fine) return fine.error();
    if (tried->empty()) return listed(*plan, *pattern, *product, *most);
    if (!program->schedules.empty())
        return Error{fmt::format("the text of {} has schedules of its own", *id),
                     "`write` the text with other schedules", true};
    const auto text =
        fmt::format("{}schedule {}{} on {} {{\n  {}\n}}\n", pattern->kernel, kernel.name,
                    product->empty() ? "" : "." + *product, loaded.options.arch, *tried);
    return write(loaded, {{"pattern", *id}, {"text", text}});
}

}  // namespace fact::driver
