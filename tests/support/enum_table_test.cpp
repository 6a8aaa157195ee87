#include "support/enum_table.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>

namespace fact {
namespace {

enum class Colour { red, green };
struct Row {
    Colour colour;
    std::string_view name;
};
constexpr auto kColours = table_of<Colour>([](Colour colour) -> std::optional<Row> {
    switch (colour) {
        case Colour::red:
            return Row{colour, "red"};
        case Colour::green:
            return Row{colour, "green"};
    }
    return std::nullopt;
});

static_assert(kColours.size() == 2);
static_assert(kColours[1].colour == Colour::green);

TEST(Table, HasARowForEachEnumerator) {
    EXPECT_EQ(kColours[0].name, "red");
    EXPECT_EQ(kColours[1].name, "green");
}

}  // namespace
}  // namespace fact
