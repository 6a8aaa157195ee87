// The parameters of a function: values by position, and arguments by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fact::dsl {

enum class ArgumentKind : std::uint8_t {
    value,   // an expression
    dims,    // `over: N`, `over: [N, S]`
    word,    // `mask: causal`
    number,  // a constant: `scale: 0.125`, `scale: rsqrt(extent(64))`
};

struct Parameter {
    std::string_view name;  // "": only by position
    ArgumentKind kind = ArgumentKind::value;
    bool required = true;
    bool positional = true;  // a value may be passed without its name
    std::optional<double> default_value = {};
};

struct Signature {
    std::string_view function;
    std::vector<Parameter> parameters;
};

}  // namespace fact::dsl
