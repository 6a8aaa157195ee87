#include "lower/rows/vector_form.h"

#include <algorithm>

#include "ir/extents.h"
#include "lower/rows/flips.h"
#include "support/division.h"

namespace fact::lower {

namespace {

// Counted in registers a thread, of which a few dozen more go to addresses and temporaries: half of
// what 1024 threads a multiprocessor may have each.
constexpr double kMaxHeld = 40;
constexpr int kMaxVector = 8, kMaxThreads = 1024;
constexpr std::int64_t kLongestPieces = 1024;
constexpr double kMinAhead = 32;  // bytes that each of those should have on their way

class Chooser {
  public:
    Chooser(const ir::Kernel& kernel, const RowsForm& form, const RowsFacts& facts)
        : kernel_(kernel), facts_(facts) {
        result_.rows = form;
    }

    std::optional<VectorForm> run() {
        if (!find_row() || !find_tensors()) return std::nullopt;
        choose_vector();
        if (!choose_threads()) return std::nullopt;
        // What is read backwards along the row, a thread must have.
        if (result_.vector % backwards_ != 0) return std::nullopt;
        return result_;
    }

  private:
    // What is reduced over, or where nothing is, the last dimension of the output; where that is
    // flipped, and so no longer than what a thread reads at a time, with those before it.
    bool find_row() {
        RowsForm& form = result_.rows;
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
        RowsForm& form = result_.rows;
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

    // Every tensor along the row has it as the fastest part of its last dimension; of several
    // dimensions some may also be missing, and it is then read element by element.
    bool find_tensors() {
        const auto& row = result_.rows.over;
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
        auto ways = ways_read(kernel_);
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
            std::set<Flips> rows;  // those it is read from for one
            for (Flips flips : ways[static_cast<std::uint32_t>(i)]) {
                for (const ir::DimId dim : row)
                    if (flips.erase(dim) > 0)
                        backwards_ = std::max(backwards_, flip_span(kernel_, row, dim).length);
                rows.insert(flips);
            }
            // The same for all rows.
            if (kernel_.factors(tensor.type.dims).size() == row.size()) continue;
            held_ahead_ += static_cast<double>(rows.size()) * info(tensor.type.dtype).bytes / 4;
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
            const int given = i < facts_.alignment.size() ? facts_.alignment[i] : 16;
            const int most = std::min(std::min(16, bytes * result_.vector), std::max(given, bytes));
            while (2 * bytes <= most) bytes *= 2;
        }
    }

    // Registers a thread that has so many elements needs for them.
    double held(int elements, bool ahead) const {
        return elements * (1 + (ahead ? held_ahead_ : 0));
    }

    bool choose_threads() {
        const int vector = result_.vector;
        const auto vectors = result_.length / vector;
        const auto elements = [&](int threads) {
            return static_cast<int>(ceil_div(vectors, threads)) * vector;
        };
        // Several rows a warp where rows are short, and then a warp each, as long as that fits.
        // What a row's threads read together should be whole sectors of the cache.
        const auto sector = std::min<std::int64_t>(32, result_.length * narrowest_);
        for (int threads = 1; threads <= 32; threads *= 2) {
            result_.threads = threads;
            const double most = threads < 32 ? kMaxHeld * 0.6 : kMaxHeld;
            if (threads * vector * narrowest_ >= sector && held(elements(threads), true) <= most)
                return true;
        }
        // Then a block, of few threads with several vectors each unless many would have none.
        double least_idle = 0;
        int best = 0;
        for (int steps = std::max(1, 16 / vector); steps >= 1; --steps) {
            const int threads = static_cast<int>(round_up(ceil_div(vectors, steps), 32));
            const double idle = 1.0 * threads * ceil_div(vectors, threads) / vectors;
            if (threads > kMaxThreads || held(steps * vector, true) > kMaxHeld) continue;
            if (best > 0 && 4 * held_ahead_ * steps * vector < kMinAhead) break;
            if (best == 0 || idle < least_idle - 0.02) best = threads, least_idle = idle;
        }
        if (best == 0) {
            best = kMaxThreads;
            result_.ahead = false;
            if (held(elements(best), false) + elements(best) * held_ahead_ > kMaxHeld) return false;
        }
        result_.threads = best;
        return true;
    }

    const ir::Kernel& kernel_;
    const RowsFacts& facts_;
    VectorForm result_;
    double held_ahead_ = 0;  // registers for what is loaded ahead, an element
    int narrowest_ = 8;
    bool any_ = false;
    std::int64_t backwards_ = 1;  // elements that have to be read together
};

}  // namespace

std::optional<VectorForm> vector_form(const ir::Kernel& kernel, const RowsForm& form,
                                      const RowsFacts& facts) {
    return Chooser(kernel, form, facts).run();
}

}  // namespace fact::lower
