// Reads the archive that torch.export.save writes, without torch: a zip of uncompressed records,
// with the program as JSON and weights as raw bytes, which stay memory-mapped.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::graph {

// A parameter, buffer or constant, whose elements are in `storage` as `type` says.
struct Weight {
    std::string fqn;
    TensorType type;
    std::span<const std::byte> storage;
    bool is_parameter = false;
    bool persistent = true;  // false: not in the state_dict (constants, non-persistent buffers)
};

struct Archive {
    Graph graph;  // as exported, not canonical
    std::vector<Weight> weights;
    std::shared_ptr<const void> mapping;  // keeps `storage` valid
};

Result<Archive> read_pt2(const std::filesystem::path& path);

// A text saved with the program (extra_files of torch.export.save); "" if there is none.
Result<std::string> read_pt2_extra(const std::filesystem::path& path, std::string_view name);

}  // namespace fact::graph
