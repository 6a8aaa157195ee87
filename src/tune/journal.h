// The outcome of every candidate, written line by line as it is known, so that it survives a crash.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "support/result.h"

namespace fact::tune {

class Journal {
  public:
    // Lines are appended to those of earlier runs.
    explicit Journal(std::filesystem::path path) : path_(std::move(path)) {}

    // Writes the whole line or, on a full disk, nothing of it. The first failure is remembered.
    void add(std::string_view line);
    const std::optional<Error>& failure() const { return failure_; }

  private:
    std::filesystem::path path_;
    std::optional<Error> failure_;
};

}  // namespace fact::tune
