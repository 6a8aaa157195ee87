#include "registry/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "registry/identity.h"
#include "support/files.h"

namespace fact::registry {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxBytes = 1 << 20;  // a record has a few thousand

// Held while a folder's record is compared and replaced. A process that dies releases it too.
class FolderLock {
  public:
    explicit FolderLock(const fs::path& folder)
        : file_(::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
        // If the file system cannot lock, renaming still keeps every record intact.
        while (file_ >= 0 && ::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    ~FolderLock() {
        if (file_ >= 0) ::close(file_);
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

  private:
    int file_;
};

fs::path file_of(const fs::path& folder, const std::string& gpu, const std::string& key) {
    return folder / gpu_folder(gpu) / (key + ".json");
}

Result<Record> read_record(const fs::path& file) {
    const auto text = read_file(file, kMaxBytes);
    if (!text) return text.error();
    auto record = record_from_json(*text);
    if (record && file.stem() != key(*record))
        return Error{fmt::format("its content belongs into {}.json", key(*record)), {}};
    return record;
}

bool is_record_file(const fs::path& file) {
    return file.extension() == ".json" && !file.filename().string().starts_with('.');
}

// The record files of a folder, in the order of their names.
std::vector<fs::path> files_in(const fs::path& folder, const std::string& gpu) {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& place : fs::directory_iterator(folder, ignored)) {
        if (!place.is_directory(ignored)) continue;
        if (!gpu.empty() && place.path().filename() != gpu) continue;
        for (const auto& file : fs::directory_iterator(place.path(), ignored))
            if (is_record_file(file.path())) files.push_back(file.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

// The order of a listing.
auto order(const Record& r) {
    const auto& w = r.work;
    return std::tuple(w.gpu, w.rule, w.dtype, w.m, w.n, w.k, w.batch, key(r));
}

}  // namespace

bool better(const Record& a, const Record& b) {
    if (a.provenance.date != b.provenance.date) return a.provenance.date > b.provenance.date;
    if (a.single.median_us != b.single.median_us) return a.single.median_us < b.single.median_us;
    return to_json(a) < to_json(b);
}

std::optional<Record> Registry::find(const std::string& gpu, const std::string& key) const {
    std::optional<Record> found;
    const auto look_in = [&](const fs::path& folder) {
        if (folder.empty()) return;
        auto record = read_record(file_of(folder, gpu, key));
        if (record && (!found || better(*record, *found))) found = std::move(*record);
    };
    look_in(folders_.own);
    for (const auto& folder : folders_.shipped) look_in(folder);
    return found;
}

Listing Registry::all(const std::string& gpu) const {
    Listing listing;
    std::map<std::string, Entry> found;
    const auto collect = [&](const fs::path& folder, bool own) {
        if (folder.empty()) return;
        for (const auto& file : files_in(folder, gpu)) {
            auto record = read_record(file);
            if (!record) {
                listing.damaged.push_back({file, record.error().message});
                continue;
            }
            const std::string name = key(*record);
            const auto at = found.find(name);
            if (at != found.end() && !better(*record, at->second.record)) continue;
            found[name] = {file, own, std::move(*record)};
        }
    };
    collect(folders_.own, true);
    for (const auto& folder : folders_.shipped) collect(folder, false);
    for (auto& [name, entry] : found) listing.entries.push_back(std::move(entry));
    std::sort(listing.entries.begin(), listing.entries.end(),
              [](const Entry& a, const Entry& b) { return order(a.record) < order(b.record); });
    return listing;
}

const Listing& Registry::known() const {
    if (!known_) known_ = all();
    return *known_;
}

Result<Registry::Put> Registry::put(const Record& record) const {
    known_.reset();
    const auto file = file_of(folders_.own, record.work.gpu, key(record));
    std::error_code failed;
    fs::create_directories(file.parent_path(), failed);
    if (failed)
        return Error{fmt::format("cannot make the folder {}: {}", file.parent_path().string(),
                                 failed.message()),
                     "set FACT_REGISTRY to a folder that can be written, or give --no-registry"};
    const FolderLock lock(file.parent_path());
    std::error_code ignored;
    const bool existed = fs::exists(file, ignored);
    // An unreadable file is replaced: its name says that it was meant to be this record.
    if (const auto before = read_record(file); before && !better(record, *before)) return Put::kept;
    if (auto written = write_file_atomic(file, to_json(record)); !written) {
        auto error = written.error();
        error.hint = "set FACT_REGISTRY to a folder that can be written, or give --no-registry";
        return error;
    }
    return existed ? Put::replaced : Put::added;
}

Result<int> Registry::remove(const std::vector<fs::path>& files) const {
    known_.reset();
    int removed = 0;
    for (const auto& file : files) {
        if (file.parent_path().parent_path() != folders_.own) continue;
        const FolderLock lock(file.parent_path());
        std::error_code failed;
        removed += fs::remove(file, failed);
        if (failed)
            return Error{fmt::format("cannot remove {}: {}", file.string(), failed.message()), {}};
    }
    return removed;
}

}  // namespace fact::registry
