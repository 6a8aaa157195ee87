// Reductions over windows in which a thread computes several places and neighbours (strips.cuh):
// pooling, depthwise convolutions, and convolutions of so few channels that a product would mostly
// multiply zeros.
#pragma once

#include <cstdint>
#include <optional>

#include "lower/rows/lower.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

struct StripForm {
    RowsForm dims;
    ir::ExprId window{}, reduction{};  // the only ones
    std::uint32_t images = 0;          // the parameter that the windows look at
    ir::DimId neighbours{};            // the innermost dimension of the images' memory
    ir::DimId strip{};                 // the places that a thread computes several of
    int num_neighbours = 1, num_places = 1;
    // A dimension of the results that the images lack, and weights have innermost: a thread
    // computes several of them, too.
    std::optional<ir::DimId> features;
    std::uint32_t weights = 0;  // the parameter that has them innermost
    // The dimension before it, if a thread takes all of `features` in several groups.
    std::optional<ir::DimId> groups;
    int num_features = 1, num_groups = 1;  // num_features: in all groups together
};

// nullopt if the kernel does something else. The extents of all rows but the outermost must be
// constants.
std::optional<StripForm> strip_form(const ir::Kernel& kernel, const RowsForm& form,
                                    const RowsFacts& facts);
// Whether it is the tensor's last factor, so that neighbours are neighbours in memory.
bool is_innermost(const ir::Kernel& kernel, const ir::Tensor& tensor, ir::DimId dim);
// The elements along the strip that so many places see.
std::int64_t line_length(const ir::Kernel& kernel, ir::DimId strip, std::int64_t places);
std::string strips_source(const ir::Kernel& kernel, const StripForm& form);
LaunchRecord strips_record(const ir::Kernel& kernel, const StripForm& form, std::string_view arch);

}  // namespace fact::lower
