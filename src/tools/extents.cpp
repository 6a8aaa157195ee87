#include "tools/extents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include "ir/extents.h"
#include "support/division.h"
#include "tools/products.h"

namespace fact::tools {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 40;  // the largest extent that may be given
// Assumed extents.
constexpr std::int64_t kSmall = 16, kTypical = 4096, kTypicalBatch = 8, kTypicalHead = 128;

bool is_symbol(const ir::Dim& dim) {
    return !dim.extent && dim.factors.empty();
}

std::vector<std::string> symbols(const ir::Kernel& kernel) {
    std::vector<std::string> names;
    for (const ir::Dim& dim : kernel.dims)
        if (is_symbol(dim)) names.push_back(dim.name);
    return names;
}

Error unknown_dim(const ir::Kernel& kernel, const Setting& setting) {
    const auto names = symbols(kernel);
    const std::string near = nearest(setting.dim, names);
    return blame_input(
        {fmt::format("{}: kernel {} has no dimension '{}'", setting.from, kernel.name, setting.dim),
         !near.empty()   ? fmt::format("did you mean '{}'?", near)
         : names.empty() ? "all its dimensions are constants"
                         : fmt::format("its dimensions are {}", fmt::join(names, ", "))});
}

// Typical extents of the dimensions for which kTypical would be too large: batches and the depth of
// attention heads.
std::map<ir::DimId, std::int64_t> short_dims(const ir::Kernel& kernel) {
    std::map<ir::DimId, std::int64_t> extents;
    const auto note = [&](const std::vector<ir::DimId>& dims, std::int64_t extent) {
        for (const ir::DimId dim : kernel.factors(dims)) extents[dim] = extent;
    };
    for (const ProductDims& product : products_of(kernel)) note(product.batch, kTypicalBatch);
    for (const ir::Expr& expr : kernel.exprs)
        if (const auto* attention = std::get_if<ir::Attention>(&expr.node)) {
            const auto& q = kernel[attention->q].type.dims;
            note({q.begin(), q.end() - 2}, kTypicalBatch);
            note({q.back(), kernel[attention->v].type.dims.back()}, kTypicalHead);
        }
    return extents;
}

// What an extent has to be a multiple of, by the text's constraints on it or on dimensions that it
// is a factor of.
std::int64_t multiple_of(const ir::Kernel& kernel, ir::DimId dim) {
    std::int64_t multiple = 1;
    for (const ir::Multiple& constraint : kernel.multiples) {
        const auto factors = kernel.factors({constraint.dim});
        if (std::find(factors.begin(), factors.end(), dim) == factors.end()) continue;
        const std::int64_t both = std::lcm(multiple, constraint.of);
        if (both < kLargest) multiple = both;
    }
    return multiple;
}

// The largest extent with which the dimensions that `dim` is a factor of stay in the range that
// kernels can count.
std::int64_t largest_as_factor(const ir::Kernel& kernel, ir::DimId dim) {
    constexpr double kLargestCounted = std::int64_t{1} << 30;
    double most = kLargestCounted;
    for (const ir::Dim& factored : kernel.dims) {
        const auto& factors = factored.factors;
        if (std::find(factors.begin(), factors.end(), dim) == factors.end()) continue;
        double constant = 1, symbols = 0;
        for (const ir::DimId factor : factors) {
            constant *= static_cast<double>(kernel[factor].extent.value_or(1));
            symbols += !kernel[factor].extent;
        }
        most = std::min(most, std::pow(kLargestCounted / constant, 1 / symbols));
    }
    // A power of two, so that tiles are full.
    return std::int64_t{1} << std::max(0, static_cast<int>(std::log2(most)));
}

}  // namespace

Result<std::vector<Setting>> parse_settings(const std::vector<std::string>& words) {
    std::vector<Setting> settings;
    for (const std::string& word : words) {
        const auto equals = word.find('=');
        Setting setting{word.substr(0, equals), 0, "--set " + word};
        // After the equals sign; the end of the word if there is none.
        const char* begin = word.data() + std::min(equals, word.size() - 1) + 1;
        const char* end = word.data() + word.size();
        const auto [stop, failure] = std::from_chars(begin, end, setting.extent);
        if (equals == word.npos || equals == 0 || failure != std::errc() || stop != end)
            return blame_input({fmt::format("--set {} is not of the form DIMENSION=EXTENT", word),
                                "write it as --set M=128"});
        if (setting.extent < 1 || setting.extent > kLargest)
            return blame_input(
                {fmt::format("--set {}: an extent must be from 1 to 2^40", word), {}});
        settings.push_back(std::move(setting));
    }
    return settings;
}

Result<std::vector<Setting>> settings_of(const ir::Kernel& kernel, const ir::Tensor& tensor,
                                         const std::vector<std::int64_t>& sizes,
                                         std::string_view from) {
    const auto& dims = tensor.type.dims;
    if (sizes.size() != dims.size())
        return blame_input({fmt::format("{} has {} dimensions, '{}' has {}", from, sizes.size(),
                                        tensor.name, dims.size()),
                            "reshape the array to what the kernel declares"});
    std::vector<Setting> settings;
    for (std::size_t i = 0; i < dims.size(); ++i)
        settings.push_back({kernel[dims[i]].name, sizes[i], std::string(from)});
    return settings;
}

Result<Extents> bind_extents(const ir::Kernel& kernel, const std::vector<Setting>& settings,
                             Assume assume) {
    std::map<std::string, std::size_t> ids;
    for (std::size_t d = 0; d < kernel.dims.size(); ++d) ids[kernel.dims[d].name] = d;
    Extents extents{std::vector<std::int64_t>(kernel.dims.size(), ir::kUnknownExtent),
                    std::vector<bool>(kernel.dims.size(), false)};
    std::vector<const Setting*> set_by(kernel.dims.size(), nullptr);
    const auto contradiction = [&](std::string_view what) {
        return blame_input({fmt::format("kernel {}: {}", kernel.name, what),
                            "give tensors and --set values that agree"});
    };
    for (const Setting& setting : settings) {
        const auto found = ids.find(setting.dim);
        if (found == ids.end()) return unknown_dim(kernel, setting);
        const std::size_t d = found->second;
        const auto constant = kernel.dims[d].extent;
        if (constant && *constant != setting.extent)
            return contradiction(fmt::format("{} has {} elements where the text says {}",
                                             setting.from, setting.extent, *constant));
        if (set_by[d] && extents.of[d] != setting.extent)
            return contradiction(fmt::format("{} is {} according to {}, but {} according to {}",
                                             setting.dim, extents.of[d], set_by[d]->from,
                                             setting.extent, setting.from));
        extents.of[d] = setting.extent;
        set_by[d] = &setting;
    }
    if (auto what = ir::solve_extents(kernel, extents.of); !what.empty())
        return contradiction(what);
    // One at a time: an assumed factor may determine other extents.
    const auto typically_short = short_dims(kernel);
    for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
        if (extents.of[d] != ir::kUnknownExtent || !is_symbol(kernel.dims[d])) continue;
        if (kernel.dims[d].window) continue;  // follows from what its windows go over
        const auto short_dim = typically_short.find(static_cast<ir::DimId>(d));
        extents.of[d] = assume == Assume::small              ? kSmall
                        : short_dim == typically_short.end() ? kTypical
                                                             : short_dim->second;
        extents.of[d] =
            std::min(extents.of[d], largest_as_factor(kernel, static_cast<ir::DimId>(d)));
        extents.of[d] = round_up(extents.of[d], multiple_of(kernel, static_cast<ir::DimId>(d)));
        extents.assumed[d] = true;
        if (auto what = ir::solve_extents(kernel, extents.of); !what.empty())
            return blame_input({fmt::format("kernel {}: with {} = {} assumed, {}", kernel.name,
                                            kernel.dims[d].name, extents.of[d], what),
                                fmt::format("give it with --set {}=...", kernel.dims[d].name)});
    }
    // What follows from an assumed extent is assumed too; windows may go over windows.
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t d = 0; d < kernel.dims.size(); ++d)
            if (const auto& window = kernel.dims[d].window;
                window && extents.assumed[ir::index(window->of)] && !extents.assumed[d] &&
                !set_by[d])
                extents.assumed[d] = changed = true;
    }
    return extents;
}

std::string describe(const ir::Kernel& kernel, const Extents& extents) {
    std::vector<std::string> parts;
    for (std::size_t d = 0; d < kernel.dims.size(); ++d)
        if (is_symbol(kernel.dims[d]))
            parts.push_back(fmt::format("{} = {}{}", kernel.dims[d].name, extents.of[d],
                                        extents.assumed[d] ? " (assumed)" : ""));
    return parts.empty() ? "constants" : fmt::format("{}", fmt::join(parts, ", "));
}

double num_elements(const Extents& extents, const std::vector<ir::DimId>& dims) {
    double count = 1;
    for (const ir::DimId dim : dims) count *= static_cast<double>(extents[dim]);
    return count;
}

std::vector<std::int64_t> sizes_of(const Extents& extents, const std::vector<ir::DimId>& dims) {
    std::vector<std::int64_t> sizes;
    for (const ir::DimId dim : dims) sizes.push_back(extents[dim]);
    return sizes;
}

}  // namespace fact::tools
