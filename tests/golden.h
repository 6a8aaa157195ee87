// Text against a golden file of the test's folder; FACT_UPDATE_GOLDEN=1 accepts the new text.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "support/files.h"
#include "test_data.h"

namespace fact {

inline void expect_golden(const std::string& name, const std::string& text) {
    const std::string path = std::string(FACT_TEST_DATA) + "/golden/" + name;
    if (std::getenv("FACT_UPDATE_GOLDEN")) {
        ASSERT_TRUE(write_file_atomic(path, text).ok());
    }
    const auto golden = read_file(path);
    ASSERT_TRUE(golden.ok()) << golden.error().text();
    EXPECT_EQ(*golden, text) << "FACT_UPDATE_GOLDEN=1 accepts the new text";
}

}  // namespace fact
