#include "target/dtype.h"

#include <gtest/gtest.h>

namespace fact {
namespace {

TEST(DType, TableIsInTheOrderOfTheEnum) {
    for (std::size_t i = 0; i < kDTypes.size(); ++i)
        EXPECT_EQ(static_cast<std::size_t>(kDTypes[i].dtype), i);
}

TEST(DType, NamesAndCodesAreFoundBack) {
    for (const auto& row : kDTypes) {
        EXPECT_EQ(dtype_from_name(row.name), row.dtype);
        EXPECT_EQ(dtype_from_pt2(row.pt2_code), row.dtype);
    }
    EXPECT_FALSE(dtype_from_name("float32"));
    EXPECT_FALSE(dtype_from_pt2(0));
}

}  // namespace
}  // namespace fact
