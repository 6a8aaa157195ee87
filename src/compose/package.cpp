#include "compose/package.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "graph/graph_json.h"
#include "support/files.h"

namespace fact::compose {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;

Error cannot(std::string_view what, const fs::path& path, const std::error_code& error) {
    return {fmt::format("cannot {} {}: {}", what, path.string(), error.message()), {}};
}

// A link where the file system allows it: weights are large.
Result<> link_or_copy(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::create_hard_link(from, to, error);
    if (!error) return Ok{};
    fs::copy_file(from, to, error);
    if (error) return cannot("copy", from, error);
    return Ok{};
}

Result<> copy_kernel(const PackageKernel& kernel, const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return cannot("make", folder, error);
    for (const auto* name : {"kernel.fact", "kernel.cu", "kernel.cubin", "record.json"}) {
        // A copy, not a link: a later run may tune again in place.
        fs::copy_file(kernel.folder / name, folder / name, error);
        if (error) return cannot("copy", kernel.folder / name, error);
    }
    return Ok{};
}

std::string manifest(const Package& package) {
    Json kernels = Json::array(), calls = Json::array();
    for (const auto& kernel : package.kernels)
        kernels.push_back({{"family", kernel.family},
                           {"schedule", kernel.schedule},
                           {"precision", kernel.precision}});
    for (const auto& call : package.calls) calls.push_back(call.id);
    Json all{{"format", kFormat},
             {"name", package.name},
             {"source", package.source},
             {"torch_version", package.graph.torch_version},
             {"arch", package.arch},
             {"dtype", package.dtype},
             {"device", package.device},
             {"measured", package.measured},
             {"allow_tf32", package.allow_tf32},
             {"training", package.training},
             {"kernels", kernels},
             {"calls", calls}};
    if (auto original = Json::parse(package.original, nullptr, false); original.is_object())
        all["original"] = std::move(original);
    return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<> fill(const Package& package, const fs::path& folder) {
    if (auto done = link_or_copy(package.archive, folder / "model.pt2"); !done) return done;
    if (auto done = write_file_atomic(folder / "graph.json", graph::to_json(package.graph)); !done)
        return done;
    for (const auto& call : package.calls)
        if (auto done =
                write_file_atomic(folder / "calls" / (call.id + ".json"), graph::to_json(call));
            !done)
            return done;
    for (const auto& kernel : package.kernels)
        if (auto done = copy_kernel(kernel, folder / "kernels" / kernel.family); !done) return done;
    return write_file_atomic(folder / "manifest.json", manifest(package));
}

// Puts `fresh` in the place of `output`; what was there is then at `fresh`.
Result<> swap_in(const fs::path& fresh, const fs::path& output) {
    std::error_code error;
    if (!fs::exists(output)) {
        fs::rename(fresh, output, error);
        if (error) return cannot("write", output, error);
        return Ok{};
    }
    if (syscall(SYS_renameat2, AT_FDCWD, fresh.c_str(), AT_FDCWD, output.c_str(),
                RENAME_EXCHANGE) == 0)
        return Ok{};
    // Some file systems cannot exchange: for a moment nothing is there, but nothing half either.
    const auto old = fresh.parent_path() / "old";
    fs::rename(output, old, error);
    if (error) return cannot("replace", output, error);
    fs::rename(fresh, output, error);
    if (!error) return Ok{};
    std::error_code ignored;
    fs::rename(old, output, ignored);
    return cannot("replace", output, error);
}

// "a/b/" and "a/b" are the same folder; a link stands for its target.
fs::path without_slash(const fs::path& path) {
    std::error_code code;
    auto whole = fs::weakly_canonical(fs::absolute(path), code);
    if (code) whole = fs::absolute(path).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();
}

}  // namespace

Result<> check_output(const fs::path& output) {
    const auto path = without_slash(output);
    std::error_code error;
    const auto status = fs::status(path, error);
    if (fs::exists(status) && !fs::is_directory(status))
        return Error{path.string() + " is a file, not a folder", "choose another output with -o"};
    if (fs::is_directory(status) && !fs::exists(path / "manifest.json", error) &&
        !fs::is_empty(path, error))
        return Error{path.string() + " exists and is not a package",
                     "choose another output with -o, or remove that folder"};
    return ensure_writable_folder(path.parent_path());
}

Result<> write_package(const Package& package, const fs::path& output) {
    if (auto fine = check_output(output); !fine) return fine;
    const auto path = without_slash(output);
    const TemporaryFolder work(path.parent_path(), ".package");
    const auto fresh = work.path() / "package";
    std::error_code error;
    fs::create_directories(fresh, error);
    if (error) return cannot("make", fresh, error);
    if (auto done = fill(package, fresh); !done) return done;
    return swap_in(fresh, path);
}

}  // namespace fact::compose
