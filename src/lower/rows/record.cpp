#include "lower/rows/record.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dims.h"
#include "lower/record/extent_terms.h"
#include "lower/record/record_parts.h"
#include "lower/rows/limits.h"

namespace fact::lower {

namespace {

constexpr std::int64_t kShortRow = 32;  // the longest row that one thread takes
// The same for windows: neighbouring rows overlap, and threads that share one would read little.
constexpr std::int64_t kShortWindow = 1024;

}  // namespace

std::vector<ir::DimId> extent_fields(const ir::Kernel& kernel, const RowsForm& form) {
    std::vector<ir::DimId> dims;
    const auto add = [&](ir::DimId dim) {
        if (kernel[dim].extent || std::find(dims.begin(), dims.end(), dim) != dims.end()) return;
        dims.push_back(dim);
    };
    for (const auto* all : {&form.rows, &form.over})
        for (const ir::DimId dim : *all) add(dim);
    for (const ir::Expr& expr : kernel.exprs) {
        if (const auto* node = std::get_if<ir::Extent>(&expr.node))
            for (const ir::DimId factor : kernel.factors({node->dim})) add(factor);
        if (const auto* window = std::get_if<ir::Window>(&expr.node))
            for (const ir::DimId places : window->places) {
                const ir::WindowRule& rule = *kernel[places].window;
                if (rule.after > 0 || rule.before > 0 || !kernel[rule.of].factors.empty())
                    for (const ir::DimId factor : kernel.factors({rule.of})) add(factor);
            }
    }
    return dims;
}

namespace {

bool in_one_thread(const ir::Kernel& kernel, const RowsForm& form) {
    const std::int64_t longest = form.has_windows(kernel) ? kShortWindow : kShortRow;
    std::int64_t length = 1;
    for (const ir::DimId dim : form.over) {
        if (!kernel[dim].extent || *kernel[dim].extent > longest) return false;
        length *= *kernel[dim].extent;
    }
    return length <= longest;
}

}  // namespace

bool contiguous_across_rows(const ir::Kernel& kernel, const RowsForm& form) {
    if (form.rows.empty()) return false;
    const auto is_along_row = [&](ir::DimId dim) {
        return std::find(form.over.begin(), form.over.end(), dim) != form.over.end();
    };
    bool any = false;
    for (const ir::Tensor& param : kernel.params) {
        const auto dims = kernel.factors(param.type.dims);
        if (std::none_of(dims.begin(), dims.end(), is_along_row)) continue;
        // The same for neighbouring rows: every lane reads the same element.
        if (std::ranges::find(dims, form.rows.back()) == dims.end()) continue;
        if (dims.back() != form.rows.back()) return false;
        any = true;
    }
    return any;
}

RowShape row_shape(const ir::Kernel& kernel, const RowsForm& form) {
    const auto type = [&](std::string_view plain, std::string_view scan) {
        return form.scan ? scan : plain;
    };
    const bool side_by_side = contiguous_across_rows(kernel, form);
    // Parts of a running product may exceed f32's range where, after a zero, the whole does not: it
    // is computed one element after the other, as torch does, where that is fast.
    const bool one_by_one = side_by_side && form.scan &&
                            std::get<ir::Scan>(kernel[*form.scan].node).op == ir::ScanOp::product;
    if (one_by_one || in_one_thread(kernel, form))
        return {type("ThreadRow", "ThreadScan"), "a thread a row", kRowThreads};
    if (side_by_side) return {type("ColumnRow", "ColumnScan"), "a block 32 rows", 32};
    return {type("BlockRow", "BlockScan"), "a block a row", 1};
}

bool needed_again(const ir::Kernel& kernel, const RowsForm& form) {
    const auto reductions = std::ranges::count_if(form.order, [&](ir::ExprId id) {
        return std::holds_alternative<ir::Reduce>(kernel[id].node);
    });
    const bool in_row = std::ranges::any_of(kernel.outputs, [&](const ir::Output& output) {
        return std::ranges::any_of(kernel.factors(output.tensor.type.dims), [&](ir::DimId dim) {
            return std::ranges::find(form.over, dim) != form.over.end();
        });
    });
    return reductions + (in_row ? 1 : 0) > 1;
}

namespace {

// A product of this many extents, each at least two, exceeds any int.
constexpr std::size_t kMaxFactors = 31;

// For every value that is a product of extents or coordinates, the dimensions of these factors;
// empty for other values.
std::vector<std::vector<ir::DimId>> multiplied_dims(const ir::Kernel& kernel) {
    std::vector<std::vector<ir::DimId>> dims_of(kernel.exprs.size());
    for (std::size_t i = 0; i < dims_of.size(); ++i) {
        const ir::Node& node = kernel.exprs[i].node;
        if (const auto* extent = std::get_if<ir::Extent>(&node)) dims_of[i] = {extent->dim};
        if (const auto* index = std::get_if<ir::Index>(&node)) dims_of[i] = {index->dim};
        const auto* binary = std::get_if<ir::Binary>(&node);
        if (!binary || binary->op != ir::BinaryOp::mul) continue;
        const auto& left = dims_of[ir::index(binary->a)];
        const auto& right = dims_of[ir::index(binary->b)];
        if (left.empty() || right.empty()) continue;
        std::vector<ir::DimId> both = left;
        both.insert(both.end(), right.begin(), right.end());
        if (both.size() > kMaxFactors) both.resize(kMaxFactors);
        dims_of[i] = std::move(both);
    }
    return dims_of;
}

// Counts that the launcher must check, besides the extents of tensors: products of extents or
// coordinates, which are ints in the kernel.
std::vector<ExtentField> counts_of(const ir::Kernel& kernel) {
    std::vector<ExtentField> counts;
    const ExtentTerms terms(kernel);
    const auto live = ir::reachable(kernel);
    const auto products = multiplied_dims(kernel);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        if (!live[i]) continue;
        const auto& dims = products[i];
        if (dims.empty() || (dims.size() == 1 && !terms.places(dims.front()).empty())) continue;
        ExtentField count = extent_of(kernel, dims);
        // A count of at most one tensor dimension's extent is checked anyway.
        if (count.dims.empty() || (count.dims.size() == 1 && count.factor <= count.divisor))
            continue;
        if (std::find(counts.begin(), counts.end(), count) == counts.end())
            counts.push_back(std::move(count));
    }
    return counts;
}

LaunchRecord record_of(const ir::Kernel& kernel, std::string_view arch, std::string_view schedule) {
    LaunchRecord record;
    record.kernel = kernel.name;
    record.arch = arch;
    record.schedule = schedule;
    record.precision = "f32";
    bind_tensors(kernel, record);
    record.counts = counts_of(kernel);
    return record;
}

// The tensors and extents of the emitted struct Arguments.
StructBuilder arguments_of(const ir::Kernel& kernel, const RowsForm& form,
                           const LaunchRecord& record) {
    StructBuilder arguments;
    const auto add_tensor = [&](int number, std::size_t rank) {
        arguments.add(PointerField{number});
        // `Tensor` of rows.cuh has a stride even for a scalar.
        for (std::size_t d = 0; d < std::max<std::size_t>(rank, 1); ++d)
            arguments.add(StrideField{number, rank == 0 ? kNoDim : static_cast<int>(d)});
    };
    for (int i = 0; i < record.num_bound(); ++i) {
        const auto number = static_cast<std::size_t>(i);
        if (number >= kernel.params.size() || ir::is_read(kernel, number))
            add_tensor(i, static_cast<std::size_t>(record.spec(i).rank));
    }
    for (const ir::DimId dim : extent_fields(kernel, form)) arguments.add(extent_of(kernel, {dim}));
    return arguments;
}

}  // namespace

int row_dims(const ir::Kernel& kernel, const std::vector<ir::DimId>& row, std::size_t tensor) {
    const auto& dims =
        (tensor < kernel.params.size() ? kernel.params[tensor]
                                       : kernel.outputs[tensor - kernel.params.size()].tensor)
            .type.dims;
    int count = 0;
    for (std::size_t found = 0; found < row.size(); ++count)
        found += kernel.factors({dims[dims.size() - 1 - count]}).size();
    return count;
}

bool is_held_param(const ir::Kernel& kernel, const RowsForm& form, ir::ExprId id) {
    const auto dims = kernel.factors(kernel[id].type.dims);
    return std::holds_alternative<ir::Param>(kernel[id].node) &&
           ir::contains(dims, form.rows.back()) &&
           std::ranges::any_of(form.over, [&](ir::DimId dim) { return ir::contains(dims, dim); });
}

std::int64_t held_length(const ir::Kernel& kernel, const RowsForm& form) {
    if (form.over.empty() || form.scan || row_shape(kernel, form).type != "ColumnRow") return 0;
    std::int64_t length = 1;
    for (const ir::DimId dim : form.over) length *= kernel[dim].extent.value_or(kMostHeld + 1);
    const auto tensors = std::ranges::count_if(
        form.order, [&](ir::ExprId id) { return is_held_param(kernel, form, id); });
    return length * std::max<std::int64_t>(1, tensors) <= kMostHeld && needed_again(kernel, form)
               ? length
               : 0;
}

namespace {

// How many of the tensor's last dimensions there are from the first that is along the row: those
// must be contiguous together for one stride to lead from each element of a row to the next. One if
// there is only one along the row, or none.
int dims_from_row(const ir::Kernel& kernel, const std::vector<ir::DimId>& row,
                  const ir::Tensor& tensor) {
    const auto& dims = tensor.type.dims;
    const auto is_along = [&](ir::DimId dim) {
        const auto own = kernel.factors({dim});
        return std::ranges::any_of(own, [&](ir::DimId part) { return ir::contains(row, part); });
    };
    if (std::ranges::count_if(dims, is_along) < 2) return 1;
    return static_cast<int>(dims.end() - std::ranges::find_if(dims, is_along));
}

}  // namespace

LaunchRecord element_record(const ir::Kernel& kernel, const RowsForm& form, std::string_view arch,
                            std::string_view schedule) {
    LaunchRecord record = record_of(kernel, arch, schedule);
    Launch launch;
    launch.entry = kernel.name + "_kernel";
    launch.params = {arguments_of(kernel, form, record).finish()};
    launch.waits = can_start_early(arch);
    record.launches = {launch};
    return record;
}

LaunchRecord rows_record(const ir::Kernel& kernel, const RowsForm& form, std::string_view arch) {
    const RowShape shape = row_shape(kernel, form);
    LaunchRecord record = element_record(kernel, form, arch, shape.schedule);
    Launch& launch = record.launches.front();
    launch.grid = LinearGrid{extent_of(kernel, form.rows), shape.rows_per_block, kWaves};
    if (form.narrow) record.counts.push_back(extent_of(kernel, form.rows));
    launch.block = kRowThreads;
    return record;
}

LaunchRecord vector_rows_record(const ir::Kernel& kernel, const VectorForm& form,
                                std::string_view arch) {
    std::string schedule = form.threads_per_row == 1
                               ? "a thread a row"
                               : fmt::format("{} threads a row", form.threads_per_row);
    if (form.blocks_per_row > 1)
        schedule =
            fmt::format("{} blocks of {} threads a row", form.blocks_per_row, form.threads_per_row);
    LaunchRecord record = record_of(kernel, arch, schedule);
    for (std::size_t i = 0; i < form.access.size(); ++i) {
        const int tensor = static_cast<int>(i);
        const ir::Tensor& bound = i < kernel.params.size()
                                      ? kernel.params[i]
                                      : kernel.outputs[i - kernel.params.size()].tensor;
        std::vector<ir::DimId> contiguous = form.dims.over;
        if (is_in_pieces(kernel, form, bound)) contiguous.erase(contiguous.begin());
        const int dims = form.across          ? dims_from_row(kernel, form.dims.over, bound)
                         : form.access[i] > 0 ? row_dims(kernel, contiguous, i)
                                              : 1;
        if (dims > 1 || form.access[i] > info(record.spec(tensor).dtype).bytes)
            record.alignments.push_back({tensor, form.access[i], dims});
    }
    StructBuilder arguments = arguments_of(kernel, form.dims, record);
    const ExtentField rows = extent_of(kernel, form.dims.rows);
    if (form.dims.rows.size() > 1) arguments.add(rows);
    Launch launch;
    launch.entry = kernel.name + "_kernel";
    if (form.blocks_per_row > 1) {
        ExtentField blocks = rows;
        blocks.factor *= form.blocks_per_row;
        record.counts.push_back(blocks);
        launch.grid = LinearGrid{blocks, form.across ? form.rows_per_block() : 1, 0};
        launch.cluster = {form.blocks_per_row, 1};
    } else {
        const int waves = form.all_at_once || form.across ? 0 : kWaves;
        launch.grid = LinearGrid{rows, form.rows_per_block(), waves};
    }
    launch.block = form.threads_per_block();
    launch.params = {arguments.finish()};
    launch.waits = can_start_early(arch);
    record.launches = {launch};
    return record;
}

}  // namespace fact::lower
