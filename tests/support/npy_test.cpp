#include "support/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "support/files.h"
#include "support/npy_header.h"

namespace fact {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
    std::string bytes(values.size() * sizeof(T), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

// A file of format version 1 with the given header text.
std::string file(const std::string& header, const std::string& data, char version = 1) {
    std::string bytes = "\x93NUMPY";
    bytes += {version, '\0', static_cast<char>(header.size() & 0xff),
              static_cast<char>(header.size() >> 8)};
    if (version > 1) bytes += std::string(2, '\0');
    return bytes + header + data;
}

std::string refused(std::string bytes) {
    const auto array = parse_npy(std::move(bytes), "x.npy");
    if (array) return "";
    EXPECT_TRUE(array.error().bad_input);
    EXPECT_FALSE(array.error().hint.empty());
    return array.error().message;
}

TEST(Npy, EveryTypeComesBack) {
    for (const NpyTypeInfo& row : kNpyTypes) {
        NpyArray array{row.type, {2, 3}, std::string(6 * static_cast<std::size_t>(row.bytes), 1)};
        const auto back = parse_npy(npy_bytes(array), "x.npy");
        ASSERT_TRUE(back) << row.descr << back.error().text();
        EXPECT_EQ(*back, array);
        EXPECT_EQ(num_elements(*back), 6);
    }
}

TEST(Npy, EveryRankComesBack) {
    for (const auto& shape :
         std::vector<std::vector<std::int64_t>>{{}, {1}, {5}, {0}, {2, 0, 3}, {1, 2, 3, 4, 5}}) {
        std::int64_t count = 1;
        for (const auto extent : shape) count *= extent;
        NpyArray array{NpyType::i2, shape, std::string(static_cast<std::size_t>(2 * count), 7)};
        const auto back = parse_npy(npy_bytes(array), "x.npy");
        ASSERT_TRUE(back) << back.error().text();
        EXPECT_EQ(*back, array);
    }
}

// Byte for byte what numpy.save(file, numpy.zeros((3,), numpy.float32)) writes.
TEST(Npy, WritesAsNumpyDoes) {
    const std::string bytes = npy_bytes({NpyType::f4, {3}, std::string(12, '\0')});
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
    header += std::string(117 - header.size(), ' ') + "\n";
    EXPECT_EQ(bytes, file(header, std::string(12, '\0')));
    EXPECT_EQ((bytes.size() - 12) % 64, 0u);
}

TEST(Npy, FortranOrderBecomesCOrder) {
    // [[1, 2, 3], [4, 5, 6]] column by column.
    const auto array =
        parse_npy(file("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n",
                       bytes_of<std::int32_t>({1, 4, 2, 5, 3, 6})),
                  "x.npy");
    ASSERT_TRUE(array) << array.error().text();
    EXPECT_EQ(array->data, bytes_of<std::int32_t>({1, 2, 3, 4, 5, 6}));
    const auto deep = parse_npy(file("{'descr': '|u1', 'fortran_order': True, 'shape': (2,2,2)}",
                                     bytes_of<std::uint8_t>({0, 4, 2, 6, 1, 5, 3, 7})),
                                "x.npy");
    ASSERT_TRUE(deep);
    EXPECT_EQ(deep->data, bytes_of<std::uint8_t>({0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Npy, ReadsVersionsTwoAndThree) {
    for (const char version : {2, 3}) {
        const auto array =
            parse_npy(file("{\"shape\": (2,), 'fortran_order': False, 'descr': '=f8'}",
                           std::string(16, 0), version),
                      "x.npy");
        ASSERT_TRUE(array) << array.error().text();
        EXPECT_EQ(array->type, NpyType::f8);
    }
}

TEST(Npy, BoolIsZeroOrOne) {
    const auto array = parse_npy(file("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}",
                                      bytes_of<std::uint8_t>({0, 2, 255})),
                                 "x.npy");
    ASSERT_TRUE(array);
    EXPECT_EQ(array->data, bytes_of<std::uint8_t>({0, 1, 1}));
}

TEST(Npy, SaysWhatIsWrong) {
    const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
    EXPECT_NE(refused("").find("does not begin like one"), std::string::npos);
    EXPECT_NE(refused("PK\3\4").find("does not begin like one"), std::string::npos);
    EXPECT_NE(refused("\x93NUMPY\1").find("ends within its header"), std::string::npos);
    EXPECT_NE(refused(file(good, "", 9)).find("version 9"), std::string::npos);
    EXPECT_EQ(
        refused(file(good, std::string(15, 0))),
        "x.npy is not a complete .npy file: shape (4) of float32 does not fit into its 15 bytes");
    EXPECT_NE(refused(file(good, std::string(17, 0))).find("1 bytes follow"), std::string::npos);
    EXPECT_NE(refused(file("{'descr': '>f4', 'fortran_order': False, 'shape': (0,)}", ""))
                  .find("type '>f4'"),
              std::string::npos);
    for (const char* descr : {"|O", "<c8", "<U3", "", "<", "<f16", "f4"})
        EXPECT_NE(refused(file("{'descr': '" + std::string(descr) +
                                   "', 'fortran_order': False, 'shape': (0,)}",
                               ""))
                      .find("elements of type"),
                  std::string::npos)
            << descr;
}

// Sizes that would overflow, or that no memory holds, are found before anything is allocated.
TEST(Npy, HugeShapesAreRefused) {
    for (const char* shape :
         {"(4611686018427387904, 4)", "(9223372036854775807,)", "(65536, 65536, 65536, 65536)",
          "(1000000000000,)", "(99999999999999999999,)"})
        EXPECT_NE(refused(file("{'descr': '<f8', 'fortran_order': False, 'shape': " +
                                   std::string(shape) + "}",
                               std::string(64, 0))),
                  "")
            << shape;
}

TEST(Npy, HeadersThatAreNoDictionaryOfThreeKeys) {
    for (const char* header :
         {"", "{", "{}", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False}",
          "{'descr': '<f4' 'fortran_order': False, 'shape': ()}",
          "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (1,}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
          "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
          "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x"})
        EXPECT_FALSE(parse_npy_header(header)) << header;
    std::string many = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < 33; ++i) many += "1,";
    EXPECT_FALSE(parse_npy_header(many + ")}"));
}

TEST(Npy, AnyDamageIsSurvived) {
    std::mt19937 random(7);
    const std::string whole = npy_bytes({NpyType::f4, {3, 4}, std::string(48, 5)});
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(parse_npy(whole.substr(0, length), "x.npy"));
    for (int i = 0; i < 20000; ++i) {
        std::string bytes = whole;
        for (int j = 0; j < 3; ++j) bytes[random() % 100] = static_cast<char>(random());
        if (const auto array = parse_npy(bytes, "x.npy")) {
            EXPECT_EQ(num_elements(*array) * info(array->type).bytes,
                      static_cast<std::int64_t>(array->data.size()));
        }
    }
}

TEST(Npy, FilesComeBackAndBadOnesAreNamed) {
    const TemporaryFolder folder(testing::TempDir(), "npy");
    const NpyArray array{NpyType::f2, {2, 2}, std::string(8, 3)};
    ASSERT_TRUE(write_npy(folder.path() / "a.npy", array));
    const auto back = read_npy(folder.path() / "a.npy");
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, array);
    for (const char* name : {"missing.npy", ""}) {
        const auto read = read_npy(folder.path() / name);
        ASSERT_FALSE(read);
        EXPECT_TRUE(read.error().bad_input);
        EXPECT_NE(read.error().message.find(folder.path().string()), std::string::npos);
    }
    // A hole of a terabyte is refused by its size.
    ASSERT_TRUE(write_file_atomic(folder.path() / "huge.npy", ""));
    ASSERT_EQ(::truncate((folder.path() / "huge.npy").c_str(), off_t{1} << 40), 0);
    const auto huge = read_npy(folder.path() / "huge.npy");
    ASSERT_FALSE(huge);
    EXPECT_NE(huge.error().message.find("larger than"), std::string::npos);
}

}  // namespace
}  // namespace fact
