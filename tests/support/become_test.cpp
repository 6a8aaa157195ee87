#include "support/become.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace fact {
namespace {

TEST(BecomeDeathTest, StreamsEnvironmentAndExitCodeAreTheProgramsOwn) {
    Command command;
    command.argv = {"sh", "-c", "echo \"$WORD\" >&2; exit 7"};
    command.environment = {{"WORD", "from us"}};
    EXPECT_EXIT(
        {
            become(command);
            std::_Exit(1);
        },
        testing::ExitedWithCode(7), "from us");
}

TEST(Become, WhatCannotBeStartedIsSaid) {
    Command command;
    command.argv = {"/nowhere/program"};
    EXPECT_EQ(become(command).message, "cannot start /nowhere/program: No such file or directory");
}

}  // namespace
}  // namespace fact
