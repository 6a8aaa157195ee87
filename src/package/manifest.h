// The manifest of a package: what it is, which files it has, and what it requires of its caller.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace fact::package {

inline constexpr std::string_view kKind = "fact package";
inline constexpr int kFormat = 2;
inline constexpr std::string_view kManifestFile = "manifest.json";

struct File {
    std::uint64_t size = 0;
    std::string sha256;  // 64 hex digits
    bool operator==(const File&) const = default;
};
using Files = std::map<std::string, File>;  // by path in the package, with "/"

// What the package was made from, and with which options.
struct Origin {
    std::string source;       // FILE.py or package.module:factory; "": not known
    std::string asked_dtype;  // what --dtype cast the module to; "": it kept its own types
    bool allow_tf32 = false;
    bool training = false;  // the mode that the module was traced in
};

// What is needed to check and to run a package; the rest of manifest.json is for people and for
// Python.
struct Manifest {
    std::string identity;  // SHA-256 of manifest.json, which has the hashes of all other files
    Files files;           // all but manifest.json
    std::vector<std::string> calls;       // FusedCall::id of each call that a kernel computes
    std::vector<std::string> namespaces;  // of the operators that it calls
    std::vector<std::string> classes;     // Python classes of its arguments and results
    Origin origin;
    bool without_weights = false;  // the original module's weights are not in the package
};

// Refuses other formats, fields of the wrong type, and file names that lead out of the package.
Result<Manifest> manifest_from_json(std::string_view text);
// The manifest of `folder`; the Error names the folder and says why it is no package.
Result<Manifest> read_manifest(const std::filesystem::path& folder);

}  // namespace fact::package
