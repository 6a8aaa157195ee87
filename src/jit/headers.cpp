#include "jit/headers.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <tuple>

#include "support/files.h"
#include "support/hash.h"

namespace fact::jit {

namespace {

namespace fs = std::filesystem;

// Two edits within one tick of the file system's clock may have the same time. No usual file system
// has a longer tick than this.
constexpr std::int64_t kTick = 2'000'000'000;  // ns

std::int64_t nanoseconds(const timespec& time) {
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

std::int64_t now() {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return nanoseconds(time);
}

// A file's metadata, some of which differs after an edit.
struct FileState {
    std::int64_t size = 0, written = 0, changed = 0;  // bytes; mtime and ctime in ns
    std::uint64_t inode = 0;
    std::int64_t latest() const { return std::max(written, changed); }
};
std::optional<FileState> state_of(const fs::path& file) {
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0) return std::nullopt;
    return FileState{status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim),
                     status.st_ino};
}

// The prefixes of names in a list, and their folders: "kernels:sm90/x.cuh" is a header in the
// toolchain's kernels folder. A header elsewhere has its path as its name.
std::array<std::pair<std::string_view, fs::path>, 2> roots(const Toolchain& toolchain) {
    return {{{"kernels:", toolchain.kernels_folder.lexically_normal()},
             {"cutlass:", toolchain.cutlass_include.lexically_normal()}}};
}

std::string name_from_path(const fs::path& header, const Toolchain& toolchain) {
    const fs::path path = header.lexically_normal();
    for (const auto& [prefix, root] : roots(toolchain)) {
        const std::string inside = path.lexically_relative(root).string();
        if (!inside.empty() && !inside.starts_with("..")) return std::string(prefix) + inside;
    }
    return path.string();
}

fs::path path_from_name(std::string_view name, const Toolchain& toolchain) {
    for (const auto& [prefix, root] : roots(toolchain))
        if (name.starts_with(prefix)) return root / name.substr(prefix.size());
    return name;
}

struct ListedHeader {
    std::string_view hash, name;
};
// Reads a list, each line of which has a hash, a blank and a name.
std::vector<ListedHeader> headers_in_list(std::string_view text) {
    std::vector<ListedHeader> lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto blank = std::min(line.find(' '), line.size());
        lines.push_back({line.substr(0, blank), line.substr(std::min(blank + 1, line.size()))});
    }
    return lines;
}

fs::path file_of(const std::string& list, const fs::path& store) {
    return store / "headers" / (list + ".txt");
}

}  // namespace

std::vector<fs::path> headers_in_make_rule(std::string_view rule) {
    const auto colon = rule.find(" :");
    if (colon == rule.npos) return {};
    std::vector<fs::path> files;
    std::string name;
    const auto take = [&] {
        if (fs::path file = std::exchange(name, {}); file.is_absolute())
            files.push_back(std::move(file));
    };
    for (std::size_t i = colon + 2; i < rule.size(); ++i) {
        const char next = i + 1 < rule.size() ? rule[i + 1] : '\n';
        if (rule[i] == '\\' && (next == ' ' || next == '#' || next == '\\'))
            name += rule[++i];
        else if (rule[i] == '$' && next == '$')
            name += rule[++i];
        else if (rule[i] == '\n' || rule[i] == ' ' || (rule[i] == '\\' && next == '\n'))
            take();
        else
            name += rule[i];
    }
    take();
    std::ranges::sort(files);
    const auto [repeated, end] = std::ranges::unique(files);
    files.erase(repeated, end);
    return files;
}

bool any_written_since(const fs::path& file, const std::vector<fs::path>& headers) {
    const auto reference = state_of(file);
    if (!reference) return true;
    const std::int64_t checked_at = now();
    const auto is_since = [&](std::int64_t time) {
        return time > reference->latest() && time <= checked_at;
    };
    return std::ranges::any_of(headers, [&](const fs::path& header) {
        const auto state = state_of(header);
        return !state || is_since(state->written) || is_since(state->changed);
    });
}

Result<std::string> keep_headers(const std::vector<fs::path>& headers, const Toolchain& toolchain,
                                 const fs::path& store) {
    std::string text;
    for (const fs::path& header : headers) {
        const auto content = read_file(header);
        if (!content) return content.error();
        text += fmt::format("{} {}\n", sha256_hex(*content), name_from_path(header, toolchain));
    }
    std::string name = short_hash(text);
    const auto stored = read_file(file_of(name, store));
    if (stored && *stored == text) return name;
    if (auto written = write_file_atomic(file_of(name, store), text); !written)
        return written.error();
    return name;
}

bool headers_unchanged(const std::string& list, const Toolchain& toolchain, const fs::path& store) {
    const auto text = read_file(file_of(list, store));
    if (!text || short_hash(*text) != list) return false;
    const auto lines = headers_in_list(*text);
    std::string states;
    std::int64_t latest = 0;
    for (const ListedHeader& line : lines) {
        const fs::path header = path_from_name(line.name, toolchain);
        const auto state = state_of(header);
        if (!state) return false;
        states += fmt::format("{} {} {} {} {}\n", header.string(), state->size, state->written,
                              state->changed, state->inode);
        latest = std::max(latest, state->latest());
    }
    states = sha256_hex(states);
    // The hash of the states that the headers had when their contents were last found unchanged.
    const fs::path seen = store / "headers" / (list + ".seen");
    if (const auto before = read_file(seen); before && *before == states) return true;
    const std::int64_t started = now();
    for (const ListedHeader& line : lines) {
        const auto content = read_file(path_from_name(line.name, toolchain));
        if (!content || sha256_hex(*content) != line.hash) return false;
    }
    // A header that was edited less than a tick ago may be edited again without getting a new time,
    // so its state is not kept. Without the file, the headers are read again the next time.
    if (latest < started - kTick) (void)write_file_atomic(seen, states);
    return true;
}

}  // namespace fact::jit
