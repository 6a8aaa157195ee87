#include "torch/proof.h"

#include <ATen/ops/add.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "../verify/small_graphs.h"
#include "torch/simulated_faults.h"
#include "torch/text_check.h"

namespace fact::exec {
namespace {

using verify::Finding;
using verify::Verdict;

// y = a @ b on matrices with a column of gap after each row of y.
class ProofOf : public testing::Test {
  protected:
    void SetUp() override {
        auto& g = call_.original;
        call_.id = "p00";
        const auto a = verify::add_input(g, "a", verify::dense(DType::f32, {8, 16}));
        const auto b = verify::add_input(g, "b", verify::dense(DType::f32, {16, 8}));
        auto type = verify::dense(DType::f32, {8, 8});
        type.strides = {9, 1};
        verify::add_output(
            g, verify::add_node(g, "aten.matmul.default", {{"self", a}, {"other", b}}, type));
        auto oracle = Oracle::make(call_, c10::kCPU, {});
        ASSERT_TRUE(oracle.ok()) << oracle.error().text();
        oracle_ = std::move(*oracle);
        cases_ = draw_cases(*oracle_, {}, false);
    }

    static Result<> honest(const Tensors& inputs, const Tensors& outputs, const WorkspaceSource&) {
        outputs[0].copy_(at::matmul(inputs[0], inputs[1]));
        return Ok{};
    }

    // What the steps before the timing find.
    Verdict prove(LaunchKernel kernel) {
        ProofBench bench(*oracle_, std::move(kernel), c10::kCPU);
        for (const auto& drawn : cases_)
            if (const auto found = bench.check(drawn); !found->passed()) return *found;
        if (const auto found = bench.check_independence(); !found->passed()) return *found;
        if (const auto found = bench.check_repeats(); !found->passed()) return *found;
        if (const auto found = bench.check_elsewhere(); !found->passed()) return *found;
        bench.disturb();
        EXPECT_TRUE(bench.launch_timed().ok());
        return bench.check_timed();
    }

    Finding found_in(std::string_view fault) {
        return prove((*simulated_fault(fault))(honest)).finding;
    }

    graph::FusedCall call_;
    std::optional<Oracle> oracle_;
    std::vector<Case> cases_;
};

TEST_F(ProofOf, AnHonestKernel) {
    const auto verdict = prove(honest);
    EXPECT_TRUE(verdict.passed()) << text(verdict);
}

TEST_F(ProofOf, EachFault) {
    EXPECT_EQ(found_in("zeros"), Finding::wrong_result);
    EXPECT_EQ(found_in("half_tile"), Finding::unwritten);
    EXPECT_EQ(found_in("changes_inputs"), Finding::changed_inputs);
    EXPECT_EQ(found_in("stale_output"), Finding::depends_on_output);
    EXPECT_EQ(found_in("uses_workspace"), Finding::depends_on_workspace);
    EXPECT_EQ(found_in("caches_by_pointer"), Finding::remembers_inputs);
    EXPECT_EQ(found_in("races"), Finding::not_deterministic);
    EXPECT_EQ(found_in("low_precision"), Finding::wrong_result);
    EXPECT_EQ(found_in("tires"), Finding::idle_when_timed);
}

// Calls in bf16, with the faults that only parts of an output show.
class PartsOf : public testing::Test {
  protected:
    // The graph's last value is the result.
    void prove(graph::FusedCall call, const LaunchKernel& honest, std::string_view fault,
               std::string_view part) {
        verify::add_output(call.original,
                           static_cast<graph::ValueId>(call.original.values.size() - 1));
        const auto oracle = Oracle::make(call, c10::kCPU, {});
        ASSERT_TRUE(oracle.ok()) << oracle.error().text();
        const auto cases = draw_cases(*oracle, {}, false);
        const auto faulty = (*simulated_fault(fault))(honest);
        ProofBench right(*oracle, honest, c10::kCPU), wrong(*oracle, faulty, c10::kCPU);
        std::string why;
        for (const auto& drawn : cases) {
            const auto passed = right.check(drawn);
            EXPECT_TRUE(passed->passed()) << text(*passed);
            EXPECT_LT(right.checks().back().slice, 0.8);
            const auto found = wrong.check(drawn);
            const bool first = why.empty() && !found->passed();
            if (first) why = found->why;
            // The whole output says nothing against it, in the case that shows it nor in those of
            // rows of one size.
            if (!first && drawn.distribution == "uneven") continue;
            const auto& check = wrong.checks().back();
            EXPECT_LE(check.kernel.largest, std::max(2 * check.eager.largest, 0x1p-8));
            EXPECT_LE(check.kernel.rms, std::max(2 * check.eager.rms, 0x1p-10));
        }
        EXPECT_NE(why.find(part), std::string::npos) << why;
    }
};

TEST_F(PartsOf, ATailThatIsLost) {
    graph::FusedCall call;
    const auto type = verify::dense(DType::bf16, {64, 256});
    const auto x = verify::add_input(call.original, "x", type);
    verify::add_node(call.original, "aten.sigmoid.default", {{"self", x}}, type);
    const auto honest = [](const Tensors& in, const Tensors& out, const WorkspaceSource&) {
        out[0].copy_(in[0].to(at::kFloat).sigmoid_());
        return Result<>(Ok{});
    };
    prove(std::move(call), honest, "lost_tail", "large inputs, seed 2: n0: elements below ");
}

TEST_F(PartsOf, LateRowsOfCausalAttention) {
    graph::FusedCall call;
    const auto type = verify::dense(DType::bf16, {1, 2, 256, 32});
    auto& g = call.original;
    const auto q = verify::add_input(g, "q", type), k = verify::add_input(g, "k", type),
               v = verify::add_input(g, "v", type);
    verify::add_node(g, "aten.scaled_dot_product_attention.default",
                     {{"query", q}, {"key", k}, {"value", v}, {"is_causal", true}}, type);
    const auto honest = [](const Tensors& in, const Tensors& out, const WorkspaceSource&) {
        const auto causal = std::optional<at::Tensor>();
        out[0].copy_(at::scaled_dot_product_attention(in[0].to(at::kFloat), in[1].to(at::kFloat),
                                                      in[2].to(at::kFloat), causal, 0, true));
        return Result<>(Ok{});
    };
    prove(std::move(call), honest, "late_rows", "normal inputs, seed 1: n0: row [0, ");
}

TEST_F(PartsOf, SmallRowsOfAProduct) {
    graph::FusedCall call;
    auto& g = call.original;
    const auto a = verify::add_input(g, "a", verify::dense(DType::bf16, {64, 128}));
    const auto b = verify::add_input(g, "b", verify::dense(DType::bf16, {128, 96}));
    verify::add_node(g, "aten.matmul.default", {{"self", a}, {"other", b}},
                     verify::dense(DType::bf16, {64, 96}));
    const auto honest = [](const Tensors& in, const Tensors& out, const WorkspaceSource&) {
        out[0].copy_(at::matmul(in[0].to(at::kFloat), in[1].to(at::kFloat)));
        return Result<>(Ok{});
    };
    prove(std::move(call), honest, "fixed_point", "uneven inputs, seed 5: n0: row [");
}

// Ids past 32 bits, and what they are compared with.
TEST(OracleOf, IntegersThatMayBeAnythingAreDrawnWide) {
    graph::FusedCall call;
    auto& g = call.original;
    const auto ids = verify::dense(DType::i64, {64, 64}),
               flags = verify::dense(DType::boolean, {64, 64});
    const auto x = verify::add_input(g, "x", ids), y = verify::add_input(g, "y", ids);
    verify::add_output(g,
                       verify::add_node(g, "aten.lt.Tensor", {{"self", x}, {"other", y}}, flags));
    verify::add_output(g, verify::add_node(g, "aten.eq.Scalar",
                                           {{"self", x}, {"other", std::int64_t{50256}}}, flags));
    const auto oracle = Oracle::make(call, c10::kCPU, {});
    ASSERT_TRUE(oracle.ok()) << oracle.error().text();
    const auto normal = oracle->draw("normal", 1), large = oracle->draw("large", 2);
    EXPECT_GT(oracle->numbers(normal).eager[1].sum().item<std::int64_t>(), 100);
    EXPECT_LE(oracle->numbers(normal).inputs[0].max().item<std::int64_t>(), 50257);
    // A kernel that looks at the lower 32 bits.
    const auto low = [](const at::Tensor& t) { return t.to(at::kInt); };
    const auto check = [&](const Case& drawn) {
        const auto& inputs = oracle->numbers(drawn).inputs;
        const auto &a = inputs[0], &b = inputs[1];
        return oracle->check(drawn, {low(a).lt(low(b)), low(a).eq(50256)}).passed;
    };
    EXPECT_TRUE(check(normal));
    EXPECT_FALSE(check(large));
}

// Faults that a poisoned result already shows are told apart by what changes it.
TEST_F(ProofOf, WrongResultsAreDiagnosed) {
    EXPECT_EQ(prove([](const Tensors& in, const Tensors& out, const WorkspaceSource&) -> Result<> {
                  out[0].add_(at::matmul(in[0], in[1]));  // onto what is there, NaN or not
                  return Ok{};
              }).finding,
              Finding::depends_on_output);
    EXPECT_EQ(
        prove([](const Tensors& in, const Tensors& out, const WorkspaceSource& w) -> Result<> {
            auto sums = w ? w({8, 8}, at::kFloat) : at::matmul(in[0], in[1]).zero_();
            out[0].copy_(sums.add_(at::matmul(in[0], in[1])));
            return Ok{};
        }).finding,
        Finding::depends_on_workspace);
    int launches = 0;
    EXPECT_EQ(prove([&](const Tensors& in, const Tensors& out, const WorkspaceSource&) -> Result<> {
                  out[0].copy_(at::matmul(in[0], in[1])).add_(++launches);
                  return Ok{};
              }).finding,
              Finding::not_deterministic);
}

TEST_F(ProofOf, GapsAndWorkspacesAreWatched) {
    const auto in_gap =
        prove([](const Tensors& in, const Tensors& out, const WorkspaceSource& w) -> Result<> {
            auto done = honest(in, out, w);
            static_cast<float*>(out[0].data_ptr())[8] = 0;
            return done;
        });
    EXPECT_EQ(in_gap.finding, Finding::wrote_outside);
    EXPECT_NE(in_gap.why.find("around n0"), std::string::npos) << in_gap.why;
    const auto after_workspace =
        prove([](const Tensors& in, const Tensors& out, const WorkspaceSource& w) -> Result<> {
            if (w) static_cast<float*>(w({4}, at::kFloat).data_ptr())[4] = 0;
            return honest(in, out, w);
        });
    EXPECT_EQ(after_workspace.finding, Finding::wrote_outside);
    EXPECT_NE(after_workspace.why.find("workspace 0"), std::string::npos) << after_workspace.why;
}

// Inputs recognised by one of their values: only a row that changed elsewhere shows it.
TEST_F(ProofOf, ATouchedRowFindsFingerprints) {
    float known = std::numeric_limits<float>::quiet_NaN();
    at::Tensor answer;
    ProofBench bench(
        *oracle_,
        [&](const Tensors& in, const Tensors& out, const WorkspaceSource&) -> Result<> {
            const auto seen = in[0][0][0].item<float>();
            if (seen != known) answer = at::matmul(in[0], in[1]);
            known = seen;
            out[0].copy_(answer);
            return Ok{};
        },
        c10::kCPU);
    for (const auto& drawn : cases_) ASSERT_TRUE(bench.check(drawn)->passed());
    const auto fresh = oracle_->draw("normal", 1000);
    EXPECT_TRUE(bench.check(fresh)->passed());
    EXPECT_TRUE(bench.check(cases_[0])->passed());
    // A seed that leaves the first row alone.
    for (int seed = 1001;; ++seed) {
        const auto changed = oracle_->with_one_row_changed(cases_[0], seed);
        const auto &a = oracle_->numbers(changed).inputs[0],
                   &b = oracle_->numbers(cases_[0]).inputs[0];
        if (a[0][0].item<float>() != b[0][0].item<float>()) continue;
        EXPECT_EQ(a.ne(b).any(1).sum().item<std::int64_t>(), 1);
        EXPECT_FALSE(bench.check(changed)->passed());
        break;
    }
}

TEST_F(ProofOf, RefusalsAreErrors) {
    ProofBench bench(
        *oracle_,
        [](const Tensors&, const Tensors&, const WorkspaceSource&) -> Result<> {
            return Error{"not these", ""};
        },
        c10::kCPU);
    const auto refused = bench.check(cases_[0]);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "not these");
}

// What does not fit into memory several times is drawn again, the same.
TEST(OracleOf, ALargeCallHasOneCaseAtATime) {
    graph::FusedCall call;
    auto& g = call.original;
    const auto type = verify::dense(DType::f32, {64, 32});
    const auto x = verify::add_input(g, "x", type);
    verify::add_output(g, verify::add_node(g, "aten.neg.default", {{"self", x}}, type));
    const auto oracle = Oracle::make(call, c10::kCPU, {}, /*tf32=*/false, /*large=*/1000);
    ASSERT_TRUE(oracle.ok()) << oracle.error().text();
    ASSERT_TRUE(oracle->large());
    const auto normal = oracle->draw("normal", 1);
    const auto changed = oracle->with_one_row_changed(normal, 2);
    EXPECT_FALSE(normal.made->has_value());
    const auto first = oracle->numbers(normal).inputs[0];
    const auto other = oracle->numbers(changed).inputs[0];
    EXPECT_FALSE(normal.made->has_value());
    EXPECT_EQ(first.ne(other).any(1).sum().item<std::int64_t>(), 1);
    EXPECT_TRUE(oracle->numbers(normal).inputs[0].equal(first));
    EXPECT_TRUE(oracle->check(normal, {first.neg()}).passed);
}

// What a module makes once for several calls is no part of what one of them takes.
TEST(OracleOf, WhatIsCopiedRunsOnce) {
    graph::FusedCall call;
    auto& g = call.original;
    const auto type = verify::dense(DType::f32, {4, 4});
    const auto x = verify::add_input(g, "x", type), mask = verify::add_input(g, "mask", type);
    const auto twice =
        verify::add_node(g, "aten.add.Tensor", {{"self", mask}, {"other", mask}}, type);
    verify::add_output(
        g, verify::add_node(g, "aten.mul.Tensor", {{"self", x}, {"other", twice}}, type));
    for (const bool copied : {false, true}) {
        call.copied.clear();
        if (copied) call.copied = {g.nodes[0].name};
        const auto oracle = Oracle::make(call, c10::kCPU, {});
        ASSERT_TRUE(oracle.ok()) << oracle.error().text();
        const auto drawn = oracle->draw("normal", 1);
        const Numbers& made = oracle->numbers(drawn);
        const auto run = oracle->baseline(made.inputs);
        EXPECT_TRUE(run()[0].equal(made.eager[0]));
        made.inputs[1].mul_(3);
        EXPECT_EQ(run()[0].equal(made.eager[0]), copied);
    }
}

}  // namespace
}  // namespace fact::exec
