#include "lower/sm80/record.h"

#include <algorithm>
#include <map>

#include "lower/product/epilogue_functor.h"
#include "lower/product/launch_parts.h"
#include "lower/record/record_parts.h"

namespace fact::lower::sm80 {

namespace {

StructParam source(const OperandForm& operand) {
    return strided(operand.param, operand.outer, operand.k, operand.batch);
}

// The alignment that each tensor needs, if more than that of its elements.
std::vector<Alignment> alignments(const ir::Kernel& kernel, const ProductForm& form,
                                  const CopyBytes& copies) {
    std::map<int, int> needed;
    const auto need = [&](int tensor, const ir::Tensor& declared, int bytes) {
        if (bytes > info(declared.type.dtype).bytes)
            needed[tensor] = std::max(needed[tensor], bytes);
    };
    const auto param = [&](int index) -> const ir::Tensor& {
        return kernel.params[static_cast<std::size_t>(index)];
    };
    need(form.a.param, param(form.a.param), copies.a);
    need(form.b.param, param(form.b.param), copies.b);
    for (const EpilogueForm& extra : form.extras)
        if (extra.paired)
            need(extra.tensor, param(extra.tensor), 2 * info(param(extra.tensor).type.dtype).bytes);
    const ir::Tensor& output = kernel.outputs.front().tensor;
    if (form.output.paired)
        need(static_cast<int>(kernel.params.size()), output, 2 * info(output.type.dtype).bytes);
    std::vector<Alignment> rules;
    for (const auto& [tensor, bytes] : needed) rules.push_back({tensor, bytes});
    return rules;
}

}  // namespace

StructParam strided(int tensor, int rows, int columns, const std::vector<int>& batch) {
    StructBuilder builder;
    builder.add(PointerField{tensor});
    for (const int dim : {rows, columns}) builder.add(StrideField{tensor, dim});
    for (const int dim : batch) builder.add(StrideField{tensor, dim});
    return builder.finish();
}

LaunchRecord product_record(const ir::Kernel& kernel, const ProductForm& form,
                            const CopyBytes& copies, const schedule::Schedule& schedule,
                            const schedule::Problem& problem, std::string_view arch) {
    LaunchRecord record;
    record.kernel = kernel.name;
    record.arch = arch;
    record.schedule = schedule::to_string(schedule);
    record.precision = precision_name(problem, "tf32x3");
    bind_tensors(kernel, record);
    record.alignments = alignments(kernel, form, copies);

    const ProductDims dims = product_dims(kernel, form);
    const schedule::Warps warps = schedule::warps_on_sm80(schedule, problem);
    const EpilogueForm& y = form.output;
    Launch launch;
    launch.entry = product_entry(kernel);
    launch.grid = PersistentGrid{dims.m, dims.n, dims.batch, schedule.tile.m, schedule.tile.n};
    launch.block = 32 * warps.m * warps.n;
    launch.shared_bytes = schedule::shared_memory_on_sm80(schedule, problem).bytes;
    launch.params = {source(form.a), source(form.b),
                     strided(static_cast<int>(kernel.params.size()), y.m, y.n, y.batch),
                     extents_param(dims, {dims.k}), order_param(schedule)};
    if (has_members(form)) launch.params.push_back(functor_param(form));
    record.launches.push_back(launch);
    return record;
}

}  // namespace fact::lower::sm80
