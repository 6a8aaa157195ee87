#include "index/text_features.h"

#include <algorithm>

#include "ir/extents.h"
#include "support/result.h"
#include "target/dtype.h"

namespace fact::index {

namespace {

using ir::Kernel;

class Reader {
  public:
    Reader(const Kernel& kernel, const Extents& given) : kernel_(kernel) {
        for (const ir::Dim& dim : kernel.dims) {
            const auto found = given.find(dim.name);
            extents_.push_back(dim.extent             ? *dim.extent
                               : found == given.end() ? ir::kUnknownExtent
                                                      : found->second);
        }
        // Contradictory extents are ignored here.
        ir::solve_extents(kernel, extents_);
    }

    void read(std::vector<Step>& steps, Features& features) {
        const auto live = ir::reachable(kernel_);
        const std::size_t first = steps.size();
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i) {
            Step step;
            const auto& node = kernel_.exprs[i].node;
            if (live[i]) step.what = name(node);
            ir::for_each_operand(
                node, [&](ir::ExprId id) { step.reads.push_back(first + ir::index(id)); });
            steps.push_back(std::move(step));
        }
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (live[i]) add_details(kernel_.exprs[i].node, steps, features.sizes);
        for (const auto& param : kernel_.params) add_type(param, features);
        for (const auto& output : kernel_.outputs) add_type(output.tensor, features);
        if (!features.sizes.m && !features.sizes.n && !kernel_.params.empty())
            rows_of(kernel_.params.front().type.dims, features.sizes);
    }

  private:
    static std::string name(const ir::Node& node) {
        const auto word = [](std::string_view text) { return std::string(text); };
        return std::visit(
            overloaded{[&](const ir::Unary& n) { return word(ir::info(n.op).name); },
                       [&](const ir::Binary& n) { return word(ir::info(n.op).name); },
                       [&](const ir::Select&) { return word("where"); },
                       [&](const ir::Reduce& n) { return word(ir::info(n.op).name) + " over"; },
                       [&](const ir::Scan& n) { return word(ir::info(n.op).name); },
                       [&](const ir::Product&) { return word("@"); },
                       [&](const ir::Attention&) { return word("attention"); },
                       [&](const ir::LogSumExp&) { return word("logsumexp"); },
                       [&](const ir::Flip&) { return word("flip"); },
                       [&](const ir::Window&) { return word("window"); },
                       [&](const ir::Index&) { return word("index"); },
                       [](const ir::Param&) { return std::string(); },
                       [](const ir::Literal&) { return std::string(); },
                       [](const ir::Extent&) { return std::string(); },
                       [](const ir::Cast&) { return std::string(); },
                       [](const ir::Permute&) { return std::string(); },
                       [](const ir::Expand&) { return std::string(); },
                       [](const ir::View&) { return std::string(); }},
            node);
    }

    // Adds the sizes of a product or an attention, and features such as its mask.
    void add_details(const ir::Node& node, std::vector<Step>& steps, Sizes& sizes) {
        const auto add_if = [&](bool holds, const char* what) {
            if (holds) steps.push_back({what});
        };
        if (const auto* product = std::get_if<ir::Product>(&node)) {
            add_if(product->precision == ir::Precision::tf32, "tf32");
            const auto &a = kernel_[product->a].type.dims, &b = kernel_[product->b].type.dims;
            keep_largest({a.end()[-2], b.back(), a.back(), a, b}, sizes);
        } else if (const auto* attention = std::get_if<ir::Attention>(&node)) {
            const auto &q = kernel_[attention->q].type.dims, &k = kernel_[attention->k].type.dims;
            add_if(attention->causal, "causal");
            add_if(attention->window.has_value(), "window");
            add_if(attention->cap.has_value(), "cap");
            add_if(attention->bias.has_value(), "bias");
            add_if(attention->precision == ir::Precision::tf32, "tf32");
            add_if(q.size() > k.size(), "grouped");
            // `q` stands for both operands, so that all heads count as batches.
            keep_largest({q.end()[-2], k.end()[-2], q.back(), q, q}, sizes);
        }
    }

    struct Matrices {
        ir::DimId m, n, k;
        const std::vector<ir::DimId>&a, &b;  // all dimensions of the operands
    };

    // Keeps the sizes of the largest product. Batches that the second operand lacks count as rows.
    void keep_largest(const Matrices& product, Sizes& sizes) {
        const auto& [m, n, k, a, b] = product;
        Sizes here{known_extent(m), known_extent(n), known_extent(k), 1};
        for (std::size_t i = 0; i + 2 < a.size(); ++i) {
            const bool shared = std::ranges::find(b, a[i]) != b.end();
            auto& into = shared ? here.batch : here.m;
            const auto extent = known_extent(a[i]);
            into = into && extent ? std::optional(*into * *extent) : std::nullopt;
        }
        if (!sizes.k || work(here) > work(sizes)) sizes = here;
    }

    void rows_of(const std::vector<ir::DimId>& dims, Sizes& sizes) {
        if (dims.empty()) return;
        sizes.n = known_extent(dims.back());
        sizes.m = 1;
        for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
            const auto extent = known_extent(dims[i]);
            sizes.m = sizes.m && extent ? std::optional(*sizes.m * *extent) : std::nullopt;
        }
    }

    static double work(const Sizes& sizes) {
        double flops = 1;
        for (const auto& size : {sizes.m, sizes.n, sizes.k, sizes.batch})
            flops *= static_cast<double>(size.value_or(1));
        return flops;
    }

    std::optional<std::int64_t> known_extent(ir::DimId dim) const {
        const auto extent = extents_[ir::index(dim)];
        return extent > 0 ? std::optional(extent) : std::nullopt;
    }

    static void add_type(const ir::Tensor& tensor, Features& features) {
        const auto& type = info(tensor.type.dtype);
        if (type.floating) features.types.insert(std::string(type.name));
    }

    const Kernel& kernel_;
    std::vector<std::int64_t> extents_;
};

}  // namespace

Features text_features(const dsl::Program& program, const Extents& extents) {
    std::vector<Step> steps;
    Features collected;  // types and sizes
    for (const Kernel& kernel : program.pipelines.empty() ? program.kernels : program.pipelines)
        Reader(kernel, extents).read(steps, collected);
    Features found = features_of(steps);
    found.types = std::move(collected.types);
    found.sizes = collected.sizes;
    return found;
}

}  // namespace fact::index
