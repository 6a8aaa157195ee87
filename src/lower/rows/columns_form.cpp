#include <algorithm>
#include <vector>

#include "ir/dims.h"
#include "ir/extents.h"
#include "ir/needed.h"
#include "lower/rows/columns.h"
#include "lower/rows/record.h"
#include "lower/rows/register_values.h"

namespace fact::lower {

namespace {

using ir::ExprId;

// Threads that keep a GPU busy: with loads of 16 bytes, or, where rows are fewer, of less. Those
// that hold their rows have all of it in flight.
constexpr std::int64_t kEnoughThreads = 132 * 1024, kFewestThreads = 132 * 512,
                       kFewestHolding = 132 * 256;
// Elements of a row that a thread reads: with more, the last threads would run alone for long, and
// what a block's threads need to share a row costs little.
constexpr std::int64_t kMostRead = 512;
// Elements that a thread holds: more with one row, as no other thread could share it.
constexpr std::int64_t kMostInRows = 64, kMostInOneRow = 128;
constexpr int kMostColumns = 8, kMostBytes = 16;

// Counts the rows that a thread has in registers at a time.
class HeldRows {
  public:
    HeldRows(const ir::Kernel& kernel, const RowsForm& form, const std::set<ExprId>& computed)
        : kernel_(kernel), form_(form), computed_(computed) {}

    std::int64_t most() {
        std::vector<std::set<ExprId>> passes;  // what each reads of what is held
        for (const ExprId id : form_.order)
            if (const auto* reduce = std::get_if<ir::Reduce>(&kernel_[id].node))
                passes.push_back(read(reduce->x));
        passes.emplace_back();
        for (const ir::Output& output : kernel_.outputs) passes.back().merge(read(output.value));
        std::set<ExprId> later;
        std::size_t most = 1;
        for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
            // A value is held from the pass on that reads it first.
            std::size_t live = 0;
            for (const ExprId id : later)
                live += is_param(id) || std::any_of(pass, passes.rend(), [&](const auto& reads) {
                            return reads.contains(id);
                        });
            most = std::max(most, live);
            later.insert(pass->begin(), pass->end());
        }
        const auto params = std::ranges::count_if(
            form_.order, [&](ExprId id) { return is_held_param(kernel_, form_, id); });
        return std::max(static_cast<std::int64_t>(most), static_cast<std::int64_t>(params));
    }

  private:
    bool is_param(ExprId id) const { return std::holds_alternative<ir::Param>(kernel_[id].node); }
    // Also what a held value is computed from, if this pass is the first that needs it.
    std::set<ExprId> read(ExprId root) {
        std::set<ExprId> all;
        std::vector<ExprId> open{root};
        while (!open.empty()) {
            const ExprId id = open.back();
            open.pop_back();
            const bool computed = computed_.contains(id);
            if (computed || is_held_param(kernel_, form_, id)) all.insert(id);
            if (computed && !known_.insert(id).second) continue;
            // What a reduction has read is not read again.
            if (std::holds_alternative<ir::Reduce>(kernel_[id].node)) continue;
            ir::for_each_operand(kernel_[id].node, [&](ExprId x) { open.push_back(x); });
        }
        return all;
    }

    const ir::Kernel& kernel_;
    const RowsForm& form_;
    const std::set<ExprId>& computed_;
    std::set<ExprId> known_;  // those of computed_ that a pass has computed
};

bool reads_backwards(const ir::Kernel& kernel) {
    return std::ranges::any_of(kernel.exprs, [](const ir::Expr& expr) {
        return std::holds_alternative<ir::Flip>(expr.node);
    });
}

// Whether so many neighbours can be read and written together.
bool together(const ir::Kernel& kernel, const ColumnsForm& form, const RowsFacts& facts,
              int count) {
    const ir::DimId last = form.dims.rows.back();
    if (facts.known(kernel, last) % count != 0) return false;
    const auto fits = [&](const ir::Tensor& tensor, std::size_t number) {
        if (!is_side_by_side(kernel, form.dims, tensor)) return true;
        const int alignment = number < facts.alignment.size() ? facts.alignment[number] : 16;
        return alignment % columns_access(tensor, count) == 0;
    };
    for (std::size_t i = 0; i < kernel.params.size(); ++i)
        if (ir::is_read(kernel, i) && !fits(kernel.params[i], i)) return false;
    for (std::size_t i = 0; i < kernel.outputs.size(); ++i)
        if (!fits(kernel.outputs[i].tensor, kernel.params.size() + i)) return false;
    return true;
}

// Whether no tensor that is read gains from so many neighbours: half of them are 16 bytes already.
bool too_wide(const ir::Kernel& kernel, const ColumnsForm& form, int count) {
    const auto wide = [&](const ir::Tensor& tensor) {
        return is_side_by_side(kernel, form.dims, tensor) &&
               count * info(tensor.type.dtype).bytes > kMostBytes;
    };
    bool all = true;
    for (std::size_t i = 0; i < kernel.params.size(); ++i)
        if (ir::is_read(kernel, i) && is_side_by_side(kernel, form.dims, kernel.params[i]))
            all &= wide(kernel.params[i]);
    return all;
}

}  // namespace

bool is_side_by_side(const ir::Kernel& kernel, const RowsForm& form, const ir::Tensor& tensor) {
    const auto dims = kernel.factors(tensor.type.dims);
    return !dims.empty() && dims.back() == form.rows.back();
}

int columns_access(const ir::Tensor& tensor, int count) {
    return std::min(kMostBytes, count * info(tensor.type.dtype).bytes);
}

std::optional<ColumnsForm> columns_form(const ir::Kernel& kernel, const RowsForm& form,
                                        const RowsFacts& facts) {
    if (form.over.empty() || form.scan || form.has_windows(kernel) || reads_backwards(kernel) ||
        !contiguous_across_rows(kernel, form))
        return std::nullopt;
    for (const ir::Output& output : kernel.outputs)
        if (!is_side_by_side(kernel, form, output.tensor)) return std::nullopt;
    ColumnsForm found{.dims = form};
    double rows = 1, length = 1;
    for (const auto& [dims, count] : {std::pair{&form.rows, &rows}, {&form.over, &length}})
        for (const ir::DimId dim : *dims) {
            const std::int64_t extent = facts.known(kernel, dim);
            if (extent < 1) return std::nullopt;
            *count *= static_cast<double>(extent);
        }
    found.held = needed_again(kernel, form);
    if (rows < (found.held ? kFewestHolding : kFewestThreads) ||
        rows >= static_cast<double>(kMaxCount) || length > kMostRead)
        return std::nullopt;
    found.dims.narrow = true;
    found.length = static_cast<std::int64_t>(length);
    if (found.held) found.in_registers = values_in_registers(kernel, form);
    const std::int64_t held =
        found.held ? found.length * HeldRows(kernel, form, found.in_registers).most() : 0;
    if (held > kMostInOneRow) return std::nullopt;
    for (int count = 2; count <= kMostColumns; count *= 2)
        if (together(kernel, found, facts, count) && !too_wide(kernel, found, count) &&
            held * count <= kMostInRows && rows >= static_cast<double>(kEnoughThreads * count))
            found.neighbours = count;
    return found;
}

}  // namespace fact::lower
