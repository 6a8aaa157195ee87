#include "package/files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <tuple>

#include "support/files.h"
#include "support/hash.h"

namespace fact::package {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kRewriteHint =
    "write the package again with `fact optimize`, or `fact compose` on its run folder, or copy it "
    "again from where it came";

Error damaged(const fs::path& folder, const std::string& path, const std::string& how) {
    return {fmt::format("{}: {} {}", folder.string(), path, how), std::string(kRewriteHint)};
}

// Packages may share a large archive by hard links, so the hash of a large file is remembered.
Result<std::string> hash_of(const fs::path& path, const struct stat& status) {
    constexpr off_t kLarge = 16 << 20;
    if (status.st_size < kLarge) return sha256_of_file(path);
    static std::mutex mutex;
    static std::map<std::tuple<dev_t, ino_t, off_t, time_t, long>, std::string> hashes;
    const std::tuple key{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                         status.st_mtim.tv_nsec};
    const std::lock_guard lock(mutex);
    if (const auto found = hashes.find(key); found != hashes.end()) return found->second;
    auto hash = sha256_of_file(path);
    if (hash) hashes.emplace(key, *hash);
    return hash;
}

// How the file differs from what the manifest says, as the end of a sentence that begins with its
// name; "" if it does not.
std::string difference(const fs::path& folder, const std::string& path, const File& file,
                       bool by_size_alone = false) {
    struct stat status{};
    const auto full_path = folder / path;
    if (::lstat(full_path.c_str(), &status) != 0)
        return errno == ENOENT ? "is missing"
                               : fmt::format("cannot be read: {}", std::strerror(errno));
    if (!S_ISREG(status.st_mode)) return "is not a regular file";
    if (static_cast<std::uint64_t>(status.st_size) != file.size)
        return fmt::format("has {} bytes, not the {} that were written", status.st_size, file.size);
    if (by_size_alone) return {};
    const auto hash = hash_of(full_path, status);
    if (!hash) return fmt::format("cannot be read: {}", hash.error().message);
    return *hash == file.sha256 ? "" : "was changed since it was written";
}

// The paths of all files under `folder`, and of empty folders, with a "/" at the end.
Result<std::vector<std::string>> paths_under(const fs::path& folder) {
    std::vector<std::string> out;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
        const auto path = at->path().lexically_relative(folder).generic_string();
        if (!fs::is_directory(at->symlink_status(error)))
            out.push_back(path);
        else if (fs::is_empty(at->path(), error))
            out.push_back(path + "/");
    }
    if (error)
        return Error{fmt::format("cannot read {}: {}", folder.string(), error.message()), {}};
    return out;
}

}  // namespace

Result<Files> list_files(const fs::path& folder) {
    const auto paths = paths_under(folder);
    if (!paths) return paths.error();
    Files files;
    for (const auto& path : *paths) {
        if (path == kManifestFile) continue;
        struct stat status{};
        if (::stat((folder / path).c_str(), &status) != 0)
            return Error{
                fmt::format("cannot read {}: {}", (folder / path).string(), std::strerror(errno)),
                {}};
        auto hash = hash_of(folder / path, status);
        if (!hash) return hash.error();
        files[path] = {static_cast<std::uint64_t>(status.st_size), std::move(*hash)};
    }
    return files;
}

Result<> check_files(const fs::path& folder, const Manifest& manifest) {
    for (const auto& [path, file] : manifest.files)
        if (const auto how = difference(folder, path, file); !how.empty())
            return damaged(folder, path, how);
    return Ok{};
}

Result<fs::path> path_of(const fs::path& folder, const Manifest& manifest,
                         const std::string& path) {
    if (manifest.files.contains(path)) return folder / path;
    return damaged(folder, path, "is needed, but the manifest does not list it");
}

Result<> check_nothing_else(const fs::path& folder) {
    const auto manifest = read_manifest(folder);
    if (!manifest) return manifest.error();
    for (const auto& [path, file] : manifest->files)
        if (const auto how = difference(folder, path, file, path == "model.pt2"); !how.empty())
            return damaged(folder, path, how);
    const auto paths = paths_under(folder);
    if (!paths) return paths.error();
    for (const auto& path : *paths)
        if (path != kManifestFile && !manifest->files.contains(path))
            return damaged(folder, path, "is not a file of the package");
    return Ok{};
}

}  // namespace fact::package
