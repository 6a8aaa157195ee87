#include "jit/compile_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "jit/source_map.h"
#include "support/files.h"
#include "support/hash.h"

namespace fact::jit {

namespace {

namespace fs = std::filesystem;

// What an #include line names between quotes or angle brackets; "" for any other line.
std::string_view included_name(std::string_view line) {
    const auto skip = [&] {
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    };
    skip();
    for (const std::string_view word : {"#", "include"}) {
        if (!line.starts_with(word)) return {};
        line.remove_prefix(word.size());
        skip();
    }
    if (!line.starts_with('"') && !line.starts_with('<')) return {};
    line.remove_prefix(1);
    const auto end = line.find_first_of("\">");
    return end == line.npos ? std::string_view() : line.substr(0, end);
}

// Adds the headers under `root` that `text`, a file in `folder`, includes. Follows every #include
// line, whatever #if it is in: a header too many only costs a compilation.
void follow(std::string_view text, const fs::path& folder, const fs::path& root,
            std::set<std::string>& headers) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::string_view name = included_name(line);
        if (name.empty()) continue;
        for (const fs::path& place : {folder / name, root / name}) {
            std::error_code ignored;
            if (!fs::is_regular_file(place, ignored)) continue;
            std::string relative = place.lexically_normal().lexically_relative(root).string();
            if (relative.empty() || relative.starts_with("..")) continue;
            if (!headers.insert(relative).second) break;
            if (auto content = read_file(place))
                follow(*content, place.parent_path(), root, headers);
            break;
        }
    }
}

// Length first, so that no two lists of parts give the same bytes.
void add(std::string& bytes, std::string_view part) {
    bytes += fmt::format("{}:{}\n", part.size(), part);
}

// Leaves out comments, blanks at the ends of lines and empty lines. A reworded comment therefore
// recompiles nothing and keeps what was measured valid.
std::string without_comments(std::string_view text) {
    std::string out, line;
    bool in_literal = false;
    const auto end_line = [&] {
        line.erase(line.find_last_not_of(" \t") + 1);
        if (!line.empty()) out += line + '\n';
        line.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto rest = text.substr(i);
        if (!in_literal && rest.starts_with("//")) {
            i = std::min(text.find('\n', i), text.size()) - 1;
        } else if (!in_literal && rest.starts_with("/*")) {
            i = std::min(text.find("*/", i + 2), text.size() - 2) + 1;
            line += ' ';
        } else if (text[i] == '\n') {
            end_line();
        } else {
            line += text[i];
            if (in_literal && text[i] == '\\' && i + 1 < text.size())
                line += text[++i];
            else if (text[i] == '"')
                in_literal = !in_literal;
        }
    }
    end_line();
    return out;
}

// Adds the source and every header of FACT's that it includes.
void add_code(std::string& bytes, const std::string& source, const fs::path& kernels_folder) {
    add(bytes, without_origins(source));
    for (const auto& header : header_closure(source, kernels_folder)) {
        add(bytes, header);
        auto content = read_file(kernels_folder / header);
        add(bytes, content ? without_comments(*content) : std::string());
    }
}

// The environment variables that nvcc and its host compiler read.
constexpr std::array kVariables{
    "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS",  "NVCC_CCBIN",    "CPATH",
    "C_INCLUDE_PATH",     "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"};

}  // namespace

std::vector<std::string> code_flags(const std::string& arch) {
    const std::string number = arch.starts_with("sm") ? arch.substr(2) : arch;
    return {"-cubin",
            "-std=c++17",
            "-O3",
            "-gencode",
            fmt::format("arch=compute_{0},code=sm_{0}", number),
            "--expt-relaxed-constexpr",
            "-DNDEBUG",
            "-Xptxas",
            "-v"};
}

std::vector<std::string> header_closure(const std::string& source, const fs::path& kernels_folder) {
    const fs::path root = kernels_folder.lexically_normal();
    std::set<std::string> headers;
    follow(source, root, root, headers);
    return {headers.begin(), headers.end()};
}

std::string code_hash(const std::string& source, const fs::path& kernels_folder) {
    std::string bytes;
    add_code(bytes, source, kernels_folder);
    return short_hash(bytes);
}

std::string compile_key(const Unit& unit, const Toolchain& toolchain) {
    std::string bytes;
    add(bytes, "cubin 3");  // counted up when entries of earlier versions must not be used
    add(bytes, toolchain.version);
    add(bytes, toolchain.host_compiler);
    for (const char* variable : kVariables)
        if (const char* value = std::getenv(variable))
            add(bytes, fmt::format("{}={}", variable, value));
    for (const auto& flag : code_flags(unit.arch)) add(bytes, flag);
    add_code(bytes, unit.source, toolchain.kernels_folder);
    return sha256_hex(bytes).substr(0, 32);
}

}  // namespace fact::jit
