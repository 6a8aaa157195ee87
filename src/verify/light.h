// Rejects measured times that are too short for a kernel that did its work.
#pragma once

#include "verify/finding.h"
#include "verify/protocol.h"

namespace fact::verify {

// Judges the times of a reply, single and sustained, against the hard bound; passes if nothing was
// timed or no bound is known (`hard_us` 0).
Verdict judge_speed(const CandidateReply& reply, double hard_us);

// Turns a reply with a time below the bound into a rejection, whatever else it says.
void reject_faster_than_light(CandidateReply& reply, double hard_us);

}  // namespace fact::verify
