// A product's result whose elements are stored by single lanes, because no box of a tensor map
// holds them: the output's dimensions mix factors of rows and columns, as those of the phases of a
// transposed convolution do (P = I*A, where I is a factor of the columns and A one of the rows), or
// rows are the pixels of images, of which not all are places of windows, or the output is ragged,
// or it is contiguous along the product's rows.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "emit/code_writer.h"
#include "ir/kernel.h"
#include "lower/record/record_parts.h"

namespace fact::lower {

inline constexpr int kBoxRows = 16;  // of a warp's box in epilogue.cuh

// What a factor of an output's dimension is a coordinate of.
enum class Source { row, column, batch };

// A run of factors that are neighbours in the output's dimension as well as in their source. Its
// coordinate is source / inner % own, and one step of it is `times` elements of the output's
// dimension; each of the three is the product of the extents of some dimensions. Of columns I*J
// that are stored as J*A, the factor J has own {J}, inner {} and times {A}.
struct ScatteredFactor {
    Source source{};
    int batch = 0;  // which batch dimension, if that is the source
    std::vector<ir::DimId> own, inner, times;
    bool outermost = false;  // in its source: no modulo is needed
};

// A dimension of the output: the sum of its factors' coordinates, less what is cut off before.
struct ScatteredDim {
    std::vector<ScatteredFactor> factors;  // outermost first
    std::int64_t before = 0;               // how many elements are cut off at its beginning
    bool cut = false;                      // elements outside of the dimension are not stored

    bool has(Source source) const {
        return std::ranges::any_of(
            factors, [&](const ScatteredFactor& factor) { return factor.source == source; });
    }
};

// Places of windows along one dimension of an image, if rows run over all pixels of it.
struct PlacesInRun {
    ir::DimId places{}, pixels{};
};

struct ScatteredOutput {
    ir::ExprId value{};              // what is stored, in the product's dimensions
    std::vector<ir::ExprId> steps;   // the reorderings from there to the output
    std::vector<ScatteredDim> dims;  // of the output, in memory order
    int rows_together = 1;           // rows whose elements are neighbours in memory
    int stored_together = 1;         // of these rows, by one instruction: they are aligned
    // If the rows of the first operand overlap (WindowOperand::run), rows run over whole images,
    // the innermost dimension last: windows that cross an edge are no places, and not stored.
    std::vector<PlacesInRun> run = {};
};

// How the kernel's only output is stored if it is a product's result, with what follows it
// computed in the product's dimensions, seen through views that mix these, if rows are no run of
// places, or if the output is ragged. nullopt if it is not.
std::optional<ScatteredOutput> scattered_output(const ir::Kernel& kernel);
// The same for an output that a box would hold if it were not contiguous along rows, which are
// whole vectors.
std::optional<ScatteredOutput> transposed_output(const ir::Kernel& kernel);

// The value seen through these reorderings of `kernel`, the first one first.
ir::ExprId reordered_by(const ir::Kernel& kernel, const std::vector<ir::ExprId>& steps,
                        ir::Builder& build, ir::ExprId value);

// Whether the value is another one less some elements at its ends: seen through windows of a single
// element each, or reduced over these again.
bool is_cut_off(const ir::Kernel& kernel, ir::ExprId id);

// The struct `Places`, which says where an element is stored, and its parameter of the launch.
void emit_places(emit::CodeWriter& writer, const ir::Kernel& kernel, const ScatteredOutput& output);
StructParam places_param(const ir::Kernel& kernel, const ScatteredOutput& output);

}  // namespace fact::lower
