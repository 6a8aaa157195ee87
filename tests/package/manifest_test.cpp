#include "package/manifest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/hash.h"

namespace fact::package {
namespace {

using nlohmann::json;

json written() {
    return {{"kind", "fact package"},
            {"format", 2},
            {"name", "block"},
            {"calls", {"p0"}},
            {"namespaces", {"aten", "torchvision"}},
            {"classes", {"my.Output"}},
            {"files",
             {{"model.pt2", {{"size", 7}, {"sha256", sha256_hex("weights")}}},
              {"kernels/a b/kernel.cu", {{"size", 0}, {"sha256", sha256_hex("")}}}}}};
}

std::string refusal(const json& manifest) {
    const auto read = manifest_from_json(manifest.dump());
    return read ? "taken" : read.error().message;
}

TEST(Manifest, SaysWhatAPackageHasAndNeeds) {
    const auto text = written().dump(1);
    const auto manifest = manifest_from_json(text);
    ASSERT_TRUE(manifest) << manifest.error().text();
    EXPECT_EQ(manifest->identity, sha256_hex(text));
    EXPECT_EQ(manifest->files.at("model.pt2"), (File{7, sha256_hex("weights")}));
    EXPECT_EQ(manifest->files.size(), 2u);
    EXPECT_EQ(manifest->calls, std::vector<std::string>{"p0"});
    EXPECT_EQ(manifest->namespaces, (std::vector<std::string>{"aten", "torchvision"}));
    EXPECT_EQ(manifest->classes, std::vector<std::string>{"my.Output"});
    EXPECT_FALSE(manifest->without_weights);
}

TEST(Manifest, WithoutWeights) {
    auto without = written();
    without["original"] = {{"without_weights", true}};
    EXPECT_TRUE(manifest_from_json(without.dump())->without_weights);
    without["original"] = {{"without_weights", 1}};
    EXPECT_NE(refusal(without).find("expected"), std::string::npos);
}

TEST(Manifest, WhatItWasMadeFrom) {
    EXPECT_EQ(manifest_from_json(written().dump())->origin.source, "");
    auto made = written();
    made["source"] = "model.py";
    made["asked_dtype"] = "bf16";
    made["training"] = true;
    const auto origin = manifest_from_json(made.dump())->origin;
    EXPECT_EQ(origin.source, "model.py");
    EXPECT_EQ(origin.asked_dtype, "bf16");
    EXPECT_TRUE(origin.training);
    EXPECT_FALSE(origin.allow_tf32);
    // It runs without.
    made["source"] = 7;
    made["training"] = "yes";
    const auto unknown = manifest_from_json(made.dump());
    ASSERT_TRUE(unknown) << unknown.error().text();
    EXPECT_EQ(unknown->origin.source, "");
    EXPECT_FALSE(unknown->origin.training);
}

TEST(Manifest, OtherFormatsAreRefused) {
    for (const char* other : {"{}", "[]", "7", R"({"manifest_version": 3, "name": "a web page"})",
                              R"({"format": 2, "calls": []})", R"({"kind": "x", "format": 2})",
                              R"({"kind": "fact package", "format": "2"})"}) {
        const auto read = manifest_from_json(other);
        ASSERT_FALSE(read) << other;
        EXPECT_TRUE(read.error().message.find("not a manifest of a package") != std::string::npos ||
                    read.error().message.find("expected an object") != std::string::npos)
            << read.error().message;
    }
    EXPECT_NE(refusal({{"format", 1}, {"calls", {"p0"}}}).find("another version of FACT (format 1"),
              std::string::npos);
    auto later = written();
    later["format"] = 3;
    EXPECT_NE(refusal(later).find("another version of FACT (format 3"), std::string::npos);
}

TEST(Manifest, EveryFieldIsAskedFor) {
    for (const char* name : {"files", "calls", "namespaces", "classes"}) {
        auto without = written();
        without.erase(name);
        EXPECT_NE(refusal(without).find(name), std::string::npos) << refusal(without);
        auto wrong = written();
        wrong[name] = 7;
        EXPECT_NE(refusal(wrong).find("expected"), std::string::npos) << refusal(wrong);
    }
}

TEST(Manifest, FilesStayInThePackage) {
    for (const char* name : {"../x", "/etc/passwd", "a//b", "a/", "", ".", "a/../../b", "a\\b",
                             "manifest.json", "a\nb"}) {
        auto wrong = written();
        wrong["files"][name] = {{"size", 1}, {"sha256", sha256_hex("x")}};
        EXPECT_NE(refusal(wrong).find("is not the path of a file"), std::string::npos) << name;
    }
    auto wrong = written();
    wrong["files"]["a"] = {{"size", -1}, {"sha256", sha256_hex("x")}};
    EXPECT_EQ(refusal(wrong), "a: its size is negative, or its SHA-256 is not 64 hex digits");
    wrong["files"]["a"] = {{"size", 1}, {"sha256", "abc"}};
    EXPECT_EQ(refusal(wrong), "a: its size is negative, or its SHA-256 is not 64 hex digits");
}

TEST(Manifest, AFolderWithoutOneIsNoPackage) {
    const TemporaryFolder folder(std::filesystem::temp_directory_path(), "fact-manifest-test");
    EXPECT_NE(read_manifest(folder.path()).error().message.find("is not a package"),
              std::string::npos);
    ASSERT_TRUE(write_file_atomic(folder.path() / "manifest.json", "{"));
    EXPECT_NE(read_manifest(folder.path()).error().message.find("manifest.json is damaged"),
              std::string::npos);
}

}  // namespace
}  // namespace fact::package
