// Any bytes are an archive with a sound graph, or refused. Bytes that are no zip are read as the
// text of pt2_records.h and packed into one.
#include "graph/pt2_archive.h"

#include <sys/mman.h>
#include <unistd.h>

#include "graph/canonical.h"
#include "graph/channels_last.h"
#include "graph/graph_json.h"
#include "graph/printer.h"
#include "pt2_records.h"
#include "require.h"

namespace fact::graph {
namespace {

using fact::fuzz::require;

// A file in memory with these bytes; the reader maps it by its path.
class MemoryFile {
  public:
    explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
        require(descriptor_ >= 0 && ::write(descriptor_, bytes.data(), bytes.size()) ==
                                        static_cast<ssize_t>(bytes.size()),
                "no file in memory");
    }
    MemoryFile(const MemoryFile&) = delete;
    ~MemoryFile() { ::close(descriptor_); }
    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  private:
    int descriptor_;
};

// What every stage does with a graph it was given.
void use(const Graph& graph) {
    const Graph canonical = canonicalize(graph);
    require(verify(canonical).empty(), "canonical form: " + verify(canonical));
    const Graph kept = keep_channels_last(canonical);
    require(verify(kept).empty(), "channels last: " + verify(kept));
    print(canonical);
    const std::string text = to_json(canonical);
    const auto again = graph_from_json(text);
    require(again && to_json(*again) == text, "does not survive printing:\n" + text);
}

// Reads both ends of every weight, so that a wrong span faults here.
void touch(const Archive& archive) {
    volatile unsigned sum = 0;
    for (const Weight& weight : archive.weights)
        if (!weight.storage.empty())
            sum = sum + static_cast<unsigned>(weight.storage.front()) +
                  static_cast<unsigned>(weight.storage.back());
}

void check(std::string_view bytes) {
    const MemoryFile file(bytes);
    (void)read_pt2_extra(file.path(), "source.py");
    const auto archive = read_pt2(file.path());
    if (!archive) return;
    require(verify(archive->graph).empty(), verify(archive->graph));
    touch(*archive);
    use(archive->graph);
}

}  // namespace
}  // namespace fact::graph

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace graph = fact::graph;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const bool zip = bytes.starts_with("PK");
    graph::check(zip ? std::string(bytes)
                     : graph::testing::make_zip(graph::fuzz::records_of(bytes)));
    return 0;
}
