#include "tune/gpu_turn.h"

namespace fact::tune {

namespace {

constexpr double kAtOnce = 0.002;  // seconds: nobody was waited for

}  // namespace

GpuTurn::GpuTurn(std::string_view device, std::string what) : what_(std::move(what)) {
    if (device != "cpu") file_ = gpu_lock_file("turn");
}

Result<> GpuTurn::take(LockKind kind) {
    release();
    if (file_.empty()) return Ok{};
    GpuUse use;
    auto lock = SharedLock::take(file_, kind, said_ ? "" : "the GPU");
    if (!lock) return lock.error();
    use.begin();
    said_ = said_ || use.waited_s() > kAtOnce;
    hold_ = std::make_unique<Hold>(std::move(*lock), kind, use);
    return Ok{};
}

void GpuTurn::release() {
    if (!hold_) return;
    const auto kind = hold_->kind;
    const auto use = hold_->use;
    hold_.reset();
    use.end(name(kind), what_);
}

}  // namespace fact::tune
