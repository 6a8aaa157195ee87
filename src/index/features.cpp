#include "index/features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <utility>

namespace fact::index {

namespace {

struct Kind {
    std::string_view what;
    double weight;          // per doubling of its count
    std::string_view word;  // in a sentence; "": not mentioned
};

// The most important first.
constexpr Kind kKinds[] = {
    {"attention", 6, "attention"},
    {"@", 4, "product"},
    {"norm", 3, "norm"},
    {"norm after", 1, ""},
    {"softmax", 3, "softmax"},
    {"causal", 1, "causal mask"},
    {"window", 1, "window"},
    {"bias", 1, "bias of scores"},
    {"cap", 1, "capped scores"},
    {"grouped", 0.5, "grouped heads"},
    {"tf32", 1, "TF32"},
    {"flip", 1.5, "rotated halves"},
    {"sum over", 0.5, "sum"},
    {"max over", 0.5, "maximum"},
    {"min over", 0.5, "minimum"},
    {"activation", 1, ""},
    {"where", 0.5, "selection"},
    {"index", 0.25, ""},
    {"+", 0.2, ""},
    {"-", 0.2, ""},
    {"*", 0.2, ""},
    {"/", 0.2, ""},
};
constexpr double kOtherFunction = 0.75;  // the weight of a function that is not listed
constexpr double kOtherWidth = 1;        // for each type of another width: f32 against bf16
constexpr double kOtherType = 0.25;      // if the types differ at all: f16 against bf16
constexpr double kSize = 0.1;            // per doubling

constexpr std::array<std::string_view, 11> kActivations{"gelu",    "gelu_tanh", "silu", "relu",
                                                        "sigmoid", "tanh",      "mish", "softplus",
                                                        "elu",     "erf",       "expm1"};

const Kind* find_kind(std::string_view what) {
    const auto row = std::ranges::find(kKinds, what, &Kind::what);
    return row == std::end(kKinds) ? nullptr : &*row;
}

// What a step's result was computed from, as far as norms, softmaxes and attentions depend on it.
struct Behind {
    bool sum = false, maximum = false, product = false;
    bool sum_of_product = false;
    bool masked = false;         // a selection among a product's results
    bool probabilities = false;  // a softmax of a product's results
};

double log_ratio(double a, double b) {
    return std::abs(std::log2(a / b));
}

double width_distance(const Features& a, const Features& b) {
    const auto widths = [](const std::set<std::string>& types) {
        std::set<std::string> all;
        for (const auto& type : types) all.insert(type == "bf16" ? "f16" : type);
        return all;
    };
    const auto a_widths = widths(a.types), b_widths = widths(b.types);
    std::vector<std::string> different;
    std::ranges::set_symmetric_difference(a_widths, b_widths, std::back_inserter(different));
    return kOtherWidth * static_cast<double>(different.size()) +
           (a.types == b.types ? 0 : kOtherType);
}

double size_distance(const Sizes& a, const Sizes& b) {
    double sum = 0;
    for (const auto size : {&Sizes::m, &Sizes::n, &Sizes::k, &Sizes::batch})
        if (a.*size && b.*size && *(a.*size) > 0 && *(b.*size) > 0)
            sum += log_ratio(static_cast<double>(*(a.*size)), static_cast<double>(*(b.*size)));
    return kSize * sum;
}

}  // namespace

Features features_of(const std::vector<Step>& steps) {
    Features found;
    auto& counts = found.counts;
    std::vector<Behind> behind(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::string& what = steps[i].what;
        Behind& here = behind[i];
        for (const std::size_t read : steps[i].reads) {
            here.sum |= behind[read].sum;
            here.maximum |= behind[read].maximum;
            here.sum_of_product |= behind[read].sum_of_product;
            here.product |= behind[read].product;
            here.masked |= behind[read].masked;
            here.probabilities |= behind[read].probabilities;
        }
        if (!what.empty()) ++counts[what];
        if (std::ranges::find(kActivations, what) != kActivations.end()) ++counts["activation"];
        if (what == "sum over") {
            here.sum = true;
            here.sum_of_product |= here.product;
        }
        if (what == "max over") here.maximum = true;
        if (what == "where") here.masked |= here.product;
        // A norm or softmax is not counted again by later steps.
        if ((what == "rsqrt" || what == "sqrt") && std::exchange(here.sum, false)) {
            ++counts["norm"];
            if (std::exchange(here.sum_of_product, false)) ++counts["norm after"];
        }
        if (what == "exp" && std::exchange(here.maximum, false)) {
            ++counts["softmax"];
            here.probabilities |= here.product;
        }
        if (what == "@" && std::exchange(here.probabilities, false)) {
            ++counts["attention"];
            if (std::exchange(here.masked, false)) ++counts["bias"];
            counts["@"] -= 2;
            for (const auto* part : {"softmax", "max over", "-", "exp", "sum over", "/"})
                --counts[part];
        }
        if (what == "@" || what == "attention") here.product = true;
    }
    std::erase_if(counts, [](const auto& entry) { return entry.second <= 0; });
    return found;
}

std::string structure(const Features& features) {
    std::string text;
    for (const auto& [what, count] : features.counts) text += fmt::format("{} {}; ", count, what);
    return text + fmt::format("{}", fmt::join(features.types, " "));
}

std::string in_words(const Features& features) {
    std::vector<std::string> words;
    const auto add = [&](std::string_view word, int count) {
        words.push_back(count == 1 ? std::string(word) : fmt::format("{} x {}", count, word));
    };
    // The parts of a norm or a softmax are not mentioned separately.
    const bool has_norm_or_softmax = features.count("norm") + features.count("softmax") > 0;
    constexpr std::array<std::string_view, 6> kParts{"sum over", "max over", "exp",
                                                     "rsqrt",    "sqrt",     "max"};
    const auto implied = [&](std::string_view what) {
        return has_norm_or_softmax && std::ranges::find(kParts, what) != kParts.end();
    };
    for (const Kind& kind : kKinds)
        if (const int count = features.count(std::string(kind.what));
            count > 0 && !kind.word.empty() && !implied(kind.what))
            add(kind.word, count);
    for (const auto& [what, count] : features.counts)
        if (!find_kind(what) && !implied(what) && std::isalpha(static_cast<unsigned char>(what[0])))
            add(what, count);
    if (words.empty()) words.push_back("pointwise arithmetic");
    return fmt::format("{} ({})", fmt::join(words, ", "), fmt::join(features.types, ", "));
}

double structural_distance(const Features& a, const Features& b) {
    std::set<std::string> all;
    for (const auto* features : {&a, &b})
        for (const auto& [what, count] : features->counts) all.insert(what);
    double sum = 0;
    for (const auto& what : all) {
        const Kind* kind = find_kind(what);
        sum += (kind ? kind->weight : kOtherFunction) *
               log_ratio(1 + a.count(what), 1 + b.count(what));
    }
    return sum + width_distance(a, b);
}

double distance(const Features& a, const Features& b) {
    return structural_distance(a, b) + size_distance(a.sizes, b.sizes);
}

}  // namespace fact::index
