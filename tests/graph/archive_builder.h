// Small archives made in the tests, whole or wrong on purpose.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/files.h"

namespace fact::graph::testing {

struct Record {
    std::string name, content;
    std::uint16_t method = 0, flags = 0;
    bool good_checksum = true;
};

struct ZipOptions {
    bool zip64 = false;  // sizes and offsets in zip64 fields, as torch writes large files
};

// A zip file with payloads aligned to 64 bytes, as torch aligns them.
std::string make_zip(const std::vector<Record>& records, ZipOptions options = {});

// A program y = relu(x @ w.T) with weight "fc.weight" of 2x4 f32.
std::string small_program();
// The records of a whole archive around a program, under "m/".
std::vector<Record> small_archive(const std::string& program);
// The record called `name` of `records`.
Record& record(std::vector<Record>& records, std::string_view name);

// The text with `from` replaced by `to`; throws when it does not occur.
std::string replaced(std::string text, std::string_view from, std::string_view to);

// A file that lives as long as the object.
class TestFile {
  public:
    explicit TestFile(std::string_view content);
    const std::filesystem::path& path() const { return path_; }

  private:
    TemporaryFolder folder_;
    std::filesystem::path path_;
};

}  // namespace fact::graph::testing
