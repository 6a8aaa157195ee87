#include "support/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "support/subprocess.h"

namespace fact {
namespace {

constexpr int kExitInterrupted = 130;  // what shells return for a program that Ctrl-C ended

// Lock-free, since the handler may run between any two instructions.
std::array<std::atomic<pid_t>, 1024> groups{};
std::atomic<bool> interrupt_seen{false};
static_assert(std::atomic<pid_t>::is_always_lock_free);

extern "C" void on_interrupt(int) {
    int saved = errno;
    const bool second_time = interrupt_seen.exchange(true);
    for (const auto& group : groups)
        if (pid_t id = group.load(); id > 0) ::kill(-id, SIGKILL);
    if (second_time) ::_exit(kExitInterrupted);
    errno = saved;
}

}  // namespace

int register_group(pid_t group) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
        pid_t expected = 0;
        if (!groups[i].compare_exchange_strong(expected, group)) continue;
        if (interrupted()) ::kill(-group, SIGKILL);
        return static_cast<int>(i);
    }
    throw InternalError("more than 1024 child processes at a time");
}

void unregister_group(int slot) {
    if (slot >= 0) groups[static_cast<std::size_t>(slot)] = 0;
}

void install_interrupt_handler() {
    struct sigaction action{};
    action.sa_handler = on_interrupt;
    ::sigemptyset(&action.sa_mask);
    ::sigaddset(&action.sa_mask, SIGINT);
    ::sigaddset(&action.sa_mask, SIGTERM);
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
    return interrupt_seen;
}

}  // namespace fact
