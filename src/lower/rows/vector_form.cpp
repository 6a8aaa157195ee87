#include "lower/rows/vector_form.h"

#include <algorithm>

#include "ir/extents.h"
#include "lower/rows/flips.h"
#include "support/division.h"

namespace fact::lower {

namespace {

// Registers per thread for elements of the row; a few dozen more are needed for addresses and
// temporaries. With 1024 threads per multiprocessor each may have about twice as many.
constexpr double kMaxHeld = 40;
constexpr int kMaxVector = 8, kMaxThreads = 1024;
constexpr std::int64_t kLongestPieces = 1024;
constexpr double kMinPrefetch = 32;  // bytes that each thread should have in flight

class Chooser {
  public:
    Chooser(const ir::Kernel& kernel, const RowsForm& form, const RowsFacts& facts)
        : kernel_(kernel), facts_(facts) {
        result_.dims = form;
    }

    std::optional<VectorForm> run() {
        if (!find_row() || !find_tensors()) return std::nullopt;
        choose_vector();
        if (!choose_threads()) return std::nullopt;
        // A thread must have all elements that it reads backwards along the row.
        if (result_.vector % backwards_ != 0) return std::nullopt;
        return result_;
    }

  private:
    // The row is what is reduced over, or in a pointwise kernel the last dimension of the output.
    // If that is flipped, and so at most as long as one vector, dimensions before it are added.
    bool find_row() {
        RowsForm& form = result_.dims;
        if (form.over.empty()) {
            if (form.rows.empty()) return false;
            form.over = {form.rows.back()};
            form.rows.pop_back();
        }
        if (form.over.size() != 1 || form.rows.empty()) return false;
        const bool pointwise = std::none_of(form.order.begin(), form.order.end(), [&](auto id) {
            return std::holds_alternative<ir::Reduce>(kernel_[id].node);
        });
        if (pointwise && is_flipped(form.over.front())) return find_pieces();
        const ir::DimId dim = form.over.front();
        std::int64_t known = kernel_[dim].extent.value_or(ir::kUnknownExtent);
        if (known == ir::kUnknownExtent && ir::index(dim) < facts_.extents.size())
            known = facts_.extents[ir::index(dim)];
        result_.length = known;
        return known > 0;
    }

    bool is_flipped(ir::DimId dim) const {
        return std::any_of(kernel_.exprs.begin(), kernel_.exprs.end(), [&](const ir::Expr& expr) {
            const auto* flip = std::get_if<ir::Flip>(&expr.node);
            return flip && flip->dim == dim;
        });
    }

    bool find_pieces() {
        RowsForm& form = result_.dims;
        result_.length = *kernel_[form.over.front()].extent;
        while (form.rows.size() > 1) {
            const auto more = kernel_[form.rows.back()].extent;
            if (!more || result_.length * *more > kLongestPieces) break;
            result_.length *= *more;
            form.over.insert(form.over.begin(), form.rows.back());
            form.rows.pop_back();
        }
        return true;
    }

    // Every tensor that varies along the row must be contiguous along it. If the row has several
    // dimensions, a tensor may lack some, and is then read element by element.
    bool find_tensors() {
        const auto& row = result_.dims.over;
        const auto along = [&](const ir::Tensor& tensor) -> std::optional<bool> {
            const auto dims = kernel_.factors(tensor.type.dims);
            const auto times = std::count_if(dims.begin(), dims.end(), [&](ir::DimId dim) {
                return std::find(row.begin(), row.end(), dim) != row.end();
            });
            const auto length = static_cast<std::ptrdiff_t>(row.size());
            if (times == length && std::equal(row.begin(), row.end(), dims.end() - length))
                return true;
            return times == 0 || length > 1 ? std::optional(false) : std::nullopt;
        };
        auto ways = flips_per_param(kernel_);
        for (std::size_t i = 0; i < kernel_.params.size(); ++i) {
            const ir::Tensor& tensor = kernel_.params[i];
            const auto is = along(tensor);
            if (!ir::is_read(kernel_, i)) {
                result_.access.push_back(0);
                continue;
            }
            if (!is) return false;
            result_.access.push_back(*is ? info(tensor.type.dtype).bytes : 0);
            if (!*is) continue;
            any_ = true;
            std::set<Flips> rows;  // the rows of it that are read for one row
            for (Flips flips : ways[static_cast<std::uint32_t>(i)]) {
                for (const ir::DimId dim : row)
                    if (flips.erase(dim) > 0)
                        backwards_ = std::max(backwards_, flip_span(kernel_, row, dim).length);
                rows.insert(flips);
            }
            // Every row reads the same elements: not loaded again.
            if (kernel_.factors(tensor.type.dims).size() == row.size()) continue;
            prefetched_ += static_cast<double>(rows.size()) * info(tensor.type.dtype).bytes / 4;
            narrowest_ = std::min(narrowest_, info(tensor.type.dtype).bytes);
        }
        for (const ir::Output& output : kernel_.outputs) {
            const auto is = along(output.tensor);
            if (!is || (row.size() > 1 && !*is)) return false;
            result_.access.push_back(*is ? info(output.tensor.type.dtype).bytes : 0);
            if (*is) narrowest_ = std::min(narrowest_, info(output.tensor.type.dtype).bytes);
            any_ |= *is;
        }
        return any_;
    }

    void choose_vector() {
        while (result_.vector < kMaxVector && result_.vector * narrowest_ < 16 &&
               result_.length % (2 * result_.vector) == 0)
            result_.vector *= 2;
        for (std::size_t i = 0; i < result_.access.size(); ++i) {
            int& bytes = result_.access[i];
            if (bytes == 0) continue;
            const int alignment = i < facts_.alignment.size() ? facts_.alignment[i] : 16;
            const int most =
                std::min(std::min(16, bytes * result_.vector), std::max(alignment, bytes));
            while (2 * bytes <= most) bytes *= 2;
        }
    }

    // Registers that a thread needs for its elements.
    double held(int elements, bool prefetch) const {
        return elements * (1 + (prefetch ? prefetched_ : 0));
    }

    bool choose_threads() {
        const int vector = result_.vector;
        const auto vectors = result_.length / vector;
        const auto elements = [&](int threads) {
            return static_cast<int>(ceil_div(vectors, threads)) * vector;
        };
        // Short rows share a warp; longer ones have a warp each, as long as they fit into its
        // registers. The threads of a row should together read whole cache sectors.
        const auto sector = std::min<std::int64_t>(32, result_.length * narrowest_);
        for (int threads = 1; threads <= 32; threads *= 2) {
            result_.threads_per_row = threads;
            const double most = threads < 32 ? kMaxHeld * 0.6 : kMaxHeld;
            if (threads * vector * narrowest_ >= sector && held(elements(threads), true) <= most)
                return true;
        }
        // Longer rows have a thread block each: few threads with several vectors each, unless that
        // leaves many threads idle.
        double least_idle = 0;
        int best = 0;
        for (int steps = std::max(1, 16 / vector); steps >= 1; --steps) {
            const int threads = static_cast<int>(round_up(ceil_div(vectors, steps), 32));
            const double idle = 1.0 * threads * ceil_div(vectors, threads) / vectors;
            if (threads > kMaxThreads || held(steps * vector, true) > kMaxHeld) continue;
            if (best > 0 && 4 * prefetched_ * steps * vector < kMinPrefetch) break;
            if (best == 0 || idle < least_idle - 0.02) best = threads, least_idle = idle;
        }
        if (best == 0) {
            best = kMaxThreads;
            result_.prefetch = false;
            if (held(elements(best), false) + elements(best) * prefetched_ > kMaxHeld) return false;
        }
        result_.threads_per_row = best;
        return true;
    }

    const ir::Kernel& kernel_;
    const RowsFacts& facts_;
    VectorForm result_;
    double prefetched_ = 0;  // registers per element for what is prefetched
    int narrowest_ = 8;      // bytes of the smallest element type
    bool any_ = false;
    std::int64_t backwards_ = 1;  // how many neighbouring elements one thread must have
};

}  // namespace

std::optional<VectorForm> vector_form(const ir::Kernel& kernel, const RowsForm& form,
                                      const RowsFacts& facts) {
    return Chooser(kernel, form, facts).run();
}

}  // namespace fact::lower
