// The files of a run, and the stamps that say what they were made from.
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

// What a run was asked for; kept in run.json, so that each stage alone finds it again.
struct Settings {
    std::string source;  // FILE.py or package.module:factory
    std::string dtype;   // "", "bf16" or "fp16"
    std::string arch{kUsualArch};
    bool allow_tf32 = false;
    bool training = false;  // the module is taken in training mode
    bool without_weights = false;
    bool operator==(const Settings&) const = default;
};

// How `fact optimize` was asked beside that; kept in run.json for `fact runs resume`.
struct Asked {
    std::string folder;  // where it was started: sources are found from there
    std::string output;  // "": package/ in the run folder
    tune::Effort effort;
    int jobs = 0;
    std::vector<std::string> also;
    bool bench = true, registry = true;
    bool rules = true;  // false: a model was asked alone
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

    // Refuses a folder that holds something and no run: `fact optimize` replaces files by name.
    Result<> check_ours() const;

    // Held by whoever writes to the folder, which exists; waits for another process that does.
    Result<FileLock> lock() const;

    Result<Settings> settings() const;           // defaults when the folder has none
    Result<std::optional<Asked>> asked() const;  // nothing when it was not `fact optimize`
    Result<> remember(const Settings& settings, const std::optional<Asked>& asked = {}) const;

    // Whether `stage` last finished from exactly these inputs.
    bool current(const std::string& stage, const std::string& inputs) const;
    // Says that `stage` finished from these inputs.
    Result<> stamp(const std::string& stage, const std::string& inputs) const;

  private:
    std::filesystem::path folder_;
};

// ".fact/runs/<stem>-<hash>": the same request always finds the same folder.
std::filesystem::path default_run_folder(const Settings& settings);

}  // namespace fact::driver
