// Every error of the kernel language: stable codes that tests, agents and documentation rely on.
#pragma once

#include <string_view>

namespace fact::dsl::code {

using Code = std::string_view;

// Spelling and syntax.
inline constexpr Code too_large = "F0101";
inline constexpr Code bad_character = "F0102";
inline constexpr Code bad_number = "F0103";
inline constexpr Code number_range = "F0104";
inline constexpr Code unexpected = "F0105";
inline constexpr Code too_deep = "F0106";
inline constexpr Code chained_comparison = "F0107";
inline constexpr Code unclosed = "F0108";
inline constexpr Code too_many = "F0109";
inline constexpr Code no_output = "F0110";
inline constexpr Code too_many_expressions = "F0111";
inline constexpr Code too_many_dims = "F0112";
inline constexpr Code long_name = "F0113";

// Names.
inline constexpr Code unknown_name = "F0201";
inline constexpr Code unknown_function = "F0202";
inline constexpr Code unknown_type = "F0203";
inline constexpr Code defined_twice = "F0204";
inline constexpr Code reserved_name = "F0205";
inline constexpr Code unassigned_output = "F0206";
inline constexpr Code unused_value = "F0207";
inline constexpr Code unknown_dim = "F0208";
inline constexpr Code unknown_argument = "F0209";
inline constexpr Code unknown_view = "F0210";
inline constexpr Code repeated_argument = "F0211";
inline constexpr Code missing_argument = "F0212";
inline constexpr Code argument_kind = "F0213";
inline constexpr Code unused_param = "F0214";  // a warning

// Types and dimensions.
inline constexpr Code broadcast = "F0301";
inline constexpr Code repeated_dim = "F0302";
inline constexpr Code product_rank = "F0303";
inline constexpr Code contraction = "F0304";
inline constexpr Code product_dims = "F0305";
inline constexpr Code product_batch = "F0306";
inline constexpr Code product_types = "F0307";
inline constexpr Code precision = "F0308";
inline constexpr Code needs_bool = "F0309";
inline constexpr Code argument_count = "F0310";
inline constexpr Code permutation = "F0311";
inline constexpr Code transpose_rank = "F0312";
inline constexpr Code output_dims = "F0313";
inline constexpr Code output_type = "F0314";
inline constexpr Code f64_type = "F0315";
inline constexpr Code dim_extent = "F0316";
inline constexpr Code rank = "F0317";
inline constexpr Code view = "F0318";
inline constexpr Code reduction = "F0319";
inline constexpr Code attention = "F0320";
inline constexpr Code attention_scale = "F0321";
inline constexpr Code unknown_extent = "F0322";
inline constexpr Code constraint = "F0323";
inline constexpr Code flip = "F0324";
inline constexpr Code expand = "F0325";
inline constexpr Code rename = "F0326";
inline constexpr Code window = "F0327";

// Schedules.
inline constexpr Code unknown_kernel = "F0401";
inline constexpr Code unknown_product = "F0402";
inline constexpr Code product_needed = "F0403";
inline constexpr Code unknown_arch = "F0404";
inline constexpr Code unknown_entry = "F0405";
inline constexpr Code repeated_entry = "F0406";
inline constexpr Code entry_value = "F0407";
inline constexpr Code too_many_choices = "F0408";
inline constexpr Code attention_schedule = "F0409";

// Pipelines.
inline constexpr Code kernel_call = "F0501";
inline constexpr Code pipeline_call = "F0502";
inline constexpr Code call_type = "F0503";
inline constexpr Code call_dims = "F0504";
inline constexpr Code call_outputs = "F0505";

// Well-formed, but no kernel can compute it.
inline constexpr Code no_kernel = "F0601";
inline constexpr Code illegal_schedule = "F0602";

}  // namespace fact::dsl::code
