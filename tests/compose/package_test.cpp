#include "compose/package.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "compose/rewrite.h"
#include "graph/graph_json.h"
#include "graphs.h"
#include "package/files.h"
#include "support/files.h"
#include "support/hash.h"

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
    EXPECT_EQ(manifest.at("kind"), "fact package");
    EXPECT_EQ(manifest.at("format"), 2);
    EXPECT_EQ(manifest.at("files").at("model.pt2"),
              (nlohmann::json{{"size", 7}, {"sha256", sha256_hex("weights")}}));
    EXPECT_EQ(manifest.at("files").size(), 7);  // the archive, the graph, a call, four of a kernel
    EXPECT_EQ(manifest.at("classes"), nlohmann::json::array());
    EXPECT_EQ(manifest.at("calls"), nlohmann::json({"p0"}));
    EXPECT_EQ(manifest.at("kernels").at(0).at("precision"), "bf16");
    const auto graph = graph::graph_from_json(*read_file(output / "graph.json"));
    ASSERT_TRUE(graph);
    EXPECT_EQ(spell(*graph), "a = call p0(x)\nb = b(a)\n");
    EXPECT_TRUE(graph::fused_call_from_json(*read_file(output / "calls/p0.json")));
    EXPECT_EQ(names(at("out")), std::vector<std::string>{"package"});
}

TEST_F(PackageTest, OnlyWhatAKilledRunLeftIsTidiedAway) {
    const auto output = at("out");
    const auto left = at(".out.new.aB3xYz"), others = at(".out.new.backups"),
               notes = at(".out.new.myname");
    fs::create_directories(left / "package" / "kernels");
    fs::create_directories(others / "package");
    fs::create_directories(notes / "thesis");
    ASSERT_TRUE(write_package(package(), output));
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(fs::exists(notes / "thesis"));
    EXPECT_TRUE(fs::exists(others));
}

TEST_F(PackageTest, ReplacesAnOlderPackageAsAWhole) {
    const auto output = at("out") / "package";
    ASSERT_TRUE(write_package(package(), output));
    auto next = package();
    next.name = "second";
    ASSERT_TRUE(write_package(next, output));
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

TEST_F(PackageTest, AStagedPackageChangesNothingUntilItIsPutInPlace) {
    const auto output = at("out") / "package";
    ASSERT_TRUE(write_package(package(), output));
    const auto before = *read_file(output / "manifest.json");
    auto next = package();
    next.name = "second";
    {
        const auto staged = StagedPackage::write(next, output);
        ASSERT_TRUE(staged) << staged.error().text();
        EXPECT_TRUE(package::check_nothing_else(staged->path()));
        EXPECT_EQ(*read_file(output / "manifest.json"), before);
    }
    EXPECT_EQ(*read_file(output / "manifest.json"), before);
    EXPECT_EQ(names(at("out")), std::vector<std::string>{"package"});

    auto staged = StagedPackage::write(next, output);
    // Somebody's file came while the package was measured.
    ASSERT_TRUE(write_file_atomic(output / "notes.txt", "mine"));
    const auto refused = staged->put_in_place();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("notes.txt is not a file of the package"),
              std::string::npos);
    fs::remove(output / "notes.txt");
    ASSERT_TRUE(staged->put_in_place());
    EXPECT_NE(read_file(output / "manifest.json")->find("second"), std::string::npos);
}

TEST_F(PackageTest, DeclaresTheNamespacesAndClassesItNeeds) {
    auto with = package();
    with.graph.nodes.back().target = "torchvision.nms.default";
    with.calls[0].original.nodes[0].target = "prims.sum.default";
    with.graph.out_spec =
        R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [
            {"type": "my.Output", "context": "[\"y\"]", "children_spec": [
             {"type": null, "context": null, "children_spec": []}]}]}])";
    ASSERT_TRUE(write_package(with, at("with")));
    const auto manifest = package::read_manifest(at("with"));
    ASSERT_TRUE(manifest) << manifest.error().text();
    EXPECT_EQ(manifest->namespaces, (std::vector<std::string>{"prims", "torchvision"}));
    EXPECT_EQ(manifest->classes, std::vector<std::string>{"my.Output"});
}

TEST_F(PackageTest, AWebProjectIsNotAPackage) {
    ASSERT_TRUE(write_file_atomic(at("web/manifest.json"),
                                  R"({"manifest_version": 3, "name": "page", "calls": []})"));
    ASSERT_TRUE(write_file_atomic(at("web/src/index.js"), "years of work"));
    for (const auto& refused : {check_output(at("web")), write_package(package(), at("web"))}) {
        ASSERT_FALSE(refused);
        EXPECT_NE(refused.error().message.find("is not a package that can be replaced"),
                  std::string::npos);
        EXPECT_NE(refused.error().hint.find("remove that folder yourself"), std::string::npos);
    }
    EXPECT_EQ(*read_file(at("web/src/index.js")), "years of work");
}

TEST_F(PackageTest, OnlyAWholePackageWithNothingElseIsReplaced) {
    const auto output = at("out") / "package";
    const auto refused = [&](const std::string& why) {
        const auto result = check_output(output);
        ASSERT_FALSE(result) << why;
        EXPECT_NE(result.error().message.find(why), std::string::npos) << result.error().message;
    };
    ASSERT_TRUE(write_package(package(), output));
    ASSERT_TRUE(check_output(output));
    ASSERT_TRUE(write_file_atomic(output / "calls/p9.json", "somebody's"));
    refused("calls/p9.json is not a file of the package");
    fs::remove(output / "calls/p9.json");
    fs::create_directory(output / "notes");
    refused("notes/ is not a file of the package");
    fs::remove(output / "notes");
    ASSERT_TRUE(write_file_atomic(output / "kernels/family_p0/kernel.cu", "text of Kernel.cu"));
    refused("kernels/family_p0/kernel.cu was changed");
    fs::remove(output / "kernels/family_p0/kernel.cu");
    refused("kernels/family_p0/kernel.cu is missing");
    fs::create_symlink("kernel.fact", output / "kernels/family_p0/kernel.cu");
    refused("kernels/family_p0/kernel.cu is not a regular file");
    // Earlier versions listed no files: what else is in such a folder cannot be told.
    ASSERT_TRUE(write_file_atomic(output / "manifest.json", R"({"format": 1, "calls": ["p0"]})"));
    refused("another version of FACT (format 1, not 2)");
}

TEST_F(PackageTest, AFullDiskIsNamedAndNothingStays) {
    // No file may be longer than this: for whoever writes it is what a full disk is.
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto output = at("out") / "package";
    ASSERT_TRUE(write_package(package(), output));
    ASSERT_TRUE(write_file_atomic(at("kernels/kernel.cubin"), std::string(100'000, 'x')));
    const auto was = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{50'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const auto full = write_package(package(), output);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, was);
    ASSERT_FALSE(full);
    EXPECT_NE(full.error().message.find("kernel.cubin: File too large"), std::string::npos)
        << full.error().message;
    EXPECT_TRUE(check_output(output));
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
