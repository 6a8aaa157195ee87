// Folders of records: one small file per record, <folder>/<gpu>/<key>.json, written atomically.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "registry/record.h"
#include "support/result.h"

namespace fact::registry {

// The folders that have records.
struct Folders {
    std::filesystem::path own;                   // the user's, the only one that is written to
    std::vector<std::filesystem::path> shipped;  // read only
};

struct Entry {
    std::filesystem::path file;
    bool own = false;  // in the folder that is written to
    Record record;
};
// A file that is no valid record: truncated, of another format, or misnamed.
struct Damaged {
    std::filesystem::path file;
    std::string why;
};
struct Listing {
    std::vector<Entry> entries;    // sorted by GPU, rule, shape, key; each key once
    std::vector<Damaged> damaged;  // not used for anything else
};

class Registry {
  public:
    explicit Registry(Folders folders) : folders_(std::move(folders)) {}

    const Folders& folders() const { return folders_; }

    // The record with this key on this GPU; unreadable files are ignored. If several folders have
    // it, `better` decides.
    std::optional<Record> find(const std::string& gpu, const std::string& key) const;
    // All records, or those of one GPU (as `gpu_folder` spells it).
    Listing all(const std::string& gpu = {}) const;
    // All records, read once: what other processes add later is not seen.
    const Listing& known() const;

    enum class Put { added, replaced, kept };
    // Writes the record to the user's folder, unless that has a better one with the same key. Waits
    // for other processes that write there.
    Result<Put> put(const Record& record) const;

    // Removes those of the files that are in the user's folder. Returns how many were removed.
    Result<int> remove(const std::vector<std::filesystem::path>& files) const;

  private:
    Folders folders_;
    mutable std::optional<Listing> known_;  // reset when something is written
};

// Whether `a` is preferred to `b`: the later measurement, since its search started from earlier
// records; at the same date the faster one, then the one whose JSON sorts first. The order is
// total, so that merging gives the same result in any order.
bool better(const Record& a, const Record& b);

}  // namespace fact::registry
