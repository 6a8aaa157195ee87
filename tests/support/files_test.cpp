#include "support/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace fact {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
  protected:
    TemporaryFolder folder{testing::TempDir(), "files"};
    fs::path in(const char* name) const { return folder.path() / name; }
};

TEST_F(Files, WritesWhatItReadsBack) {
    std::string bytes = std::string("a\0b\n", 4) + std::string(100'000, 'x');
    ASSERT_TRUE(write_file_atomic(in("deep/er/file"), bytes));
    auto read = read_file(in("deep/er/file"));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, bytes);
}

TEST_F(Files, LeavesNoTemporaryBehind) {
    ASSERT_TRUE(write_file_atomic(in("file"), "one"));
    ASSERT_TRUE(write_file_atomic(in("file"), "two"));
    EXPECT_EQ(*read_file(in("file")), "two");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST_F(Files, AFailedWriteLeavesTheOldAndNoTemporary) {
    fs::create_directories(in("taken/inside"));
    auto written = write_file_atomic(in("taken"), "x");
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find("taken"), std::string::npos);
    EXPECT_TRUE(fs::is_directory(in("taken")));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST_F(Files, ALinkStaysAndItsTargetIsWritten) {
    fs::create_directory(in("far"));
    fs::create_symlink("far/target", in("link"));
    fs::create_symlink("link", in("link to link"));
    ASSERT_TRUE(write_file_atomic(in("link to link"), "new"));  // the target is not there yet
    ASSERT_TRUE(write_file_atomic(in("link"), "newer"));
    EXPECT_TRUE(fs::is_symlink(in("link")));
    EXPECT_TRUE(fs::is_symlink(in("link to link")));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(in("far/target"))));
    EXPECT_EQ(*read_file(in("far/target")), "newer");
    fs::create_symlink("round", in("round"));
    EXPECT_FALSE(write_file_atomic(in("round"), "x"));
}

TEST_F(Files, WhatIsNoRegularFileIsNotReplaced) {
    ASSERT_EQ(::mkfifo(in("pipe").c_str(), 0600), 0);
    fs::create_symlink("pipe", in("link"));
    for (const auto* name : {"pipe", "link"}) {
        const auto written = write_file_atomic(in(name), "x");
        ASSERT_FALSE(written);
        EXPECT_NE(written.error().message.find("a device or a pipe, not a regular file"),
                  std::string::npos);
    }
    EXPECT_TRUE(fs::is_fifo(in("pipe")));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
}

// Readers see one of the contents, never a mixture or a part.
TEST_F(Files, ConcurrentWritersNeverMix) {
    const std::string a(200'000, 'a'), b(300'000, 'b');
    ASSERT_TRUE(write_file_atomic(in("file"), a));
    std::vector<std::thread> writers;
    for (const std::string* text : {&a, &b})
        writers.emplace_back([&, text] {
            for (int i = 0; i < 20; ++i) EXPECT_TRUE(write_file_atomic(in("file"), *text));
        });
    for (int i = 0; i < 50; ++i) {
        auto read = read_file(in("file"));
        ASSERT_TRUE(read);
        EXPECT_TRUE(*read == a || *read == b);
    }
    for (auto& writer : writers) writer.join();
}

TEST_F(Files, MissingFileIsNamed) {
    auto read = read_file(in("absent"));
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("absent: No such file"), std::string::npos);
    EXPECT_FALSE(read.error().hint.empty());
}

TEST_F(Files, ALimitRefusesLargeAndEndlessFiles) {
    ASSERT_TRUE(write_file_atomic(in("file"), std::string(100, 'x')));
    EXPECT_EQ(read_file(in("file"), 100)->size(), 100u);
    for (const auto& read : {read_file(in("file"), 99), read_file("/dev/zero", 1000)}) {
        ASSERT_FALSE(read);
        EXPECT_NE(read.error().message.find("is larger than"), std::string::npos);
    }
}

TEST_F(Files, AFolderIsNotAFile) {
    auto read = read_file(folder.path());
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("directory"), std::string::npos);
}

TEST_F(Files, ReadsFilesWithoutASize) {
    auto read = read_file("/proc/self/status");
    ASSERT_TRUE(read);
    EXPECT_NE(read->find("Pid:"), std::string::npos);
}

TEST_F(Files, WritableFolderIsMadeAndLeftEmpty) {
    ASSERT_TRUE(ensure_writable_folder(in("a/b")));
    EXPECT_TRUE(fs::is_empty(in("a/b")));
}

TEST_F(Files, FolderUnderAFileCannotBeMade) {
    ASSERT_TRUE(write_file_atomic(in("file"), ""));
    EXPECT_FALSE(ensure_writable_folder(in("file/below")));
}

TEST_F(Files, ReadOnlyFolderIsRefused) {
    if (::geteuid() == 0) {
        EXPECT_FALSE(ensure_writable_folder("/proc/self"));
        return;
    }
    fs::create_directory(in("locked"));
    fs::permissions(in("locked"), fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_FALSE(ensure_writable_folder(in("locked")));
}

TEST_F(Files, TemporaryFolderGoesWithItsObject) {
    fs::path path;
    {
        TemporaryFolder temporary(folder.path(), "run");
        path = temporary.path();
        ASSERT_TRUE(write_file_atomic(path / "x/y", "z"));
        EXPECT_TRUE(fs::exists(path));
    }
    EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace fact
