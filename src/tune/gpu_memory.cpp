#include "tune/gpu_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>
#include <utility>

#include "gpu/driver.h"
#include "graph/fused.h"
#include "support/files.h"
#include "support/subprocess.h"
#include "verify/case_bytes.h"

namespace fact::tune {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{5};

constexpr double kGiB = 1 << 30;
constexpr double kUsualGiB = 144;    // of a GPU that cannot be asked
constexpr double kLittle = 1.0 / 8;  // of a share

// Creates no context.
double gpu_gib() {
    const auto device = gpu::device_info();
    return device ? device->memory_gib : kUsualGiB;
}

// With its inputs in f64, with what is computed from them, and with the copies that kernels get. Of
// a call that is not large the numbers of up to nine cases are kept.
double proof_gib(const verify::CaseBytes& one) {
    constexpr double kInputs = 6, kResults = 1.5, kCases = 9;
    const auto inputs = static_cast<double>(one.inputs), results = static_cast<double>(one.results);
    const double kept = one.all() > verify::kLargeCase ? 0 : kCases * (inputs + results);
    return (kept + kInputs * inputs + kResults * results) / kGiB;
}

}  // namespace

int shares_of(double gib, double gpu_gib) {
    const double share = gpu_gib / (kMemoryShares + 1);
    return gib < kLittle * share
               ? 0
               : static_cast<int>(std::min<double>(std::ceil(gib / share), kMemoryShares));
}

int memory_shares(const std::string& path) {
    const auto text = read_file(path);
    if (!text) return 0;
    const auto call = graph::fused_call_from_json(*text);
    if (!call) return 0;
    return shares_of(proof_gib(verify::case_bytes(call->original)), gpu_gib());
}

bool says_out_of_memory(std::string_view failure) {
    std::string text(failure);
    std::ranges::transform(text, text.begin(), [](unsigned char c) {
        return c == '_' ? ' ' : static_cast<char>(std::tolower(c));
    });
    return text.find("out of memory") != text.npos;
}

GpuMemory::GpuMemory(std::string_view device, std::string what) : what_(std::move(what)) {
    if (device != "cpu") file_ = gpu_lock_file("memory");
}

Result<> GpuMemory::take(int shares) {
    release();
    if (file_.empty() || shares == 0) return Ok{};
    use_ = {};
    const auto collecting = SharedLock::take(file_, LockKind::exclusive, "the GPU");
    if (!collecting) return collecting.error();
    std::vector<SharedLock> found;
    std::vector<bool> mine(kMemoryShares);
    for (bool said = false;;) {
        for (std::size_t i = 0; i < mine.size() && static_cast<int>(found.size()) < shares; ++i) {
            if (mine[i]) continue;
            auto share = SharedLock::try_take(fmt::format("{}.{}", file_, i), LockKind::exclusive);
            if (!share) return share.error();
            if (!*share) continue;
            mine[i] = true;
            found.push_back(std::move(**share));
        }
        if (static_cast<int>(found.size()) == shares) break;
        if (interrupted()) return Error{"interrupted", {}};
        if (!std::exchange(said, true))
            fmt::print(stderr, "waiting for other runs to leave room on the GPU\n");
        std::this_thread::sleep_for(kBetweenLooks);
    }
    use_.begin();
    held_ = std::move(found);
    return Ok{};
}

void GpuMemory::release() {
    if (held_.empty()) return;
    const auto kind = fmt::format("memory {}/{}", held_.size(), kMemoryShares);
    held_.clear();
    use_.end(kind, what_);
}

}  // namespace fact::tune
