#include "compose/package.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "graph/graph_json.h"
#include "package/classes.h"
#include "package/files.h"
#include "package/operators.h"
#include "support/json_fields.h"

namespace fact::compose {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

// A link if the file system allows it: weights are large.
Result<> link_or_copy(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::create_hard_link(from, to, error);
    return error ? copy_whole_file(from, to) : Ok{};
}

Result<> copy_kernel(const PackageKernel& kernel, const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return file_error("make", folder, error.value());
    // A copy, not a link: a later run may tune again in place.
    for (const auto* name : {"kernel.fact", "kernel.cu", "kernel.cubin", "record.json"})
        if (auto done = copy_whole_file(kernel.folder / name, folder / name); !done) return done;
    return Ok{};
}

std::vector<std::string> called_namespaces(const Package& package) {
    std::set<std::string> all;
    const auto add = [&](const graph::Graph& graph) {
        for (auto& name : package::namespaces(graph)) all.insert(std::move(name));
    };
    add(package.graph);
    for (const auto& call : package.calls) add(call.original);
    return {all.begin(), all.end()};
}

std::string manifest(const Package& package, const package::Files& package_files) {
    Json kernels = Json::array(), calls = Json::array();
    for (const auto& kernel : package.kernels)
        kernels.push_back({{"family", kernel.family},
                           {"schedule", kernel.schedule},
                           {"precision", kernel.precision}});
    for (const auto& call : package.calls) calls.push_back(call.id);
    Json files = Json::object();
    for (const auto& [path, file] : package_files)
        files[path] = {{"size", file.size}, {"sha256", file.sha256}};
    Json all{{"kind", package::kKind},
             {"format", package::kFormat},
             {"name", package.name},
             {"source", package.source},
             {"torch_version", package.graph.torch_version},
             {"arch", package.arch},
             {"dtype", package.dtype},
             {"asked_dtype", package.asked_dtype},
             {"device", package.device},
             {"measured", package.measured},
             {"allow_tf32", package.allow_tf32},
             {"training", package.training},
             {"kernels", kernels},
             {"calls", calls},
             {"namespaces", called_namespaces(package)},
             {"classes", package::classes_of({package.graph.in_spec, package.graph.out_spec})},
             {"files", files}};
    if (auto original = try_parse_json<Json>(package.original); original && original->is_object())
        all["original"] = std::move(*original);
    return dump_json(all);
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
    const auto files = package::list_files(folder);
    if (!files) return files.error();
    return write_file_atomic(folder / package::kManifestFile, manifest(package, *files));
}

// Replaces `output` by `fresh`; the earlier package is then at `fresh`, or removed.
Result<> swap_in(const fs::path& fresh, const fs::path& output) {
    std::error_code error;
    if (!fs::exists(output)) {
        fs::rename(fresh, output, error);
        if (error) return file_error("write", output, error.value());
        return Ok{};
    }
    if (syscall(SYS_renameat2, AT_FDCWD, fresh.c_str(), AT_FDCWD, output.c_str(),
                RENAME_EXCHANGE) == 0)
        return Ok{};
    // Some file systems cannot exchange: then for a moment nothing is there, but nothing partial.
    const auto old = output.parent_path() / fmt::format(".{}.old", output.filename().string());
    fs::rename(output, old, error);
    if (error) return file_error("replace", output, error.value());
    fs::rename(fresh, output, error);
    std::error_code ignored;
    if (!error) {
        fs::remove_all(old, ignored);
        return Ok{};
    }
    auto failure = file_error("replace", output, error.value());
    fs::rename(old, output, error);
    if (error) failure.hint = fmt::format("the earlier package is now at {}", old.string());
    return failure;
}

// "a/b/" becomes "a/b"; a link is resolved.
fs::path without_slash(const fs::path& path) {
    std::error_code code;
    auto whole = fs::weakly_canonical(fs::absolute(path), code);
    if (code) whole = fs::absolute(path).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();
}

constexpr const char* kStaged = "package";  // in the staging folder, which is beside the output
constexpr std::size_t kRandomLetters = 6;   // at the end of a temporary folder's name

// How the name of a staging folder starts. It is next to the output, so that a rename can put the
// package in place.
std::string staging_stem(const fs::path& output) {
    return fmt::format(".{}.new", output.filename().string());
}

// Removes staging folders of killed runs; only the holder of the output's lock makes such folders.
void remove_left_behind(const fs::path& output) {
    const auto stem = staging_stem(output) + ".";
    std::error_code ignored;
    std::vector<fs::path> abandoned;
    for (const auto& entry : fs::directory_iterator(output.parent_path(), ignored)) {
        const auto name = entry.path().filename().string();
        bool ours = name.starts_with(stem) && name.size() == stem.size() + kRandomLetters;
        if (!ours) continue;
        for (const auto& inside : fs::directory_iterator(entry, ignored))
            ours = ours && inside.path().filename() == kStaged;
        if (ours) abandoned.push_back(entry.path());
    }
    for (const auto& folder : abandoned) fs::remove_all(folder, ignored);
}

}  // namespace

Result<> check_output(const fs::path& output) {
    const auto path = without_slash(output);
    std::error_code error;
    const auto status = fs::status(path, error);
    if (fs::exists(status) && !fs::is_directory(status))
        return Error{path.string() + " is a file, not a folder", "choose another output with -o"};
    if (fs::is_directory(status) && !fs::is_empty(path, error))
        if (const auto package = package::check_nothing_else(path); !package)
            return Error{fmt::format("{} exists and is not a package that can be replaced: {}",
                                     path.string(), package.error().message),
                         "choose another output with -o, or remove that folder yourself"};
    return ensure_writable_folder(path.parent_path());
}

Result<FileLock> lock_output(const fs::path& output) {
    const auto path = without_slash(output);
    if (auto fine = ensure_writable_folder(path.parent_path()); !fine) return fine.error();
    return FileLock::take(path.parent_path() / fmt::format(".{}.lock", path.filename().string()),
                          path.string());
}

Result<StagedPackage> StagedPackage::write(const Package& package, const fs::path& output) {
    if (auto fine = check_output(output); !fine) return fine.error();
    const auto path = without_slash(output);
    std::unique_ptr<TemporaryFolder> folder;
    try {
        remove_left_behind(path);
        folder = std::make_unique<TemporaryFolder>(path.parent_path(), staging_stem(path));
    } catch (const FileFailure& refused) {
        return refused.error;
    }
    StagedPackage staged(std::move(folder), path);
    std::error_code error;
    fs::create_directories(staged.path(), error);
    if (error) return file_error("make", staged.path(), error.value());
    if (auto done = fill(package, staged.path()); !done) return done.error();
    return staged;
}

fs::path StagedPackage::path() const {
    return folder_->path() / kStaged;
}

Result<> StagedPackage::put_in_place() {
    // Checked again: the output may have changed during the measurements.
    if (auto fine = check_output(output_); !fine) return fine;
    return swap_in(path(), output_);
}

Result<> write_package(const Package& package, const fs::path& output) {
    auto staged = StagedPackage::write(package, output);
    if (!staged) return staged.error();
    return staged->put_in_place();
}

}  // namespace fact::compose
