#include "compose/package.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compose/rewrite.h"
#include "graph/graph_json.h"
#include "graphs.h"
#include "support/files.h"

namespace fact::compose {
namespace {

namespace fs = std::filesystem;

class PackageTest : public testing::Test {
  protected:
    PackageTest() : folder_(fs::temp_directory_path(), "fact-package-test") {
        for (const auto* name : {"kernel.fact", "kernel.cu", "kernel.cubin", "record.json"})
            EXPECT_TRUE(write_file_atomic(at("kernels") / name, std::string("text of ") + name));
        EXPECT_TRUE(write_file_atomic(at("model.pt2"), "weights"));
    }

    fs::path at(const std::string& name) const { return folder_.path() / name; }

    Package package() const {
        const auto g = make_graph({"x"}, {{"a", "x"}, {"b", "a"}}, {"b"});
        const auto p = make_pattern("p0", {"a"}, {"x"}, {"a"});
        Package out;
        out.name = "block";
        out.source = "block.py";
        out.arch = "sm90a";
        out.graph = *rewrite(g, {&p});
        out.calls.push_back(*make_call(g, p));
        out.kernels.push_back({"family_p0", "tile 128x128x64", "bf16", at("kernels")});
        out.archive = at("model.pt2");
        return out;
    }

    // What lies beside the output: nothing temporary may stay.
    std::vector<std::string> names(const fs::path& folder) const {
        std::vector<std::string> out;
        for (const auto& entry : fs::directory_iterator(folder))
            out.push_back(entry.path().filename().string());
        std::sort(out.begin(), out.end());
        return out;
    }

    TemporaryFolder folder_;
};

TEST_F(PackageTest, HoldsEverythingAModuleNeeds) {
    const auto output = at("out") / "package";
    const auto done = write_package(package(), output);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(names(output), (std::vector<std::string>{"calls", "graph.json", "kernels",
                                                       "manifest.json", "model.pt2"}));
    EXPECT_EQ(*read_file(output / "kernels/family_p0/kernel.cubin"), "text of kernel.cubin");
    EXPECT_EQ(*read_file(output / "model.pt2"), "weights");
    const auto manifest = nlohmann::json::parse(*read_file(output / "manifest.json"));
    EXPECT_EQ(manifest.at("format"), 1);
    EXPECT_EQ(manifest.at("calls"), nlohmann::json({"p0"}));
    EXPECT_EQ(manifest.at("kernels").at(0).at("precision"), "bf16");
    const auto graph = graph::graph_from_json(*read_file(output / "graph.json"));
    ASSERT_TRUE(graph);
    EXPECT_EQ(spell(*graph), "a = call p0(x)\nb = b(a)\n");
    EXPECT_TRUE(graph::fused_call_from_json(*read_file(output / "calls/p0.json")));
    EXPECT_EQ(names(at("out")), std::vector<std::string>{"package"});
}

TEST_F(PackageTest, ReplacesAnOlderPackageAsAWhole) {
    const auto output = at("out") / "package";
    ASSERT_TRUE(write_package(package(), output));
    ASSERT_TRUE(write_file_atomic(output / "calls/p9.json", "left over"));
    auto next = package();
    next.name = "second";
    ASSERT_TRUE(write_package(next, output));
    EXPECT_FALSE(fs::exists(output / "calls/p9.json"));
    EXPECT_NE(read_file(output / "manifest.json")->find("second"), std::string::npos);
    EXPECT_EQ(names(at("out")), std::vector<std::string>{"package"});
}

TEST_F(PackageTest, KeepsHowTheOriginalIsCalled) {
    auto with = package();
    with.original = R"({"parameters": [{"name": "x"}], "state_dict": ["w", "b"]})";
    ASSERT_TRUE(write_package(with, at("with")));
    const auto manifest = nlohmann::json::parse(*read_file(at("with") / "manifest.json"));
    EXPECT_EQ(manifest.at("original").at("parameters").at(0).at("name"), "x");
    EXPECT_EQ(manifest.at("original").at("state_dict"), nlohmann::json({"w", "b"}));
    ASSERT_TRUE(write_package(package(), at("without")));
    const auto older = nlohmann::json::parse(*read_file(at("without") / "manifest.json"));
    EXPECT_FALSE(older.contains("original"));
}

TEST_F(PackageTest, ALinkedFolderIsReplacedBehindTheLink) {
    ASSERT_TRUE(write_package(package(), at("real")));
    fs::create_directory_symlink("real", at("link"));
    auto next = package();
    next.name = "second";
    ASSERT_TRUE(write_package(next, at("link")));
    EXPECT_TRUE(fs::is_symlink(at("link")));
    EXPECT_NE(read_file(at("real") / "manifest.json")->find("second"), std::string::npos);
}

TEST_F(PackageTest, AFailureLeavesTheOlderPackage) {
    const auto output = at("out") / "package";
    ASSERT_TRUE(write_package(package(), output));
    const auto before = *read_file(output / "manifest.json");
    auto broken = package();
    broken.kernels[0].folder = at("nowhere");
    EXPECT_FALSE(write_package(broken, output));
    EXPECT_EQ(*read_file(output / "manifest.json"), before);
    EXPECT_EQ(names(at("out")), std::vector<std::string>{"package"});
}

TEST_F(PackageTest, OtherPeoplesFilesAreNotReplaced) {
    ASSERT_TRUE(write_file_atomic(at("mine") / "thesis.txt", "text"));
    const auto folder = check_output(at("mine"));
    ASSERT_FALSE(folder);
    EXPECT_NE(folder.error().message.find("is not a package"), std::string::npos);
    const auto file = check_output(at("mine") / "thesis.txt");
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().message.find("is a file"), std::string::npos);
    EXPECT_FALSE(check_output("/proc/fact/package"));
    EXPECT_TRUE(check_output(at("fresh") / "package/"));
}

}  // namespace
}  // namespace fact::compose
