// Maps nvcc's errors in an emitted file back to the kernel text it was emitted from.
//
// An emitted line may end in a comment "// mlp.fact:3": it came from line 3 of that text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fact::jit {

struct Origin {
    std::string file;
    int line = 0;  // from 1
    bool operator==(const Origin&) const = default;
};

// The origin an emitted line names, if it names one.
std::optional<Origin> origin_of(std::string_view emitted_line);

// The emitted file without these comments: code that is the same apart from the kernel text it came
// from becomes equal.
std::string without_origins(std::string_view emitted);

struct CompilerError {
    std::string message;           // nvcc's, without the place
    std::string place;             // file and line, as nvcc names them
    int emitted_line = 0;          // in the emitted file; 0: none is named
    std::optional<Origin> origin;  // of that line
    bool operator==(const CompilerError&) const = default;
};

// The errors of the log, in order. An error in a header is placed at the line of the emitted file
// that causes it, if nvcc names that line. `file` is the emitted file's name.
std::vector<CompilerError> errors_in(std::string_view log, std::string_view emitted,
                                     std::string_view file);

struct KernelText {
    std::string_view name, text;
};

// The first `most` errors, for people: with the line of kernel text if it is known, else with the
// emitted line; "" if the log names no error.
std::string report_errors(std::string_view log, std::string_view emitted, const KernelText& kernel,
                          std::string_view file, std::size_t most = 6);

}  // namespace fact::jit
