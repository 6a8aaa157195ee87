#include "match/siblings.h"

#include <fmt/format.h>

#include <algorithm>

#include "match/cost.h"
#include "match/forms.h"
#include "match/write.h"

namespace fact::match {

using graph::Graph;
using graph::ValueId;
using ir::ExprId;

namespace {

constexpr std::size_t kMost = 8;  // every element of the stacked weights looks at all of them

bool is_contiguous(const graph::TensorType& type) {
    std::int64_t stride = 1;
    for (std::size_t d = type.sizes.size(); d-- > 0; stride *= type.sizes[d])
        if (type.sizes[d] != 1 && type.strides[d] != stride) return false;
    return true;
}

bool may_join(const Graph& graph, const Facts& facts, const Region& region) {
    const Anchor& anchor = region.anchor;
    const auto constant = [&](ValueId value) { return bool{facts.constant[graph::index(value)]}; };
    return anchor.rule == "linear" && region.nodes.size() == 1 && !anchor.cut && !region.second &&
           info(graph[anchor.b].type->dtype).bytes == 2 &&
           is_contiguous(*graph[anchor.result].type) && constant(anchor.b) &&
           (!anchor.addend || constant(*anchor.addend)) &&
           !facts.escapes[graph::index(anchor.result)];
}

bool alike(const Graph& graph, const Anchor& x, const Anchor& y) {
    return x.a == y.a && x.b != y.b && graph[x.b].type == graph[y.b].type &&
           graph[x.result].type == graph[y.result].type;
}

// y[S, M, N] = x @ w.T + b over stacks of weights and biases.
class Writer {
  public:
    Writer(const Graph& graph, const Facts& facts, const std::vector<Layout>& layouts)
        : graph_(graph),
          facts_(facts),
          layouts_(layouts),
          build_(kernel_),
          forms_(kernel_, layouts.front()),
          stack_(kernel_.dim(std::to_string(layouts.size()))) {}

    Written write() {
        const Layout& first = layouts_.front();
        const ir::DimId m = forms_.dim(first.m), n = forms_.dim(first.n), k = forms_.dim(first.k);
        const ExprId x = build_.permute(param("x", first.a), {m, k});
        std::vector<ExprId> weights, biases;
        for (const Layout& layout : layouts_)
            weights.push_back(build_.permute(param(numbered("w", weights), layout.b), {n, k}));
        const bool biased = std::ranges::any_of(
            layouts_, [](const Layout& layout) { return !layout.sides.empty(); });
        for (const Layout& layout : layouts_)
            biases.push_back(layout.sides.empty() ? build_.literal(0)
                                                  : param(numbered("b", biases), layout.sides[0]));
        ExprId y = named("acc", build_.product(x, build_.transpose(stack("w", weights, {n, k}))));
        if (biased) y = build_.binary(ir::BinaryOp::add, y, stack("b", biases, {n}));
        const DType dtype = graph_[first.results[0].value].type->dtype;
        kernel_.name = biased ? "linears_bias" : "linears";
        kernel_.outputs.push_back({{"y", {dtype, {stack_, m, n}}, {}}, y});
        ir::drop_dead(kernel_);
        if (const std::string wrong = ir::verify(kernel_); !wrong.empty())
            throw InternalError("linears of one input give a bad kernel: " + wrong);

        Written written{std::move(kernel_), {}, std::move(params_), {}};
        for (const Layout& layout : layouts_) {
            auto part = bind(graph_, facts_, "y", layout.results[0]);
            part.dims.insert(part.dims.begin(), std::vector<int>{});
            written.results.push_back(std::move(part));
        }
        for (const Atom& atom : first.atoms) written.extents[atom.name] = atom.extent;
        return written;
    }

  private:
    static std::string numbered(const char* name, const std::vector<ExprId>& before) {
        return fmt::format("{}{}", name, before.size() + 1);
    }

    ExprId named(const char* name, ExprId x) {
        kernel_.exprs[ir::index(x)].name = name;
        return x;
    }

    ExprId param(const std::string& name, const Laid& laid) {
        kernel_.params.push_back(
            {name, {graph_[laid.value].type->dtype, forms_.dims(laid.order)}, {}});
        params_.push_back(bind(graph_, facts_, name, laid));
        return build_.param(static_cast<std::uint32_t>(kernel_.params.size() - 1));
    }

    // Kept in memory, so that it is computed once.
    ExprId stack(const char* name, const std::vector<ExprId>& parts, std::vector<ir::DimId> dims) {
        const DType dtype = graph_[layouts_.front().b.value].type->dtype;
        dims.insert(dims.begin(), stack_);
        const auto whole = [&](ExprId part) {  // a number fits as it is
            return kernel_[part].type.dims.empty() ? part : build_.expand(part, dims);
        };
        ExprId all = whole(parts.back());
        for (std::size_t i = parts.size() - 1; i-- > 0;) {
            const ExprId here = build_.binary(ir::BinaryOp::eq, build_.index(stack_),
                                              build_.literal(static_cast<double>(i), DType::i32));
            all = build_.select(here, whole(parts[i]), all);
        }
        all = named(name, build_.cast(dtype, all));
        kernel_.exprs[ir::index(all)].stored = true;
        return all;
    }

    const Graph& graph_;
    const Facts& facts_;
    const std::vector<Layout>& layouts_;
    ir::Kernel kernel_;
    ir::Builder build_;
    Forms forms_;
    ir::DimId stack_;
    std::vector<graph::Binding> params_;
};

std::string objection(const std::vector<Layout>& layouts) {
    const Layout& first = layouts.front();
    const auto lies = [](const Laid& x, const Laid& y) {
        return x.order == y.order && x.dims == y.dims;
    };
    for (const Layout& layout : layouts) {
        if (layout.swapped || !layout.batches.empty())
            return "linears of one input are joined where it is a matrix";
        if (!lies(layout.a, first.a) || !lies(layout.b, first.b) ||
            !lies(layout.results[0], first.results[0]) ||
            layout.results[0].order != std::vector{layout.m, layout.n})
            return "linears of one input are joined where they lie alike";
    }
    return "";
}

}  // namespace

std::vector<std::vector<Region>> siblings(const Graph& graph, const Facts& facts,
                                          const std::vector<Region>& linears) {
    std::vector<std::vector<Region>> groups;
    for (const Region& region : linears) {
        if (!may_join(graph, facts, region)) continue;
        const auto own = std::ranges::find_if(groups, [&](const std::vector<Region>& group) {
            return group.size() < kMost && std::ranges::all_of(
                                               group,
                                               [&](const Region& other) {
                                                   return alike(graph, region.anchor, other.anchor);
                                               });
        });
        if (own == groups.end())
            groups.push_back({region});
        else
            own->push_back(region);
    }
    std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
    return groups;
}

Result<Pattern> write_siblings(const Graph& graph, const Facts& facts,
                               const std::vector<Region>& linears, const Options& options,
                               const GpuSpec& gpu) {
    std::vector<Layout> layouts;
    std::vector<graph::NodeId> nodes;
    std::vector<ValueId> outputs;
    for (const Region& linear : linears) {
        auto layout = layout_of(graph, linear);
        if (!layout) return layout.error();
        layouts.push_back(std::move(*layout));
        nodes.push_back(linear.anchor.node);
        outputs.push_back(linear.anchor.result);
    }
    if (std::string why = objection(layouts); !why.empty()) return Error{std::move(why), ""};
    const Written written = Writer(graph, facts, layouts).write();
    Pattern pattern = assemble(graph, nodes, outputs, written);
    pattern.rule = "linears";
    pattern.where = graph[nodes.front()].where;
    const Layout& first = layouts.front();
    pattern.problem.operands = graph[linears.front().anchor.a].type->dtype;
    pattern.problem.output = graph[outputs.front()].type->dtype;
    pattern.problem.m = first.extent(first.m);
    pattern.problem.n = first.extent(first.n);
    pattern.problem.k = first.extent(first.k);
    pattern.problem.batch = static_cast<std::int64_t>(linears.size());
    pattern.cost = cost_of(graph, nodes, pattern, options, gpu);
    const auto expected = staged_us(written, options, gpu);
    if (!expected) return expected.error();
    pattern.cost.expected_us = *expected;
    finish(graph, pattern);
    return pattern;
}

}  // namespace fact::match
