#include "tune/gpu_memory.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "graph/fused.h"
#include "support/files.h"
#include "verify/case_bytes.h"

namespace fact::tune {

namespace {

// Of one case. A proof takes about 16 times as much: it keeps up to nine cases, and f64 takes more.
// So a dozen runs that need some take at most 120 GiB, and what needs little 2 GiB.
constexpr std::int64_t kLittle = std::int64_t{128} << 20, kSome = std::int64_t{640} << 20;

}  // namespace

MemoryShare memory_share(const std::string& path) {
    const auto text = read_file(path);
    if (!text) return MemoryShare::little;
    const auto call = graph::fused_call_from_json(*text);
    if (!call) return MemoryShare::little;
    const auto bytes = verify::case_bytes(call->original);
    return bytes <= kLittle ? MemoryShare::little
           : bytes <= kSome ? MemoryShare::some
                            : MemoryShare::much;
}

bool says_out_of_memory(std::string_view failure) {
    std::string text(failure);
    std::ranges::transform(text, text.begin(), [](unsigned char c) {
        return c == '_' ? ' ' : static_cast<char>(std::tolower(c));
    });
    return text.find("out of memory") != text.npos;
}

}  // namespace fact::tune
