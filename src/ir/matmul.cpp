#include "ir/matmul.h"

#include <algorithm>

#include "ir/parallel.h"
#include "support/division.h"

// The inner loop is also compiled for wider vectors; the choice is made when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FACT_WIDE __attribute__((target_clones("arch=haswell", "default")))
#else
#define FACT_WIDE
#endif

namespace fact::ir {
namespace {

constexpr std::int64_t kRows = 4, kColumns = 8;  // of a register tile
constexpr std::int64_t kDepth = 512;             // of a panel that stays in the L1 cache
constexpr std::int64_t kRowPanels = 16;          // register tiles per task, along the rows

// Copies matrices into panels of `width` rows, transposed so that the summed index is outermost; a
// short last panel is padded with zeros.
std::vector<double> pack(const std::vector<double>& matrices, std::int64_t rows, std::int64_t k,
                         std::int64_t width, int threads) {
    const std::int64_t count =
        rows > 0 && k > 0 ? static_cast<std::int64_t>(matrices.size()) / (rows * k) : 0;
    const std::int64_t panels = ceil_div(rows, width);
    std::vector<double> out(count * panels * width * k);
    parallel_for(count * panels, threads, [&](std::int64_t task) {
        const std::int64_t first = task % panels * width;
        const double* from = matrices.data() + task / panels * rows * k;
        double* to = out.data() + task * width * k;
        for (std::int64_t r = 0; r < std::min(width, rows - first); ++r)
            for (std::int64_t i = 0; i < k; ++i) to[i * width + r] = from[(first + r) * k + i];
    });
    return out;
}

// tile[4][8] += a[depth][4] outer b[depth][8]
FACT_WIDE void accumulate(const double* a, const double* b, std::int64_t depth, double* tile) {
    // Four arrays instead of one: only then does the compiler keep them in registers.
    double row0[kColumns], row1[kColumns], row2[kColumns], row3[kColumns];
    for (int c = 0; c < kColumns; ++c) {
        row0[c] = tile[c];
        row1[c] = tile[kColumns + c];
        row2[c] = tile[2 * kColumns + c];
        row3[c] = tile[3 * kColumns + c];
    }
    for (std::int64_t i = 0; i < depth; ++i, a += kRows, b += kColumns)
        for (int c = 0; c < kColumns; ++c) {
            row0[c] += a[0] * b[c];
            row1[c] += a[1] * b[c];
            row2[c] += a[2] * b[c];
            row3[c] += a[3] * b[c];
        }
    for (int c = 0; c < kColumns; ++c) {
        tile[c] = row0[c];
        tile[kColumns + c] = row1[c];
        tile[2 * kColumns + c] = row2[c];
        tile[3 * kColumns + c] = row3[c];
    }
}

}  // namespace

std::vector<double> matmul(const std::vector<double>& a, const std::vector<double>& b,
                           const std::vector<BatchItem>& batch, std::int64_t m, std::int64_t n,
                           std::int64_t k, int threads) {
    std::vector<double> out(batch.size() * m * n);
    if (out.empty() || k == 0) return out;
    const auto packed_a = pack(a, m, k, kRows, threads),
               packed_b = pack(b, n, k, kColumns, threads);
    const std::int64_t row_panels = ceil_div(m, kRows);
    const std::int64_t column_panels = ceil_div(n, kColumns);
    const std::int64_t blocks = ceil_div(row_panels, kRowPanels);

    parallel_for(static_cast<std::int64_t>(batch.size()) * blocks, threads, [&](std::int64_t task) {
        const BatchItem item = batch[task / blocks];
        const double* a_panels = packed_a.data() + item.a * row_panels * kRows * k;
        const double* b_panels = packed_b.data() + item.b * column_panels * kColumns * k;
        double* result = out.data() + task / blocks * m * n;
        const std::int64_t first = task % blocks * kRowPanels;
        const std::int64_t last = std::min(first + kRowPanels, row_panels);
        std::vector<double> tiles((last - first) * kRows * kColumns);
        for (std::int64_t c = 0; c < column_panels; ++c) {
            std::fill(tiles.begin(), tiles.end(), 0.0);
            for (std::int64_t at = 0; at < k; at += kDepth)
                for (std::int64_t r = first; r < last; ++r)
                    accumulate(a_panels + (r * k + at) * kRows, b_panels + (c * k + at) * kColumns,
                               std::min(kDepth, k - at),
                               tiles.data() + (r - first) * kRows * kColumns);
            for (std::int64_t row = first * kRows; row < std::min(last * kRows, m); ++row)
                std::copy_n(tiles.data() + (row - first * kRows) * kColumns,
                            std::min(kColumns, n - c * kColumns), result + row * n + c * kColumns);
        }
    });
    return out;
}

}  // namespace fact::ir
