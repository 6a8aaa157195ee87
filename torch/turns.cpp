#include "torch/turns.h"

#include "torch/stream.h"

namespace fact::exec {

namespace {

constexpr std::chrono::milliseconds kLongTurn{1000};  // as LONG_TURN in python/fact/_turn.py

}  // namespace

void Turns::begin() {
    kind_ = LockKind::shared;
    since_ = std::chrono::steady_clock::now();
}

void Turns::rest() {
    if (kind_ == LockKind::shared && std::chrono::steady_clock::now() - since_ > kLongTurn)
        take(LockKind::shared);
}

void Turns::take(LockKind kind) {
    if (!device_.is_cuda()) return;
    synchronize_all(device_);
    take_(kind);
    kind_ = kind;
    since_ = std::chrono::steady_clock::now();
}

}  // namespace fact::exec
