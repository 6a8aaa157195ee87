// Another process that holds a lock.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace fact {

// A child process that has what take() gives once this returns, until it is killed or `for_ms` are
// over. It ends as a process does that is killed: nothing is tidied.
template <class Take>
pid_t held_by_child(Take take, int for_ms) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto held = take();
        [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(for_ms));
        ::_exit(0);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    return child;
}

}  // namespace fact
