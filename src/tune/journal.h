// What became of every candidate, one line each, as it is known: it survives whatever ends the run.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "support/result.h"

namespace fact::tune {

class Journal {
  public:
    // Lines are added after those of earlier runs.
    explicit Journal(std::filesystem::path path) : path_(std::move(path)) {}

    // A whole line or, on a full disk, nothing of it. The first failure is kept.
    void add(std::string_view line);
    // What went wrong, if anything did.
    const std::optional<Error>& failure() const { return failure_; }

  private:
    std::filesystem::path path_;
    std::optional<Error> failure_;
};

}  // namespace fact::tune
