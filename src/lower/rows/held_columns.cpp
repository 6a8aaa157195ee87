#include <algorithm>

#include "ir/dims.h"
#include "ir/extents.h"
#include "lower/record/record_parts.h"
#include "lower/rows/limits.h"
#include "lower/rows/record.h"
#include "lower/rows/vector_form.h"
#include "support/division.h"

namespace fact::lower {

namespace {

constexpr int kWarps = kClusterThreads / 32;
constexpr std::int64_t kBusyBlocks = 96;
// Bytes of shared memory that a kernel has without asking for it, and those of an element: a
// reduction's, which may be a number and its place.
constexpr std::int64_t kSharedBytes = 48 * 1024, kMostElementBytes = 8;

class HeldColumnsChooser {
  public:
    HeldColumnsChooser(const ir::Kernel& kernel, const RowsForm& form, const RowsFacts& facts)
        : kernel_(kernel), facts_(facts) {
        found_.dims = form;
        found_.across = true;
        found_.prefetch = false;
    }

    std::optional<VectorForm> run() {
        const RowsForm& form = found_.dims;
        const bool fits = has_clusters(facts_.arch) && !form.scan && !form.rows.empty() &&
                          !form.over.empty() && !form.has_windows(kernel_) && !has_flips() &&
                          needed_again(kernel_, form) && contiguous_across_rows(kernel_, form) &&
                          find_length() && find_tensors() && choose_blocks() && fits_memory();
        return fits ? std::optional(found_) : std::nullopt;
    }

  private:
    bool has_flips() const {
        return std::ranges::any_of(kernel_.exprs, [](const ir::Expr& expr) {
            return std::holds_alternative<ir::Flip>(expr.node);
        });
    }

    bool find_length() {
        found_.length = 1;
        for (const ir::DimId dim : found_.dims.over) {
            const std::int64_t extent = facts_.known(kernel_, dim);
            if (extent < 1) return false;
            found_.length *= extent;
        }
        return found_.length > kMostHeld;
    }

    // Tensors have all dimensions along the row, as one run in the same order with rows after it,
    // or none of them.
    bool find_tensors() {
        const auto add = [&](const ir::Tensor& tensor, bool read) {
            const auto dims = kernel_.factors(tensor.type.dims);
            const auto& row = found_.dims.over;
            const bool along =
                std::ranges::any_of(dims, [&](ir::DimId dim) { return ir::contains(row, dim); });
            found_.access.push_back(along && read ? info(tensor.type.dtype).bytes : 0);
            if (!along || !read) return true;
            if (!ir::contains(dims, row)) return false;
            if (num_tensors_ == 0) put_in_order_of(dims);
            ++num_tensors_;
            const auto run = std::ranges::search(dims, row);
            return !run.empty() && run.end() != dims.end() && ends_a_dim(tensor, row.back());
        };
        for (std::size_t i = 0; i < kernel_.params.size(); ++i)
            if (!add(kernel_.params[i], ir::is_read(kernel_, i))) return false;
        inputs_ = num_tensors_;
        return inputs_ > 0 && std::ranges::all_of(kernel_.outputs, [&](const ir::Output& output) {
                   return add(output.tensor, true);
               });
    }

    void put_in_order_of(const std::vector<ir::DimId>& dims) {
        std::ranges::sort(found_.dims.over, {},
                          [&](ir::DimId dim) { return ir::position(dims, dim); });
    }

    // Whether the factor is the last of a dimension of the tensor, whose stride is its own.
    bool ends_a_dim(const ir::Tensor& tensor, ir::DimId factor) const {
        return std::ranges::any_of(tensor.type.dims, [&](ir::DimId dim) {
            return kernel_.factors({dim}).back() == factor;
        });
    }

    // As few blocks as hold the rows and keep a GPU busy.
    bool choose_blocks() {
        std::int64_t rows = 1;
        for (const ir::DimId dim : found_.dims.rows) {
            const std::int64_t extent = facts_.known(kernel_, dim);
            rows *= extent < 1 ? kBusyBlocks * VectorForm::kColumnsTogether : extent;
        }
        const std::int64_t clusters = ceil_div(rows, std::int64_t{VectorForm::kColumnsTogether});
        found_.threads_per_row = kClusterThreads;
        for (int blocks = 1; blocks <= kMaxCluster; blocks *= 2) {
            const auto held = ceil_div(found_.length, std::int64_t{kWarps} * blocks) * inputs_;
            if (held > kHeldByThread) continue;
            found_.blocks_per_row = blocks;
            if (clusters * blocks >= kBusyBlocks || held <= 4) break;
        }
        return ceil_div(found_.length, std::int64_t{kWarps} * found_.blocks_per_row) * inputs_ <=
               kHeldByThread;
    }

    // Every reduction has an element of each warp, and of each block, for every row.
    bool fits_memory() const {
        const auto reductions = std::ranges::count_if(found_.dims.order, [&](ir::ExprId id) {
            return std::holds_alternative<ir::Reduce>(kernel_[id].node);
        });
        return reductions * (kWarps + found_.blocks_per_row) * VectorForm::kColumnsTogether *
                   kMostElementBytes <=
               kSharedBytes;
    }

    const ir::Kernel& kernel_;
    const RowsFacts& facts_;
    VectorForm found_;
    std::int64_t num_tensors_ = 0, inputs_ = 0;  // that have the row's dimensions
};

}  // namespace

std::optional<VectorForm> held_columns_form(const ir::Kernel& kernel, const RowsForm& form,
                                            const RowsFacts& facts) {
    return HeldColumnsChooser(kernel, form, facts).run();
}

}  // namespace fact::lower
