#include "support/hash.h"

#include <gtest/gtest.h>

#include "support/files.h"

namespace fact {
namespace {

// The vectors of FIPS 180-4.
TEST(Sha256, PublishedVectors) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// The padding takes one block up to 55 bytes and two from 56.
TEST(Sha256, LengthsAroundABlock) {
    EXPECT_EQ(sha256_hex(std::string(55, 'a')),
              "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    EXPECT_EQ(sha256_hex(std::string(56, 'a')),
              "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    EXPECT_EQ(sha256_hex(std::string(64, 'a')),
              "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

// The CPU's own instructions and plain arithmetic are one function.
TEST(Sha256, InstructionsOfTheCpuAgreeWithArithmetic) {
    const auto fast = sha256_blocks_of_cpu();
    if (!fast) GTEST_SKIP() << "this CPU has no instructions for SHA-256";
    std::string bytes;
    for (unsigned i = 0, x = 1; i < 9 * kSha256Block; ++i)
        bytes += static_cast<char>(x = x * 69621 + 7, x >> 16);
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    for (std::size_t blocks : {0, 1, 2, 9}) {
        Sha256State got{1, 2, 3, 4, 5, 6, 7, 0xffffffff}, want = got;
        fast(got, data, blocks);
        sha256_blocks_portable(want, data, blocks);
        EXPECT_EQ(got, want) << blocks;
    }
}

TEST(Sha256, PiecesAreTheWhole) {
    std::string bytes;
    for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * 7);
    for (std::size_t piece : {1, 3, 63, 64, 65, 200}) {
        Sha256 hash;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            hash.add(std::string_view(bytes).substr(at, piece));
            hash.add("");
        }
        EXPECT_EQ(hash.hex(), sha256_hex(bytes)) << piece;
    }
}

TEST(Sha256, OfAFile) {
    const TemporaryFolder folder(std::filesystem::temp_directory_path(), "fact-hash-test");
    const auto path = folder.path() / "file";
    const std::string bytes(3'000'001, 'x');
    ASSERT_TRUE(write_file_atomic(path, bytes));
    EXPECT_EQ(*sha256_of_file(path), sha256_hex(bytes));
    EXPECT_NE(sha256_of_file(folder.path() / "none").error().message.find("cannot read"),
              std::string::npos);
    EXPECT_FALSE(sha256_of_file(folder.path()));
}

TEST(Sha256, ShortHashIsItsBeginning) {
    EXPECT_EQ(short_hash("abc"), "ba7816bf8f01cfea");
}

}  // namespace
}  // namespace fact
