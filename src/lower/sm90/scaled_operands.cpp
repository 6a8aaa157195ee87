#include "lower/sm90/scaled_operands.h"

#include <fmt/format.h>

#include <set>

#include "lower/product/epilogue_functor.h"
#include "lower/record/record_parts.h"

namespace fact::lower::sm90 {

namespace {

constexpr int kScaleThreads = 256;  // as in scale_pass.cuh

std::string entry_of(const std::string& kernel, const ScaledOperand& operand) {
    return fmt::format("{}_scale_{}x{}", kernel, operand.block_rows, operand.num_features);
}

void emit_pass(emit::CodeWriter& out, const std::string& kernel, const ScaledOperand& operand) {
    out.line("extern \"C\" __global__ void __launch_bounds__(kScaleThreads)");
    out.list(entry_of(kernel, operand) + "(",
             {fmt::format("__grid_constant__ {} const source",
                          batch_type("OperandSource", operand.batch.size())),
              "__grid_constant__ ScaledRows const rows"},
             ") {");
    out.line(fmt::format("    scale_pass<{}, {}>(source, rows);", operand.block_rows,
                         operand.num_features));
    out.line("}");
    out.line();
}

}  // namespace

void emit_scale_passes(emit::CodeWriter& out, const std::string& kernel,
                       const std::vector<ScaledOperand>& operands) {
    std::set<std::string> emitted;  // names of entries
    for (const ScaledOperand& operand : operands)
        if (emitted.insert(entry_of(kernel, operand)).second) emit_pass(out, kernel, operand);
}

ScaledTensors add_scale_pass(LaunchRecord& record, const ScaledOperand& operand) {
    ScaledTensors made;
    std::vector<DimOf> batch;
    for (const int dim : operand.batch) {
        made.batch.push_back(dim < 0 ? kNoDim : static_cast<int>(batch.size()));
        if (dim >= 0) batch.push_back({operand.param, dim});
    }
    made.rank = static_cast<int>(batch.size()) + 2;
    std::vector<ExtentField> sizes;
    for (const DimOf& dim : batch) sizes.push_back({{dim}});
    const std::vector<DimOf> rows{{operand.param, operand.rows}};
    const std::vector<DimOf> features{{operand.param, operand.features}};
    std::vector<ExtentField> blocks = sizes;
    blocks.push_back({rows, 1, operand.block_rows});
    sizes.push_back({rows});
    sizes.push_back({features});
    made.rows = record.num_tensors();
    record.workspaces.push_back({DType::f16, sizes});
    made.factors = record.num_tensors();
    record.workspaces.push_back({DType::f32, blocks});
    record.alignments.push_back({operand.param, 16});

    StructBuilder source;  // OperandSource
    source.add(PointerField{operand.param});
    source.add(StrideField{operand.param, operand.rows});
    source.add(StrideField{operand.param, operand.features});
    for (const int dim : operand.batch) source.add(StrideField{operand.param, dim});
    source.add(ExtentField{rows});
    source.add(ExtentField{features});
    for (const int dim : operand.batch)
        source.add(dim < 0 ? ExtentField{} : ExtentField{{{operand.param, dim}}});
    StructBuilder to;  // ScaledRows
    to.add(PointerField{made.rows});
    to.add(PointerField{made.factors});

    Launch launch;
    launch.entry = entry_of(record.kernel, operand);
    launch.grid =
        TileGrid{rows, features, batch, operand.block_rows, operand.num_features, kMaxGridDepth};
    launch.block = kScaleThreads;
    launch.params = {source.finish(), to.finish()};
    launch.prepares_from = {operand.param};
    launch.waits = true;
    record.launches.push_back(launch);
    return made;
}

StructParam factors_param(const std::vector<ScaledTensors>& operands) {
    StructBuilder factors;
    for (const ScaledTensors& operand : operands) {
        factors.add(PointerField{operand.factors});
        for (const int dim : operand.batch) factors.add(StrideField{operand.factors, dim});
    }
    return factors.finish();
}

}  // namespace fact::lower::sm90
