// Seeded damage: whatever the bytes are, reading ends in a sound graph or an error.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <random>

#include "archive_builder.h"
#include "graph/canonical.h"
#include "graph/channels_last.h"
#include "graph/graph_json.h"
#include "graph/printer.h"
#include "graph/pt2_archive.h"
#include "graph/pt2_program.h"
#include "graph/zip_reader.h"
#include "test_data.h"

namespace fact::graph {
namespace {

const std::filesystem::path kArchives = std::filesystem::path(FACT_TEST_DATA) / "data";

// Everything a stage would do with a graph that was read.
void use(const Graph& graph) {
    ASSERT_EQ(verify(graph), "");
    const Graph canonical = canonicalize(graph);
    ASSERT_EQ(verify(canonical), "");
    ASSERT_EQ(verify(keep_channels_last(canonical)), "");
    EXPECT_FALSE(print(canonical).empty());
    EXPECT_TRUE(graph_from_json(to_json(canonical)));
}

// Reads the first and last byte of every weight, so that a wrong span faults here.
void touch(const Archive& archive) {
    int sum = 0;
    for (const Weight& weight : archive.weights)
        if (!weight.storage.empty())
            sum +=
                static_cast<int>(weight.storage.front()) + static_cast<int>(weight.storage.back());
    EXPECT_GE(sum, 0);
}

TEST(Pt2Fuzz, DamagedFiles) {
    const auto original = read_file(kArchives / "features.pt2");
    ASSERT_TRUE(original) << original.error().text();
    const TemporaryFolder folder(std::filesystem::temp_directory_path(), "graph-fuzz");
    const auto path = folder.path() / "model.pt2";
    std::mt19937 random(1);
    int num_read = 0;
    for (int round = 0; round < 2000; ++round) {
        std::string bytes = *original;
        // The directory at the end is small and matters most.
        const std::size_t first = round % 2 == 0 ? 0 : bytes.size() - 2500;
        const auto place = [&] { return first + random() % (bytes.size() - first); };
        if (round % 10 == 0)
            bytes.resize(place());
        else
            for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
                bytes[place()] =
                    static_cast<char>(std::array{random() % 256, 0ul, 255ul}[random() % 3]);
        std::filesystem::remove(path);  // rewriting in place makes some file systems sync
        std::ofstream(path, std::ios::binary) << bytes;
        if (const auto archive = read_pt2(path)) {
            touch(*archive);
            ++num_read;
        }
    }
    EXPECT_GT(num_read, 0);  // damage to payloads or unread records is not noticed
    EXPECT_LT(num_read, 2000);
}

// Replaces one JSON number or string, or cuts a piece out: damage that a checksum would have hidden
// from the decoder.
std::string damaged(std::string text, std::mt19937& random) {
    static constexpr std::array<std::string_view, 12> kTokens{"-1",
                                                              "0",
                                                              "9223372036854775807",
                                                              "-9223372036854775808",
                                                              "18446744073709551616",
                                                              "1e999",
                                                              "null",
                                                              "\"x\"",
                                                              "[]",
                                                              "{}",
                                                              "true",
                                                              "NaN"};
    const std::size_t at = random() % text.size();
    const std::size_t digit = text.find_first_of("0123456789", at);
    switch (random() % 4) {
        case 0:
        case 1: {
            if (digit == std::string::npos) return text;
            const std::size_t end = text.find_first_not_of("0123456789", digit);
            return text.substr(0, digit) + std::string(kTokens[random() % kTokens.size()]) +
                   text.substr(end);
        }
        case 2: {
            const std::size_t open = text.find('{', at);
            if (open == std::string::npos) return text;
            const std::size_t close = text.find('}', open);
            return text.substr(0, open) + std::string(kTokens[random() % kTokens.size()]) +
                   text.substr(std::min(text.size(), close + 1));
        }
        default:
            text[at] = static_cast<char>(random() % 128);
            return text;
    }
}

TEST(Pt2Fuzz, DamagedPrograms) {
    std::mt19937 random(2);
    for (const std::string name : {"features", "gpt_block"}) {
        const auto zip = ZipReader::open(kArchives / (name + ".pt2"));
        ASSERT_TRUE(zip) << zip.error().text();
        const auto text = zip->text(name + "/models/model.json");
        ASSERT_TRUE(text) << text.error().text();
        int num_read = 0;
        for (int round = 0; round < 600; ++round) {
            std::string program(*text);
            for (unsigned i = 1 + random() % 2; i > 0; --i) program = damaged(program, random);
            auto graph = decode_program(program);
            if (!graph || !verify(*graph).empty()) continue;
            use(*graph);
            ++num_read;
        }
        EXPECT_GT(num_read, 0);
        EXPECT_LT(num_read, 600);
    }
}

TEST(Pt2Fuzz, DamagedGraphTexts) {
    const auto archive = read_pt2(kArchives / "features.pt2");
    ASSERT_TRUE(archive) << archive.error().text();
    const std::string text = to_json(archive->graph);
    std::mt19937 random(3);
    for (int round = 0; round < 400; ++round)
        if (const auto graph = graph_from_json(damaged(text, random))) use(*graph);
}

}  // namespace
}  // namespace fact::graph
