// What a fuzzer holds true of every input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace fact::fuzz {

inline void require(bool holds, const std::string& otherwise) {
    if (holds) return;
    std::fprintf(stderr, "broken: %s\n", otherwise.c_str());
    std::abort();  // what libFuzzer takes for a crash
}

}  // namespace fact::fuzz
