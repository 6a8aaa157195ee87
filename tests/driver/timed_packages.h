// A module of three operators with patterns for them, and a Python of ours that says how long its
// packages take.
#pragma once

#include <gtest/gtest.h>

#include "../compose/graphs.h"
#include "driver/compose.h"
#include "driver/environment.h"
#include "support/files.h"

namespace fact::driver {

namespace fs = std::filesystem;

// -m fact.ablate SOURCE PACKAGE... --json FILE: kernels of family_a save 300 us, of family_b
// lose 50, of family_d save 400, of family_e 699. Where there is a file `needs_one`, a and b lose
// 50 each, and without both of them the module loses 400; where there is `slow`, every package
// takes 1050. Times spread by 11 us, and are uncertain by 3.
inline constexpr std::string_view kPython = R"sh(#!/bin/sh
shift 3
spell() { printf '{"median_us":%s,"low_us":%s,"high_us":%s,"runs":11}' $1 $(($1 - 5)) $(($1 + 6)); }
times=
while [ "$1" != --json ]; do
    us=1000
    grep -q family_a "$1/manifest.json" && us=$((us - 300))
    grep -q family_b "$1/manifest.json" && us=$((us + 50))
    grep -q family_d "$1/manifest.json" && us=$((us - 400))
    grep -q family_e "$1/manifest.json" && us=$((us - 699))
    [ -e "${0%/*}/slow" ] && us=1050
    if [ -e "${0%/*}/needs_one" ]; then
        grep -q family_a "$1/manifest.json" && us=$((us + 350))
        grep -q 'family_[ab]' "$1/manifest.json" || us=$((us + 400))
    fi
    times="$times,$(spell $us)"
    shift
done
printf '{"eager":%s,"times":[%s]}' "$(spell 1000)" "${times#,}" >"$2"
)sh";

struct TimedPackages : ::testing::Test {
    TemporaryFolder folder{fs::temp_directory_path(), "ablate-test"};
    RunFolder run{folder.path() / "run"};
    Environment environment;
    Settings settings;
    Discovered found;
    Realizations realizations;

    void SetUp() override {
        fs::create_directories(run.path());
        fs::copy_file(fs::path(FACT_SOURCE_DIR) / "tests/graph/data/gpt_block.pt2", run.archive());
        environment.python = (folder.path() / "python").string();
        ASSERT_TRUE(write_file_atomic(environment.python, std::string(kPython)));
        fs::permissions(environment.python, fs::perms::owner_all);
        environment.gpu.emplace();
        environment.gpu->name = "a GPU";
        settings.source = "model.py";
        found.graph = compose::make_graph({"x"}, {{"a", "x"}, {"b", "a"}, {"c", "b"}}, {"c"});
        for (const auto& [name, from, family] :
             {std::tuple{"a", "x", "family_a"}, {"b", "a", "family_b"}, {"c", "b", "family_a"}}) {
            auto pattern = compose::make_pattern(name, {name}, {from}, {name});
            pattern.family = family;
            found.discovery.patterns.push_back(pattern);
            auto& kernel = realizations[family];
            kernel.family = family;
            kernel.realized = true;
            kernel.folder = folder.path() / family;
            for (const auto* file : {"kernel.fact", "kernel.cu", "kernel.cubin", "record.json"})
                ASSERT_TRUE(write_file_atomic(kernel.folder / file, std::string("text")));
        }
    }

    // One more pattern, of a family as realized as family_a.
    match::Pattern& add(const std::string& id, const std::string& family,
                        const std::vector<std::string>& nodes, const std::string& from,
                        double priority) {
        auto pattern = compose::make_pattern(id, nodes, {from}, {nodes.back()}, priority);
        pattern.family = family;
        auto& kernel = realizations[family] = realizations.at("family_a");
        kernel.family = family;
        return found.discovery.patterns.emplace_back(std::move(pattern));
    }
};

}  // namespace fact::driver
