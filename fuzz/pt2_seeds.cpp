// Writes what the fuzzing of archives starts from: pt2_seeds OUT ARCHIVE...
#include <fstream>

#include "graph/zip_reader.h"
#include "pt2_records.h"

namespace {

using fact::graph::testing::Record;

void write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<Record> records_of_file(const std::filesystem::path& path) {
    const auto zip = fact::graph::ZipReader::open(path);
    if (!zip) throw std::runtime_error(zip.error().text());
    std::vector<Record> records;
    for (const auto& [name, entry] : zip->entries())
        if (const auto bytes = zip->bytes(name))
            records.push_back(
                {name, {reinterpret_cast<const char*>(bytes->data()), bytes->size()}});
    return records;
}

}  // namespace

int main(int argc, char** argv) {
    namespace graph = fact::graph;
    const std::filesystem::path out = argv[1];
    std::filesystem::create_directories(out);
    const auto small = graph::testing::small_archive(graph::testing::small_program());
    write(out / "small.pt2", graph::testing::make_zip(small));
    write(out / "small_zip64.pt2", graph::testing::make_zip(small, {.zip64 = true}));
    write(out / "small.records", graph::fuzz::to_text(small));
    for (int i = 2; i < argc; ++i) {
        const std::filesystem::path archive = argv[i];
        write(out / archive.stem().concat(".records"),
              graph::fuzz::to_text(records_of_file(archive)));
    }
}
