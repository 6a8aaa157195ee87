#pragma once

#include <gtest/gtest.h>

#include "../golden.h"
#include "lower/rows/lower.h"

namespace fact::lower {

// The emitted text and its record are those of the golden files, and the record survives a round
// trip.
inline void expect_golden_kernel(const ir::Kernel& kernel, const RowsFacts& facts = {"sm90a"}) {
    ASSERT_EQ(ir::verify(kernel), "");
    const auto lowered = lower_rows(kernel, facts);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden(kernel.name + ".cu", lowered->source);
    expect_golden(kernel.name + ".json", to_json(lowered->record));
    const auto again = launch_record_from_json(to_json(lowered->record));
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(*again, lowered->record);
}

}  // namespace fact::lower
