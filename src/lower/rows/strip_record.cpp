#include <fmt/format.h>

#include <algorithm>

#include "lower/record/extent_terms.h"
#include "lower/rows/record.h"
#include "lower/rows/strips.h"
#include "support/division.h"

namespace fact::lower {

LaunchRecord strips_record(const ir::Kernel& kernel, const StripForm& form, std::string_view arch) {
    LaunchRecord record = element_record(
        kernel, form.dims, arch,
        form.features ? fmt::format("a thread {} x {} results of {} features", form.num_places,
                                    form.num_neighbours, form.num_features)
        : form.num_places * form.num_neighbours == 1
            ? "a thread a result"
            : fmt::format("a thread {} x {} results", form.num_places, form.num_neighbours));
    const auto add = [&](std::size_t number, const ir::Tensor& tensor) {
        if (form.num_neighbours == 1 || !is_innermost(kernel, tensor, form.neighbours)) return;
        const int bytes = form.num_neighbours * info(tensor.type.dtype).bytes;
        record.alignments.push_back({static_cast<int>(number), std::min(16, bytes), 1});
    };
    for (std::size_t i = 0; i < kernel.params.size(); ++i) {
        if (!ir::is_read(kernel, i)) continue;
        add(i, kernel.params[i]);
        if (form.features && i == form.weights) {
            std::vector<ir::DimId> row{*form.features};
            if (form.groups) row.push_back(*form.groups);
            record.alignments.push_back(
                {static_cast<int>(i),
                 std::min(16, form.num_features * info(kernel.params[i].type.dtype).bytes),
                 row_dims(kernel, row, i)});
        }
    }
    for (std::size_t i = 0; i < kernel.outputs.size(); ++i)
        add(kernel.params.size() + i, kernel.outputs[i].tensor);
    // The last strip overlaps the one before: a thread has at least so many places of its own.
    const std::int64_t extent = *kernel[form.strip].extent,
                       strips = ceil_div(extent, std::int64_t{form.num_places});
    Launch& launch = record.launches.front();
    launch.grid = LinearGrid{
        extent_of(kernel, form.dims.rows),
        static_cast<int>(kRowThreads * form.num_features * form.num_neighbours * (extent / strips)),
        kWaves};
    record.counts.push_back(extent_of(kernel, form.dims.rows));
    launch.block = kRowThreads;
    return record;
}

}  // namespace fact::lower
