#include "verify/protocol.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fact::verify {
namespace {

TEST(Protocol, RequestsAreTaggedLines) {
    OpenRequest request{"calls/p1.json", "kernel.fact", "model.pt2", "cuda", {}, false};
    request.precision.tf32 = {true, false};
    request.precision.reduced_bf16_sums = false;
    const auto line = to_json(request);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_TRUE(is_open_request(line));
    const auto back = open_request_from_json(line);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->call, request.call);
    EXPECT_EQ(back->kernel_text, request.kernel_text);
    EXPECT_EQ(back->weights, request.weights);
    EXPECT_EQ(back->device, "cuda");
    EXPECT_EQ(back->precision, request.precision);
    EXPECT_FALSE(back->check_text);
    EXPECT_FALSE(back->authored);

    EXPECT_FALSE(open_request_from_json("{\"open\": {\"call\": \"c\", \"kernel_text\": \"k\", "
                                        "\"precision\": {\"tf32_products\": \"yes\"}}}")
                     .ok());

    const auto candidate = to_json(CandidateRequest{"a.cubin", "a.json", 80, 400, "hang"});
    EXPECT_FALSE(is_open_request(candidate));
    const auto read = candidate_request_from_json(candidate);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->cubin, "a.cubin");
    EXPECT_EQ(read->record, "a.json");
    EXPECT_EQ(read->single_ms, 80);
    EXPECT_EQ(read->sustained_ms, 400);
    EXPECT_EQ(read->fault, "hang");
    EXPECT_EQ(read->proof, Proof::full);
    const auto quick = to_json(CandidateRequest{"a.cubin", "a.json", 600, 0, "", Proof::quick});
    EXPECT_EQ(candidate_request_from_json(quick)->proof, Proof::quick);
    EXPECT_FALSE(candidate_request_from_json("{\"candidate\": {\"proof\": \"hasty\"}}").ok());
}

TEST(Protocol, RepliesSurviveInfiniteErrors) {
    CandidateReply reply;
    reply.outcome = Outcome::incorrect;
    reply.why = "line one\nline two";
    reply.finding = Finding::not_deterministic;
    reply.note = "other sizes: 8 -> 7";
    const double inf = std::numeric_limits<double>::infinity();
    reply.checks.push_back({"large", 7, {1e-3, 2e-4}, {inf, std::nan("")}, false, "too far"});
    reply.single = {12.5, 12, 13, 50};
    reply.baseline_sustained = {20, 19, 21, 5};
    reply.launches = {{"f_0_kernel", 4.5}, {"f_1_kernel", 8}};
    const auto line = to_json(reply);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto back = candidate_reply_from_json(line);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->outcome, Outcome::incorrect);
    EXPECT_EQ(back->why, reply.why);
    EXPECT_EQ(back->finding, Finding::not_deterministic);
    EXPECT_EQ(back->note, reply.note);
    ASSERT_EQ(back->checks.size(), 1u);
    EXPECT_EQ(back->checks[0].seed, 7);
    EXPECT_EQ(back->checks[0].kernel.largest, inf);
    EXPECT_TRUE(std::isnan(back->checks[0].kernel.rms));
    EXPECT_DOUBLE_EQ(back->checks[0].eager.largest, 1e-3);
    EXPECT_DOUBLE_EQ(back->single.median_us, 12.5);
    EXPECT_EQ(back->baseline_sustained.runs, 5);
    ASSERT_EQ(back->launches.size(), 2u);
    EXPECT_EQ(back->launches[1].entry, "f_1_kernel");
    EXPECT_DOUBLE_EQ(back->launches[0].us, 4.5);

    OpenReply opened;
    opened.error = "no such file";
    opened.note = "128 -> 2";
    const auto again = open_reply_from_json(to_json(opened));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->error, "no such file");
    EXPECT_EQ(again->note, "128 -> 2");
}

TEST(Protocol, OutcomesHaveNames) {
    for (const auto outcome : {Outcome::passed, Outcome::incorrect, Outcome::failed_to_build,
                               Outcome::timed_out, Outcome::crashed, Outcome::unsupported})
        EXPECT_EQ(outcome_from_name(name(outcome)), outcome);
    EXPECT_EQ(outcome_from_name("fine"), std::nullopt);
}

TEST(Protocol, DamagedLinesAreErrors) {
    EXPECT_FALSE(open_request_from_json("{").ok());
    EXPECT_FALSE(open_request_from_json("{\"open\": 3}").ok());
    EXPECT_FALSE(candidate_reply_from_json("[]").ok());
    EXPECT_FALSE(candidate_reply_from_json("{\"outcome\": \"splendid\"}").ok());
    EXPECT_FALSE(is_open_request("nonsense"));
}

}  // namespace
}  // namespace fact::verify
