#include "verify/light.h"

#include <fmt/format.h>

namespace fact::verify {

Verdict judge_speed(const CandidateReply& reply, double hard_us) {
    for (const Times* times : {&reply.single, &reply.sustained})
        if (hard_us > 0 && times->runs > 0 && times->median_us < hard_us)
            return {Finding::faster_than_light,
                    fmt::format("took {:.2f} us, but the GPU needs at least {:.2f}: it cannot "
                                "have done the work",
                                times->median_us, hard_us)};
    return {};
}

void reject_faster_than_light(CandidateReply& reply, double hard_us) {
    const Verdict verdict = judge_speed(reply, hard_us);
    if (verdict.passed()) return;
    reply.outcome = Outcome::incorrect;
    reply.finding = verdict.finding;
    reply.why = text(verdict);
}

}  // namespace fact::verify
