// Folders of records: one small file each, <folder>/<gpu>/<key>.json, whole or absent.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "registry/record.h"
#include "support/result.h"

namespace fact::registry {

// Where records are, in the order they are asked; only the first is written to.
struct Folders {
    std::filesystem::path own;                   // the user's
    std::vector<std::filesystem::path> shipped;  // read only
};

struct Entry {
    std::filesystem::path file;
    bool own = false;  // in the folder that is written to
    Record record;
};
// A file that is no record: torn, of another format, or misnamed.
struct Damaged {
    std::filesystem::path file;
    std::string why;
};
struct Listing {
    std::vector<Entry> entries;    // by GPU, rule, shape, key; each key once
    std::vector<Damaged> damaged;  // not part of anything, and in nobody's way
};

class Registry {
  public:
    explicit Registry(Folders folders) : folders_(std::move(folders)) {}

    const Folders& folders() const { return folders_; }

    // The record of this key on this GPU; a file that cannot be read is as good as none. Where
    // several folders have it, `better` decides.
    std::optional<Record> find(const std::string& gpu, const std::string& key) const;
    // Everything, or what there is of one GPU (as `gpu_folder` spells it).
    Listing all(const std::string& gpu = {}) const;
    // Everything, read once: what other processes add meanwhile is not seen.
    const Listing& known() const;

    enum class Put { added, replaced, kept };
    // Puts the record in the first folder, unless one of the same key there is the better one.
    // Processes that write at the same time wait for each other.
    Result<Put> put(const Record& record) const;

    // Removes files of the first folder; those of others are left alone. Gives how many went.
    Result<int> remove(const std::vector<std::filesystem::path>& files) const;

  private:
    Folders folders_;
    mutable std::optional<Listing> known_;  // until something is written
};

// Which of two records of the same key stays: the one measured later, since a search starts from
// what was known before it; of the same moment the faster, then the one whose text sorts first. The
// order is total: whoever merges whatever in whichever order gets the same.
bool better(const Record& a, const Record& b);

}  // namespace fact::registry
