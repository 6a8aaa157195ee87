// Reads what nvcc and ptxas printed.
#pragma once

#include <string>
#include <string_view>

namespace fact::jit {

// How good a compiled unit is: kernels that spill registers, or whose products ptxas serialized,
// are correct but slow.
enum class Fitness { sound, spills, serialized };
std::string_view name(Fitness fitness);

// The most registers of any kernel in the unit, the spilled bytes of all of them, and whether ptxas
// serialized the products of any.
struct Resources {
    int registers = 0, spill_bytes = 0;
    bool serialized = false;
    Fitness fitness() const {
        return serialized        ? Fitness::serialized
               : spill_bytes > 0 ? Fitness::spills
                                 : Fitness::sound;
    }
};
Resources resources_in(const std::string& log);

// The first lines that mention an error; the end of the log if none does.
std::string first_errors(std::string_view log, int max_lines = 6);

}  // namespace fact::jit
