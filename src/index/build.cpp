#include "index/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "index/text_features.h"
#include "registry/identity.h"
#include "support/hash.h"
#include "target/gpu_spec.h"
#include "tools/extents.h"
#include "tools/products.h"

namespace fact::index {

namespace {

// A kernel is no example if it takes longer than torch by more than the first factor, or longer
// than its bound by more than the second.
constexpr double kBehindTorch = 1.05, kBehindBound = 4;
constexpr double kSizeClass = 2;  // one class of sizes spans this many doublings of each extent

struct Candidate {
    Example example;
    Features features;
    std::string key;  // of the record
};

double rounded(double microseconds) {
    return std::round(microseconds * 100) / 100;
}

std::optional<double> bound_of(const ir::Kernel& kernel, const registry::Work& work) {
    const auto gpu = gpu_of_device(work.gpu);
    if (!gpu) return std::nullopt;
    std::vector<tools::Setting> settings;
    for (const auto& [dim, extent] : work.extents) settings.push_back({dim, extent, "record"});
    const auto extents = tools::bind_extents(kernel, settings, tools::Assume::typical);
    if (!extents) return std::nullopt;
    return tools::least_time(kernel, *extents, *gpu).calibrated_us;
}

// The text with the measured schedule, if the language can express it: attention and kernels
// without a product have none.
std::string with_schedule(const registry::Record& record, const ir::Kernel& kernel) {
    const auto compiles = [](const std::string& text) {
        Diagnostics diagnostics;
        return dsl::compile(text, diagnostics).has_value();
    };
    std::vector<std::string> products{kernel.name};  // what a schedule block can name
    for (const ir::Expr& expr : kernel.exprs)
        if (std::holds_alternative<ir::Product>(expr.node) && !expr.name.empty())
            products.push_back(kernel.name + "." + expr.name);
    for (const auto& product : products) {
        auto text = fmt::format("{}schedule {} on {} {{\n  {}\n}}\n", record.work.text, product,
                                record.work.arch, record.schedule);
        if (compiles(text)) return text;
    }
    return record.work.text;
}

// "linear bias gelu" from "linear_bias_gelu": discovery names kernels after what they compute.
std::string words_of(std::string name) {
    std::ranges::replace(name, '_', ' ');
    return name;
}

std::string shape_name(const registry::Work& work) {
    std::string name = work.batch > 1 ? fmt::format("{}x", work.batch) : "";
    name += fmt::format("{}x{}", work.m, work.n);
    return work.k > 1 ? name + fmt::format("x{}", work.k) : name;
}

std::optional<Candidate> candidate(const registry::Record& record) {
    const auto& work = record.work;
    if (record.checks.empty() || record.text_checks.empty() || record.single.runs == 0 ||
        record.torch_single.runs == 0 ||
        record.single.median_us > kBehindTorch * record.torch_single.median_us)
        return std::nullopt;
    Diagnostics diagnostics;
    const auto program = dsl::compile(work.text, diagnostics);
    if (!program || program->kernels.size() != 1 || !program->pipelines.empty())
        return std::nullopt;
    const auto& kernel = program->kernels.front();
    const auto bound = bound_of(kernel, work);
    if (!bound || rounded(*bound) == 0 || record.single.median_us > kBehindBound * *bound)
        return std::nullopt;
    Candidate made;
    made.key = registry::key(record);
    made.features = text_features(*program, work.extents);
    const auto& [date, fact, commit, torch] = record.provenance;
    const auto exact = registry::exactness(record);
    Example& example = made.example;
    // Without products the precision is always that of f32.
    const bool products = made.features.count("@") + made.features.count("attention") > 0;
    const auto type = !products || record.precision == work.dtype
                          ? work.dtype
                          : work.dtype + "_" + record.precision;
    example.name = fmt::format("{}_{}_{}", kernel.name, type, shape_name(work));
    example.computes = words_of(kernel.name) + ": " + in_words(made.features);
    example.from =
        fmt::format("rule {}, record {}/{}", work.rule, registry::gpu_folder(work.gpu), made.key);
    example.measured =
        fmt::format("{}, torch {}, {}", date.substr(0, 10), torch, record.toolchain.versions);
    example.arch = work.arch;
    example.gpu = work.gpu;
    example.extents = work.extents;
    example.precision = record.precision;
    example.schedule = record.schedule;
    example.time_us = rounded(record.single.median_us);
    example.torch_us = rounded(record.torch_single.median_us);
    example.bound_us = rounded(*bound);
    const auto three_digits = [](double x) { return std::stod(fmt::format("{:.3g}", x)); };
    example.error = three_digits(exact.kernel);
    example.torch_error = three_digits(exact.eager);
    example.text = with_schedule(record, kernel);
    return made;
}

std::string structure_of(const Candidate& candidate) {
    return candidate.example.precision + " " + structure(candidate.features);
}

// Records of one structure and one class of sizes compete.
std::string size_class(const Sizes& sizes) {
    std::string text;
    for (const auto& size : {sizes.m, sizes.n, sizes.k, sizes.batch})
        text += size ? fmt::format(" {}",
                                   std::floor(std::log2(static_cast<double>(*size)) / kSizeClass))
                     : " ?";
    return text;
}

bool better(const Candidate& a, const Candidate& b) {
    const auto rank = [](const Candidate& c) {
        return std::tuple(c.example.time_us / c.example.bound_us, c.key);
    };
    return rank(a) < rank(b);
}

// Candidates of one structure, each of another class of sizes.
struct Group {
    std::vector<Candidate> left, chosen;  // `left`: not chosen yet
    int records = 0;                      // from how many records they were selected
};

// First the one nearest to its bound, then the one furthest in size from those already chosen.
void choose_next(Group& group) {
    const auto apart = [&](const Candidate& candidate) {
        double least = std::numeric_limits<double>::infinity();
        for (const auto& chosen : group.chosen)
            least = std::min(least, distance(chosen.features, candidate.features));
        return least;
    };
    const auto next =
        std::ranges::min_element(group.left, [&](const Candidate& a, const Candidate& b) {
            const double from_a = apart(a), from_b = apart(b);
            return from_a != from_b ? from_a > from_b : better(a, b);
        });
    group.chosen.push_back(std::move(*next));
    group.left.erase(next);
}

// One of each structure before a second of any; structures with more records first.
std::vector<Candidate> spread(std::vector<Group> groups, std::size_t most) {
    std::ranges::stable_sort(groups, std::ranges::greater{}, &Group::records);
    std::size_t count = 0;
    for (bool more = true; more && count < most;) {
        more = false;
        for (Group& group : groups) {
            if (group.left.empty() || count == most) continue;
            choose_next(group);
            more = true;
            ++count;
        }
    }
    std::vector<Candidate> all;
    for (Group& group : groups) std::ranges::move(group.chosen, std::back_inserter(all));
    return all;
}

// Adds a hash of the text to names that occur more than once.
void make_names_unique(std::vector<Candidate>& chosen) {
    std::map<std::string, int> uses;
    for (const auto& candidate : chosen) ++uses[candidate.example.name];
    for (auto& candidate : chosen)
        if (uses[candidate.example.name] > 1)
            candidate.example.name += "_" + short_hash(candidate.example.text).substr(0, 4);
}

}  // namespace

std::vector<Example> examples_from(const std::vector<registry::Record>& records, std::size_t most) {
    struct Structure {
        std::map<std::string, Candidate> classes;  // the best of each class of sizes
        int records = 0;
    };
    std::map<std::string, std::map<std::string, Structure>> arches;
    for (const auto& record : records)
        if (auto made = candidate(record)) {
            auto& [classes, count] = arches[record.work.arch][structure_of(*made)];
            ++count;
            const auto sizes = size_class(made->features.sizes);
            const auto best = classes.find(sizes);
            if (best == classes.end() || better(*made, best->second))
                classes.insert_or_assign(sizes, std::move(*made));
        }
    std::vector<Example> examples;
    for (auto& [arch, structures] : arches) {
        std::vector<Group> groups;
        for (auto& [name, structure] : structures) {
            auto& group = groups.emplace_back();
            group.records = structure.records;
            for (auto& [sizes, made] : structure.classes) group.left.push_back(std::move(made));
        }
        auto chosen = spread(std::move(groups), most);
        make_names_unique(chosen);
        for (auto& candidate : chosen) examples.push_back(std::move(candidate.example));
    }
    std::ranges::sort(examples, {}, &Example::name);
    return examples;
}

}  // namespace fact::index
