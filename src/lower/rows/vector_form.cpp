#include "lower/rows/vector_form.h"

#include <algorithm>

#include "ir/dims.h"
#include "ir/extents.h"
#include "lower/record/record_parts.h"
#include "lower/rows/flips.h"
#include "lower/rows/limits.h"
#include "support/division.h"

namespace fact::lower {

namespace {

// Registers per thread for elements of the row. At 1024 threads per multiprocessor a thread has 64;
// the rest is for addresses and temporaries.
constexpr double kMaxRowRegisters = 40;
// Rows that share a warp get more threads rather than nearly all of those registers.
constexpr double kMaxRowRegistersBelowAWarp = kMaxRowRegisters * 0.6;
constexpr int kMaxVector = 8;                    // elements
constexpr int kMaxThreads = 1024;                // of a thread block
constexpr int kPointwiseThreads = 256;           // of a pointwise one, if a vector each is enough
constexpr std::int64_t kMaxMergedLength = 1024;  // of a row that several dimensions make up
// Bytes of a tensor that a pointwise block reads at least if there is a block for each row.
constexpr std::int64_t kFullBlock = 4096;
// Bytes of a tensor that is gone from L2 when the next of the rows that share it begins.
constexpr std::int64_t kLeavesCache = 4 << 20;
constexpr double kMinPrefetch = 32;  // bytes that each thread should have in flight
constexpr double kManyRows = 96;     // that keep a GPU busy, with a block each

bool ends_with(const std::vector<ir::DimId>& dims, const std::vector<ir::DimId>& last) {
    return dims.size() >= last.size() && std::equal(last.rbegin(), last.rend(), dims.rbegin());
}

class VectorFormChooser {
  public:
    VectorFormChooser(const ir::Kernel& kernel, const RowsForm& form, const RowsFacts& facts)
        : kernel_(kernel), facts_(facts) {
        result_.dims = form;
    }

    std::optional<VectorForm> run() {
        if (result_.dims.scan || result_.dims.has_windows(kernel_)) return std::nullopt;
        if (!find_row() || !find_tensors()) return std::nullopt;
        choose_vector();
        if (!choose_threads()) return std::nullopt;
        // One vector must hold all elements that a flip along the row reverses.
        if (result_.vector % flip_group_ != 0) return std::nullopt;
        if (pointwise_ && result_.rows_per_block() * result_.length * narrowest_ >= kFullBlock)
            result_.all_at_once = true;
        if (result_.threads_per_row >= 32) put_sharing_rows_together();
        return result_;
    }

  private:
    // The row is what is reduced over, or in a pointwise kernel the last dimension of the output.
    // If that last dimension is flipped, it must fit into one vector (see run()), which is a short
    // row, so dimensions before it are merged into it. False if rows cannot be held in registers.
    bool find_row() {
        RowsForm& form = result_.dims;
        if (form.over.empty()) {
            if (form.rows.empty()) return false;
            form.over = {form.rows.back()};
            form.rows.pop_back();
        }
        if (form.rows.empty()) return false;
        pointwise_ = std::none_of(form.order.begin(), form.order.end(), [&](auto id) {
            return std::holds_alternative<ir::Reduce>(kernel_[id].node);
        });
        result_.prefetch = !pointwise_;
        if (pointwise_ && is_flipped(form.over.front())) return merge_dims_into_row();
        if (form.over.size() > 1 && !put_in_memory_order()) return false;
        result_.length = 1;
        for (const ir::DimId dim : form.over) {
            std::int64_t length = kernel_[dim].extent.value_or(ir::kUnknownExtent);
            if (length == ir::kUnknownExtent && ir::index(dim) < facts_.extents.size())
                length = facts_.extents[ir::index(dim)];
            if (length < 1) return false;
            result_.length *= length;
            if (dim == form.over.front()) num_pieces_ = length;
        }
        return true;
    }

    // Orders the dimensions along the row as a parameter that has them all. False if none does, or
    // if one is flipped.
    bool put_in_memory_order() {
        auto& row = result_.dims.over;
        if (std::any_of(row.begin(), row.end(), [&](ir::DimId dim) { return is_flipped(dim); }))
            return false;
        for (const ir::Tensor& param : kernel_.params) {
            const auto dims = kernel_.factors(param.type.dims);
            if (!ir::contains(dims, row)) continue;
            std::sort(row.begin(), row.end(), [&](ir::DimId a, ir::DimId b) {
                return ir::position(dims, a) < ir::position(dims, b);
            });
            in_pieces_ =
                !pointwise_ && !ends_with(dims, row) && ir::contains(param.type.dims, row.front());
            return true;
        }
        return false;
    }

    // Rows that read the same part of a large tensor follow each other, so that memory is asked for
    // it once: a norm's weights for a whole image, which every image of the batch reads.
    void put_sharing_rows_together() {
        auto& rows = result_.dims.rows;
        for (std::size_t i = 0; i < kernel_.params.size(); ++i) {
            const auto dims = kernel_.factors(kernel_.params[i].type.dims);
            const auto has = [&](ir::DimId dim) { return ir::contains(dims, dim); };
            std::int64_t bytes = info(kernel_.params[i].type.dtype).bytes;
            for (const ir::DimId dim : dims)
                bytes *= std::max<std::int64_t>(1, facts_.known(kernel_, dim));
            if (result_.access[i] > 0 && bytes >= kLeavesCache)
                std::ranges::stable_partition(rows, has);
        }
    }

    bool is_flipped(ir::DimId dim) const {
        return std::any_of(kernel_.exprs.begin(), kernel_.exprs.end(), [&](const ir::Expr& expr) {
            const auto* flip = std::get_if<ir::Flip>(&expr.node);
            return flip && flip->dim == dim;
        });
    }

    bool merge_dims_into_row() {
        RowsForm& form = result_.dims;
        result_.length = *kernel_[form.over.front()].extent;
        while (form.rows.size() > 1) {
            const auto more = kernel_[form.rows.back()].extent;
            if (!more || result_.length * *more > kMaxMergedLength) break;
            result_.length *= *more;
            form.over.insert(form.over.begin(), form.rows.back());
            form.rows.pop_back();
        }
        return true;
    }

    enum class Access { vectors, elements, unsupported };

    // A tensor that varies along the row must be contiguous along it. If the row has several
    // dimensions, a tensor may lack some, and is then read element by element.
    Access access_to(const ir::Tensor& tensor) const {
        const auto& row = result_.dims.over;
        const auto dims = kernel_.factors(tensor.type.dims);
        const auto row_dims_in_tensor = std::count_if(dims.begin(), dims.end(), [&](ir::DimId dim) {
            return std::find(row.begin(), row.end(), dim) != row.end();
        });
        const auto row_rank = static_cast<std::ptrdiff_t>(row.size());
        if (row_dims_in_tensor == row_rank && ends_with(dims, row)) return Access::vectors;
        if (row_dims_in_tensor == row_rank && in_pieces_ &&
            ir::contains(tensor.type.dims, row.front()) &&
            ends_with(dims, {row.begin() + 1, row.end()}))
            return Access::vectors;
        return row_dims_in_tensor == 0 || row_rank > 1 ? Access::elements : Access::unsupported;
    }

    // Fills in `access`, with the bytes of single elements, and what choose_vector() and
    // choose_threads() need to know. False if no tensor, or not every one, can be accessed so.
    bool find_tensors() {
        const auto& row = result_.dims.over;
        auto flips_of = flips_per_param(kernel_);
        for (std::size_t i = 0; i < kernel_.params.size(); ++i) {
            const ir::Tensor& tensor = kernel_.params[i];
            if (!ir::is_read(kernel_, i)) {
                result_.access.push_back(0);
                continue;
            }
            const Access access = access_to(tensor);
            if (access == Access::unsupported) return false;
            const bool vectors = access == Access::vectors;
            result_.access.push_back(vectors ? info(tensor.type.dtype).bytes : 0);
            const auto dims = kernel_.factors(tensor.type.dims);
            any_across_row_ |= !vectors && ir::contains(dims, row);
            if (!vectors) continue;
            // One that is the same for all rows does not say how rows lie in memory.
            (dims.size() > row.size() ? any_along_row_ : any_repeated_) = true;
            // One entry per row of this tensor that is loaded to compute one row of the output.
            std::set<Flips> flips_across_rows;
            for (Flips flips : flips_of[static_cast<std::uint32_t>(i)]) {
                for (const ir::DimId dim : row)
                    if (flips.erase(dim) > 0)
                        flip_group_ = std::max(flip_group_, flip_span(kernel_, row, dim).length);
                flips_across_rows.insert(flips);
            }
            // Every row reads the same elements: not prefetched.
            if (kernel_.factors(tensor.type.dims).size() == row.size()) continue;
            prefetched_ +=
                static_cast<double>(flips_across_rows.size()) * info(tensor.type.dtype).bytes / 4;
            narrowest_ = std::min(narrowest_, info(tensor.type.dtype).bytes);
        }
        for (const ir::Output& output : kernel_.outputs) {
            const Access access = access_to(output.tensor);
            const bool vectors = access == Access::vectors;
            const bool per_row = std::none_of(row.begin(), row.end(), [&](ir::DimId dim) {
                return ir::contains(kernel_.factors(output.tensor.type.dims), dim);
            });
            if (access == Access::unsupported || (row.size() > 1 && !vectors && !per_row))
                return false;
            result_.access.push_back(vectors ? info(output.tensor.type.dtype).bytes : 0);
            if (vectors) narrowest_ = std::min(narrowest_, info(output.tensor.type.dtype).bytes);
            any_along_row_ |= vectors;
        }
        return any_along_row_ || (any_repeated_ && !any_across_row_);
    }

    // Also widens `access` to the vector, but to at most 16 bytes and the tensor's alignment.
    void choose_vector() {
        if (in_pieces_) result_.piece = result_.length / num_pieces_;
        const std::int64_t contiguous = in_pieces_ ? result_.piece : result_.length;
        while (result_.vector < kMaxVector && result_.vector * narrowest_ < 16 &&
               contiguous % (2 * result_.vector) == 0)
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

    // Registers that a thread needs for its elements: their values and, with prefetching, what it
    // loads of the next row.
    double row_registers(int elements, bool prefetch) const {
        return elements * (1 + (prefetch ? prefetched_ : 0));
    }

    // Gives a row a cluster of thread blocks if one block has too few registers, or if there are
    // too few rows to keep a GPU busy. False if a row needs no cluster, or does not fit into one.
    bool choose_cluster() {
        if (pointwise_ || !has_clusters(facts_.arch)) return false;
        double rows = 1;
        for (const ir::DimId dim : result_.dims.rows) {
            const std::int64_t extent = facts_.known(kernel_, dim);
            rows *= extent < 0 ? kManyRows : static_cast<double>(extent);
        }
        const bool few = rows < kManyRows && result_.length >= kWorthACluster;
        const auto held = [&](int threads) {
            const auto vectors = ceil_div(result_.length / result_.vector, std::int64_t{threads});
            return static_cast<double>(vectors) * result_.vector * std::max(prefetched_, 1.0);
        };
        // Of few rows one block has a multiprocessor for itself.
        const int threads = few ? kMaxThreads : kClusterThreads;
        for (int blocks = 1; blocks <= kMaxCluster; blocks *= 2) {
            if (few && rows * blocks < kManyRows && blocks < kMaxCluster) continue;
            if (held(threads * blocks) > kHeldByThread * (few ? 0.5 : 1)) continue;
            if (blocks == 1) return false;
            result_.threads_per_row = threads, result_.blocks_per_row = blocks;
            result_.prefetch = false;
            return true;
        }
        return false;
    }

    bool choose_threads() {
        if (choose_cluster()) return true;
        const int vector = result_.vector;
        const auto vectors = result_.length / vector;
        const auto elements = [&](int threads) {
            return static_cast<int>(ceil_div(vectors, threads)) * vector;
        };
        // Short rows share a warp; longer ones have a warp each, as long as they fit into its
        // registers. The threads of a row should together read whole cache sectors.
        const auto sector_bytes = std::min<std::int64_t>(32, result_.length * narrowest_);
        for (int threads = 1; threads <= 32; threads *= 2) {
            result_.threads_per_row = threads;
            const double most = threads < 32 ? kMaxRowRegistersBelowAWarp : kMaxRowRegisters;
            if (threads * vector * narrowest_ >= sector_bytes &&
                row_registers(elements(threads), true) <= most)
                return true;
        }
        if (pointwise_) {
            for (int most = kPointwiseThreads; most <= kMaxThreads; most *= 2) {
                const auto vectors_per_thread = ceil_div(vectors, std::int64_t{most});
                result_.threads_per_row =
                    static_cast<int>(round_up(ceil_div(vectors, vectors_per_thread), 32));
                if (row_registers(elements(result_.threads_per_row), true) <= kMaxRowRegisters)
                    return true;
            }
            return false;
        }
        // Longer rows have a thread block each: few threads with several vectors each, unless that
        // leaves many threads idle.
        double fewest_slots = 0;  // steps of all threads per vector; 1: no thread is ever idle
        int best = 0;
        for (int vectors_per_thread = std::max(1, 16 / vector); vectors_per_thread >= 1;
             --vectors_per_thread) {
            const int threads =
                static_cast<int>(round_up(ceil_div(vectors, vectors_per_thread), 32));
            const double slots = 1.0 * threads * ceil_div(vectors, threads) / vectors;
            if (threads > kMaxThreads ||
                row_registers(vectors_per_thread * vector, true) > kMaxRowRegisters)
                continue;
            // With so few vectors per thread, too few bytes would be in flight.
            if (best > 0 && 4 * prefetched_ * vectors_per_thread * vector < kMinPrefetch) break;
            // A gain of less than 2 % does not justify more threads.
            if (best == 0 || slots < fewest_slots - 0.02) best = threads, fewest_slots = slots;
        }
        if (best == 0) {
            best = kMaxThreads;
            result_.prefetch = false;
            // Without prefetching, registers are needed for what is loaded of the same row.
            if (row_registers(elements(best), false) + elements(best) * prefetched_ >
                kMaxRowRegisters)
                return false;
        }
        result_.threads_per_row = best;
        return true;
    }

    const ir::Kernel& kernel_;
    const RowsFacts& facts_;
    VectorForm result_;
    bool pointwise_ = false;  // nothing is reduced
    bool in_pieces_ = false;  // all dimensions along the row but the first are contiguous
    std::int64_t num_pieces_ = 1;
    double prefetched_ = 0;        // registers per element for what is prefetched
    int narrowest_ = 8;            // bytes of the smallest element type
    bool any_along_row_ = false;   // whether any parameter or output is accessed by vectors
    bool any_repeated_ = false;    // the same of parameters that are the same for all rows
    bool any_across_row_ = false;  // whether the row of a parameter is elsewhere in memory
    std::int64_t flip_group_ = 1;  // elements of the largest group that a flip reverses in the row
};

}  // namespace

bool is_in_pieces(const ir::Kernel& kernel, const VectorForm& form, const ir::Tensor& tensor) {
    const auto dims = kernel.factors(tensor.type.dims);
    return form.piece > 0 && ir::contains(dims, form.dims.over) && !ends_with(dims, form.dims.over);
}

std::optional<VectorForm> vector_form(const ir::Kernel& kernel, const RowsForm& form,
                                      const RowsFacts& facts) {
    return VectorFormChooser(kernel, form, facts).run();
}

}  // namespace fact::lower
