#include "verify/finding.h"

#include <gtest/gtest.h>

#include "verify/light.h"

namespace fact::verify {
namespace {

TEST(Finding, NamesAreStable) {
    for (int i = 0; i <= static_cast<int>(Finding::too_much_memory); ++i) {
        const auto finding = static_cast<Finding>(i);
        EXPECT_EQ(finding_from_name(name(finding)), finding);
        EXPECT_EQ(name(finding).empty(), finding == Finding::none);
    }
    EXPECT_EQ(name(Finding::wrote_outside), "wrote outside its buffers");
    EXPECT_EQ(name(Finding::remembers_inputs), "remembers earlier inputs");
    EXPECT_EQ(finding_from_name("sinned"), std::nullopt);
    EXPECT_EQ(text({Finding::wrote_outside, "after y"}), "wrote outside its buffers: after y");
    EXPECT_EQ(text({}), "");
}

CandidateReply timed(double single, double sustained) {
    CandidateReply reply;
    reply.outcome = Outcome::passed;
    reply.single = {single, single, single, single > 0 ? 11 : 0};
    reply.sustained = {sustained, sustained, sustained, sustained > 0 ? 5 : 0};
    return reply;
}

TEST(Light, NothingIsFaster) {
    EXPECT_TRUE(judge_speed(timed(10, 11), 9.9).passed());
    EXPECT_TRUE(judge_speed(timed(0, 0), 9.9).passed());  // not timed
    EXPECT_TRUE(judge_speed(timed(10, 11), 0).passed());  // no bound
    EXPECT_EQ(judge_speed(timed(9.8, 11), 9.9).finding, Finding::faster_than_light);
    EXPECT_EQ(judge_speed(timed(10, 9.8), 9.9).finding, Finding::faster_than_light);

    auto reply = timed(5, 0);
    reply.outcome = Outcome::incorrect;
    reply.finding = Finding::remembers_inputs;
    reject_faster_than_light(reply, 9.9);
    EXPECT_EQ(reply.outcome, Outcome::incorrect);
    EXPECT_EQ(reply.finding, Finding::faster_than_light);
    EXPECT_EQ(reply.why,
              "faster than light: took 5.00 us, but the GPU needs at least 9.90: it cannot have "
              "done the work");
    auto honest = timed(20, 21);
    reject_faster_than_light(honest, 9.9);
    EXPECT_EQ(honest.outcome, Outcome::passed);
}

}  // namespace
}  // namespace fact::verify
