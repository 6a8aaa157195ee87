#include "ir/elementwise.h"

#include <algorithm>

#include "ir/dims.h"
#include "ir/needed.h"
#include "ir/number.h"
#include "ir/parallel.h"
#include "ir/pointwise.h"
#include "support/division.h"
#include "support/result.h"

namespace fact::ir {
namespace {

constexpr std::int64_t kPiece = 256;           // elements of a row that are computed at once
constexpr std::int64_t kTaskElements = 16384;  // of one task, in whole rows

using Coordinates = std::vector<std::int64_t>;

// One expression of the program: computes a piece of a row from those of earlier steps.
struct Step {
    ExprId expr{};
    const Source* source = nullptr;  // set if the values are loaded instead of computed
    bool varies = false;             // along the row; otherwise it is one number
};

// The expressions that `root` is computed from, as steps that compute pieces of rows along `inner`.
class Program {
  public:
    Program(const Environment& environment, ExprId root, std::optional<DimId> inner)
        : environment_(environment), root_(root), inner_(inner) {
        step_of_.resize(index(root) + 1);
        const auto needed = needed_for(environment.kernel, {root}, [&](ExprId id) {
            return environment.sources.contains(static_cast<std::uint32_t>(id));
        });
        for (std::size_t i = 0; i <= index(root); ++i)
            if (needed[i]) add(static_cast<ExprId>(i));
    }

    std::size_t size() const { return steps_.size(); }

    // Computes `count` elements starting at `at`; `memory` has kPiece numbers per step.
    Row run(const Coordinates& at, std::int64_t count, std::vector<double>& memory) const {
        for (std::size_t i = 0; i < steps_.size(); ++i)
            compute(steps_[i], at, steps_[i].varies ? count : 1, memory, &memory[i * kPiece]);
        return row(root_, memory);
    }

  private:
    void add(ExprId id) {
        const Expr& expr = environment_.kernel[id];
        const auto source = environment_.sources.find(static_cast<std::uint32_t>(index(id)));
        const auto& dims = expr.type.dims;
        const bool varies = inner_ && contains(dims, *inner_);
        // Coordinates are by dimension id, so a permuted or expanded value is the same row.
        const auto* permute = std::get_if<Permute>(&expr.node);
        const auto* expand = std::get_if<Expand>(&expr.node);
        if ((permute || expand) && source == environment_.sources.end()) {
            step_of_[index(id)] = step_of_[index(permute ? permute->x : expand->x)];
            return;
        }
        step_of_[index(id)] = steps_.size();
        steps_.push_back(
            {id, source == environment_.sources.end() ? nullptr : &source->second, varies});
    }

    Row row(ExprId id, const std::vector<double>& memory) const {
        const std::size_t step = step_of_[index(id)];
        return {&memory[step * kPiece], steps_[step].varies ? 1 : 0};
    }

    void compute(const Step& step, const Coordinates& at, std::int64_t count,
                 const std::vector<double>& memory, double* out) const {
        if (step.source) return load_source(*step.source, at, count, out);
        const auto in = [&](ExprId id) { return row(id, memory); };
        const Expr& expr = environment_.kernel[step.expr];
        std::visit(
            overloaded{
                [&](const Literal& n) { *out = n.value; },
                [&](const Index& n) {
                    for (std::int64_t i = 0; i < count; ++i)
                        out[i] = static_cast<double>(at[index(n.dim)] + i);
                },
                [&](const Extent& n) {
                    *out = static_cast<double>(environment_.extents[index(n.dim)]);
                },
                [&](const Unary& n) { apply(n.op, in(n.x), count, out); },
                [&](const Binary& n) { apply(n.op, in(n.a), in(n.b), count, out); },
                [&](const Select& n) { select(in(n.condition), in(n.a), in(n.b), count, out); },
                [&](const Cast& n) { cast(in(n.x), expr.type.dtype, count, out); },
                [](const Permute&) {},
                [](const Expand&) {},
                [](const one_of<Param, View, Flip, Window, Reduce, Scan, Product, Attention,
                                LogSumExp> auto&) {
                    throw InternalError("an expression has no source");
                },
            },
            expr.node);
    }

    void load_source(const Source& source, const Coordinates& at, std::int64_t count,
                     double* out) const {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * source.strides[d];
        load(source.data, source.dtype, offset, inner_ ? source.strides[index(*inner_)] : 0, count,
             out);
    }

    void cast(Row x, DType dtype, std::int64_t count, double* out) const {
        const bool rounds = environment_.round_casts || !info(dtype).floating;
        for (std::int64_t i = 0; i < count; ++i) {
            const double value = x.data[i * x.step];
            out[i] = rounds ? round_to(value, dtype) : value;
        }
    }

    const Environment& environment_;
    ExprId root_;
    std::optional<DimId> inner_;
    std::vector<Step> steps_;
    std::vector<std::size_t> step_of_;  // by expression id: the position of its step
};

}  // namespace

void evaluate(const Environment& environment, ExprId root, const std::vector<DimId>& order,
              const Sink& sink) {
    const auto inner = order.empty() ? std::nullopt : std::optional(order.back());
    const Program program(environment, root, inner);
    const std::int64_t length = inner ? environment.extents[index(*inner)] : 1;
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < order.size(); ++i) rows *= environment.extents[index(order[i])];
    if (rows == 0 || length == 0) return;
    const std::int64_t rows_per_task = std::max<std::int64_t>(1, kTaskElements / length);

    parallel_for(ceil_div(rows, rows_per_task), environment.threads, [&](std::int64_t task) {
        std::vector<double> memory(program.size() * kPiece), repeated(kPiece);
        Coordinates at(environment.extents.size());
        const std::int64_t end = std::min(rows, (task + 1) * rows_per_task);
        for (std::int64_t r = task * rows_per_task; r < end; ++r) {
            std::int64_t rest = r;
            for (std::size_t i = order.size() - (inner ? 1 : 0); i-- > 0;) {
                const std::size_t d = index(order[i]);
                at[d] = rest % environment.extents[d];
                rest /= environment.extents[d];
            }
            for (std::int64_t first = 0; first < length; first += kPiece) {
                if (inner) at[index(*inner)] = first;
                const std::int64_t count = std::min(kPiece, length - first);
                Row row = program.run(at, count, memory);
                if (row.step == 0) {
                    std::fill_n(repeated.data(), count, *row.data);
                    row.data = repeated.data();
                }
                sink(at, count, row.data);
            }
        }
    });
}

std::vector<std::int64_t> contiguous_strides(const Environment& environment,
                                             const std::vector<DimId>& order) {
    std::vector<std::int64_t> strides(environment.extents.size());
    std::int64_t size = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
        strides[index(order[i])] = size;
        size *= environment.extents[index(order[i])];
    }
    return strides;
}

std::vector<double> materialize(const Environment& environment, ExprId root,
                                const std::vector<DimId>& order) {
    std::int64_t size = 1;
    for (const DimId dim : order) size *= environment.extents[index(dim)];
    const auto strides = contiguous_strides(environment, order);
    std::vector<double> out(size);
    evaluate(environment, root, order,
             [&](const Coordinates& at, std::int64_t count, const double* values) {
                 std::int64_t offset = 0;
                 for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
                 std::copy_n(values, count, out.data() + offset);
             });
    return out;
}

}  // namespace fact::ir
