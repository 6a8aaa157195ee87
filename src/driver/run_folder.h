// The files of a run, and stamps that record which inputs they were made from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/file_lock.h"
#include "support/result.h"
#include "target/arch.h"
#include "tune/effort.h"

namespace fact::driver {

// What is optimized; stored in run.json, so that a stage can also be run alone.
struct Settings {
    std::string source;  // FILE.py or package.module:factory
    std::string dtype;   // "", "bf16" or "fp16"
    std::string arch{kDefaultArch};
    bool allow_tf32 = false;
    bool training = false;  // the module is traced in training mode
    bool without_weights = false;
    bool operator==(const Settings&) const = default;
};

// The other options of `fact optimize`; stored in run.json for `fact runs resume`.
struct Asked {
    std::string folder;  // where it was started: relative paths start from there
    std::string output;  // "": package/ in the run folder
    tune::Effort effort;
    int jobs = 0;                   // compilers at a time; 0: one per core
    std::vector<std::string> also;  // the user's CUDA files
    bool bench = true, registry = true;
    bool rules = true;  // false: a model alone, without rules
    bool shipped_rules = true;
    bool operator==(const Asked&) const = default;
};

class RunFolder {
  public:
    explicit RunFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

    const std::filesystem::path& path() const { return folder_; }
    std::filesystem::path archive() const { return folder_ / "model.pt2"; }
    std::filesystem::path sources() const { return folder_ / "sources.json"; }
    std::filesystem::path discovery() const { return folder_ / "discovery.json"; }
    std::filesystem::path call(const std::string& id) const {
        return folder_ / "calls" / (id + ".json");
    }
    std::filesystem::path result(const std::string& family) const {
        return folder_ / "kernels" / family / "result.json";
    }
    std::filesystem::path bench() const { return folder_ / "bench.json"; }
    std::filesystem::path package() const { return folder_ / "package"; }

    // Refuses a folder that is neither empty nor a run: `fact optimize` would overwrite its files.
    Result<> check_ours() const;

    // The lock for writing to the folder, which must exist; waits for other processes.
    Result<FileLock> lock() const;

    Result<Settings> settings() const;           // defaults if the folder has none
    Result<std::optional<Asked>> asked() const;  // nullopt if `fact optimize` did not make it
    // Writes run.json.
    Result<> remember(const Settings& settings, const std::optional<Asked>& asked = {}) const;

    // Whether `stage` last finished from exactly these inputs.
    bool current(const std::string& stage, const std::string& inputs) const;
    // Records that `stage` finished from these inputs.
    Result<> stamp(const std::string& stage, const std::string& inputs) const;

  private:
    std::filesystem::path folder_;
};

// ".fact/runs/<stem>-<hash>": the same request always finds the same folder.
std::filesystem::path default_run_folder(const Settings& settings);

}  // namespace fact::driver
