#include "tune/remembered.h"

#include <gtest/gtest.h>

#include "graph/fused.h"
#include "registry/identity.h"
#include "stand_ins.h"

namespace fact::tune {
namespace {

class Remembered : public StandIns {
  protected:
    void SetUp() override {
        StandIns::SetUp();
        pattern_.rule = "linear";
        pattern_.kernel =
            "kernel linear(x: bf16[M, K], w: bf16[N, K], b: bf16[N]) -> (y: bf16[M, N]) {\n"
            "  acc = x @ w.T\n"
            "  y = relu(acc + b)\n"
            "}\n";
        reshape(4096);
        options_.registry = &registry_;
        options_.max_candidates = 3;
        write_call("x");
    }
    void reshape(long m) {
        pattern_.problem.m = m, pattern_.problem.n = 3072, pattern_.problem.k = 768;
        pattern_.extents = {{"M", m}, {"N", 3072}, {"K", 768}};
    }
    // A subgraph of one node; names are noise, targets are not.
    void write_call(const std::string& name, const std::string& target = "aten.linear.default") {
        graph::FusedCall call;
        call.id = "p00_" + name;
        call.original.torch_version = "2.11.0";
        const auto in = call.original.add_value({name, std::nullopt, std::nullopt});
        const auto out =
            call.original.add_value({name + "_out", std::nullopt, static_cast<graph::NodeId>(0)});
        call.original.inputs.push_back({in, graph::InputKind::user, {}, {}});
        graph::Node node;
        node.name = name + "_node";
        node.target = target;
        node.inputs.push_back({"input", in, false});
        node.outputs = {out};
        call.original.nodes.push_back(node);
        call.original.outputs.push_back({out, {}, {}});
        ASSERT_TRUE(write_file_atomic(options_.call, graph::to_json(call)).ok());
    }
    Realization realized_text() {
        auto r = realize(pattern_, options_);
        EXPECT_TRUE(r.ok()) << r.error().text();
        return r ? *r : Realization{};
    }
    void new_run(const std::string& name) { options_.run_folder = folder_.path() / name; }
    std::vector<registry::Entry> records() const { return registry_.all().entries; }
    // How often the compiler ran: the store keeps one folder each.
    long compiled() const {
        long count = 0;
        for (const auto& entry : fs::directory_iterator(options_.store))
            count += fs::exists(entry.path() / "kernel.cubin");
        return count;
    }
    // Puts the only record back with something changed, as if it had been found so.
    void change_record(auto&& change) {
        auto known = records();
        ASSERT_EQ(known.size(), 1u);
        ASSERT_TRUE(registry_.remove({known[0].file}).ok());
        change(known[0].record);
        ASSERT_TRUE(registry_.put(known[0].record).ok());
    }
    // The schedules in the order of the ranking.
    std::vector<std::string> ranking() const {
        std::vector<std::string> out;
        const auto candidates = schedule_candidates(pattern_, 8);
        if (candidates)
            for (const auto& candidate : *candidates) out.push_back(candidate.schedule);
        return out;
    }

    registry::Registry registry_{{folder_.path() / "registry", {}}};
};

TEST_F(Remembered, ASearchLeavesARecord) {
    const auto r = realized_text();
    ASSERT_TRUE(r.realized) << r.why;
    const auto known = records();
    ASSERT_EQ(known.size(), 1u);
    const auto& record = known[0].record;
    EXPECT_EQ(known[0].file.parent_path().filename(), "stand-in-gpu");
    EXPECT_EQ(record.work.gpu, "stand-in GPU");
    EXPECT_EQ(record.work.m, 4096);
    EXPECT_EQ(record.work.text, pattern_.kernel);
    EXPECT_EQ(record.schedule, ranking().front());
    EXPECT_EQ(record.toolchain.versions, "stand-in");
    EXPECT_EQ(record.effort, 3);
    EXPECT_EQ(record.candidates, 3);
    EXPECT_EQ(record.single.median_us, 90);
    EXPECT_EQ(record.torch_single.median_us, 100);
    EXPECT_EQ(record.sustained.runs, 0) << "a quick search has none";
    EXPECT_EQ(record.checks.size(), 1u);
    EXPECT_EQ(record.text_checks.size(), 1u);
    EXPECT_EQ(record.provenance.torch, "2.11.0");
    EXPECT_TRUE(registry::record_from_json(registry::to_json(record)).ok());
}

TEST_F(Remembered, SustainedTimesAreRecordedToo) {
    options_.max_candidates = 5;
    ASSERT_TRUE(realized_text().realized);
    EXPECT_EQ(records().front().record.sustained.median_us, 93);
    EXPECT_EQ(records().front().record.torch_sustained.median_us, 110);
}

TEST_F(Remembered, ANewRunCompilesAndMeasuresNothing) {
    const auto first = realized_text();
    const auto opened = asked("open"), measured = asked("candidate"), stored = compiled();
    new_run("second");
    pattern_.family = "linear_7";
    write_call("renamed");
    const auto again = realized_text();
    EXPECT_TRUE(again.realized && again.remembered && again.resumed && again.measured);
    EXPECT_EQ(asked("open"), opened);
    EXPECT_EQ(asked("candidate"), measured);
    EXPECT_EQ(compiled(), stored);
    EXPECT_EQ(again.schedule, first.schedule);
    EXPECT_EQ(again.single.median_us, first.single.median_us);
    EXPECT_EQ(again.baseline_sustained.median_us, first.baseline_sustained.median_us);
    EXPECT_EQ(again.checks.size(), first.checks.size());
    EXPECT_TRUE(again.checks.front().passed);
    EXPECT_EQ(again.text_checks.size(), first.text_checks.size());
    // The same files as a search leaves.
    for (const char* name : {"kernel.fact", "kernel.cu", "kernel.cubin", "record.json"})
        EXPECT_EQ(*read_file(again.folder / name), *read_file(first.folder / name)) << name;
    EXPECT_TRUE(realization_from_json(*read_file(again.folder / "result.json")).ok());
}

TEST_F(Remembered, TheSameRunFolderKeepsItsListOfCandidates) {
    EXPECT_EQ(realized_text().candidates.size(), 3u);
    const auto measured = asked("candidate");
    const auto again = realized_text();
    EXPECT_TRUE(again.resumed);
    EXPECT_FALSE(again.remembered);
    EXPECT_EQ(again.candidates.size(), 3u);
    EXPECT_EQ(asked("candidate"), measured);
}

TEST_F(Remembered, WithoutItsCubinItAloneIsCompiledAndMeasured) {
    realized_text();
    fs::remove_all(options_.store);
    const auto measured = asked("candidate");
    new_run("second");
    const auto again = realized_text();
    EXPECT_FALSE(again.remembered);
    EXPECT_EQ(again.candidates.size(), 1u);
    EXPECT_EQ(compiled(), 1);
    EXPECT_EQ(asked("candidate"), measured + 2);  // single, and sustained
    EXPECT_EQ(records().size(), 1u);
    EXPECT_EQ(records()[0].record.effort, 3);
    new_run("third");
    EXPECT_TRUE(realized_text().remembered);
}

// It may have been compiled since, of another header, and never run.
TEST_F(Remembered, ACubinThatIsNotTheRecordsIsMeasuredBeforeItIsBelieved) {
    const auto first = realized_text();
    change_record([](registry::Record& r) { r.toolchain.compile_key.back() ^= 1; });
    const auto measured = asked("candidate");
    new_run("second");
    EXPECT_FALSE(realized_text().remembered);
    EXPECT_GT(asked("candidate"), measured);
    new_run("third");
    EXPECT_TRUE(realized_text().remembered);
}

TEST_F(Remembered, AnotherCompilersRecordIsMeasuredBeforeItIsBelieved) {
    realized_text();
    change_record([](registry::Record& r) {
        r.toolchain.versions = "nvcc 12.4.0, CUTLASS 3.9.0";
        r.toolchain.compile_key = "other";
    });
    new_run("second");
    const auto again = realized_text();
    EXPECT_FALSE(again.remembered);
    EXPECT_EQ(again.candidates.size(), 1u);
    const auto known = records();
    EXPECT_EQ(known.size(), 2u);  // each compiler has its own
    new_run("third");
    EXPECT_TRUE(realized_text().remembered);
}

TEST_F(Remembered, AnotherSubgraphIsVerifiedAgain) {
    realized_text();
    const auto opened = asked("open");
    new_run("second");
    write_call("x", "aten.addmm.default");
    const auto again = realized_text();
    EXPECT_FALSE(again.remembered);
    EXPECT_EQ(again.candidates.size(), 1u);
    EXPECT_EQ(asked("open"), opened + 2);  // for the text, and on the GPU
    EXPECT_EQ(records().size(), 2u);
}

// The baseline's time is part of a record.
TEST_F(Remembered, OtherSettingsOfTorchAreOtherWork) {
    const auto usual = call_identity(options_);
    options_.precision.tf32 = true;
    EXPECT_EQ(call_identity(options_), usual);  // the record has a flag for it
    options_.precision.reduced_bf16_sums = false;
    EXPECT_NE(call_identity(options_), usual);

    options_.precision.tf32 = {false, true};
    EXPECT_FALSE(allowed_tf32(pattern_, options_));
    pattern_.convolution = true;
    EXPECT_TRUE(allowed_tf32(pattern_, options_));
}

TEST_F(Remembered, AfterAChangeOfOurOwnCodeTheSearchBeginsWithIt) {
    realized_text();
    const auto other = ranking()[2];
    change_record([&](registry::Record& r) {
        r.schedule = other;
        r.toolchain.code = "code of another day";
    });
    new_run("second");
    const auto again = realized_text();
    ASSERT_EQ(again.candidates.size(), 3u);
    EXPECT_EQ(again.candidates[0].schedule, other);
    EXPECT_EQ(again.candidates[1].schedule, ranking()[0]);
    EXPECT_EQ(records().size(), 1u);
    EXPECT_NE(records()[0].record.toolchain.code, "code of another day");
}

TEST_F(Remembered, ChangedSkeletonsAreChangedCode) {
    const auto source = schedule_candidates(pattern_, 1)->front().source;
    const auto from = source.find("#include \"") + 10;
    const auto header =
        options_.toolchain.kernels_folder / source.substr(from, source.find('"', from) - from);
    ASSERT_TRUE(write_file_atomic(header, "int one;\n").ok());
    realized_text();
    new_run("second");
    EXPECT_TRUE(realized_text().remembered);
    ASSERT_TRUE(write_file_atomic(header, "int two;\n").ok());
    new_run("third");
    const auto again = realized_text();
    EXPECT_FALSE(again.remembered);
    EXPECT_EQ(again.candidates.size(), 3u);
}

TEST_F(Remembered, ANearShapeStartsFromItsNeighbour) {
    realized_text();
    // A schedule that the ranking would not have tried among the first three.
    const auto other = ranking()[6];
    change_record([&](registry::Record& r) { r.schedule = other; });
    new_run("second");
    reshape(8192);
    ASSERT_NE(ranking()[0], other);
    const auto near = realized_text();
    ASSERT_EQ(near.candidates.size(), 3u);
    EXPECT_EQ(near.candidates[0].schedule, other);
    EXPECT_EQ(records().size(), 2u);
}

TEST_F(Remembered, AWiderSearchIsMadeAnew) {
    realized_text();
    new_run("second");
    options_.max_candidates = 5;
    EXPECT_EQ(realized_text().candidates.size(), 5u);
    EXPECT_EQ(records()[0].record.effort, 5);
    new_run("third");
    options_.max_candidates = 2;
    EXPECT_TRUE(realized_text().remembered);
}

TEST_F(Remembered, RetuningSearchesAgainAndRemembers) {
    realized_text();
    const auto date = records()[0].record.provenance.date;
    options_.retune = true;
    for (const char* run : {"run", "second"}) {
        new_run(run);
        const auto measured = asked("candidate");
        EXPECT_FALSE(realized_text().resumed);
        EXPECT_GT(asked("candidate"), measured + 2);
    }
    ASSERT_EQ(records().size(), 1u);
    EXPECT_GT(records()[0].record.provenance.date, date);
}

TEST_F(Remembered, APromiseThatIsNotKeptIsSearchedFor) {
    realized_text();
    change_record([](registry::Record& r) {
        r.single.median_us = 20;
        r.toolchain.versions = "nvcc 12.4.0, CUTLASS 3.9.0";
    });
    new_run("second");
    EXPECT_EQ(realized_text().candidates.size(), 3u);
}

TEST_F(Remembered, WithoutAGpuRecordsOnlySayWhatToCompile) {
    realized_text();
    const auto other = ranking()[3];
    change_record([&](registry::Record& r) { r.schedule = other; });
    new_run("second");
    options_.device = options_.device_name = "cpu";
    options_.max_candidates = 0;
    const auto r = realized_text();
    ASSERT_EQ(r.candidates.size(), 1u);
    EXPECT_EQ(r.candidates[0].schedule, other);
    EXPECT_FALSE(r.remembered);
    EXPECT_EQ(records().size(), 1u);
    EXPECT_EQ(records()[0].record.work.gpu, "stand-in GPU");
}

TEST_F(Remembered, WithoutAGpuTheSameCheckIsMadeOnce) {
    options_.device = options_.device_name = "cpu";
    const auto first = realized_text();
    const auto opened = asked("open"), stored = compiled();
    new_run("second");
    pattern_.family = "linear_7";
    const auto again = realized_text();
    EXPECT_TRUE(again.realized && again.resumed);
    EXPECT_EQ(again.family, "linear_7");
    EXPECT_EQ(asked("open"), opened);
    EXPECT_EQ(compiled(), stored);
    EXPECT_EQ(*read_file(again.folder / "kernel.cubin"), *read_file(first.folder / "kernel.cubin"));
    // Another subgraph is checked, and a kernel whose cubin is gone is compiled.
    new_run("third");
    write_call("x", "aten.addmm.default");
    EXPECT_FALSE(realized_text().resumed);
    EXPECT_EQ(asked("open"), opened + 1);
    fs::remove_all(options_.store);
    new_run("fourth");
    EXPECT_FALSE(realized_text().resumed);
    EXPECT_TRUE(records().empty());
}

TEST_F(Remembered, WithoutTheRegistryNothingIsReadOrWritten) {
    options_.registry = nullptr;
    realized_text();
    EXPECT_TRUE(records().empty());
    options_.registry = &registry_;
    new_run("second");
    realized_text();
    EXPECT_EQ(records().size(), 1u);
    options_.registry = nullptr;
    new_run("third");
    EXPECT_FALSE(realized_text().remembered);
}

TEST_F(Remembered, AUsersFileIsTriedAndNeverRecorded) {
    realized_text();
    const auto file = folder_.path() / "mine.cu";
    ASSERT_TRUE(write_file_atomic(file, "// behave:passed 20\n").ok());
    options_.also = {file};
    new_run("second");
    const auto r = realized_text();
    EXPECT_EQ(r.winner, "mine");
    ASSERT_EQ(records().size(), 1u);
    EXPECT_EQ(records()[0].record.single.median_us, 90);
}

TEST_F(Remembered, ASchedulesOwnBlockIsNotOverruled) {
    realized_text();
    const auto listed = ranking()[1], other = ranking()[4];
    change_record([&](registry::Record& r) { r.schedule = other; });
    reshape(8192);
    pattern_.kernel += "schedule linear on sm90a {\n  " + listed + "\n}\n";
    new_run("second");
    const auto r = realized_text();
    for (const auto& candidate : r.candidates) EXPECT_EQ(candidate.schedule, listed);
}

}  // namespace
}  // namespace fact::tune
