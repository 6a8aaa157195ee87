#include "support/subprocess.h"

#include <algorithm>
#include <limits>

#include "support/child.h"

namespace fact {
namespace {

using Clock = std::chrono::steady_clock;

// How often a program is checked for its end, which the pipes do not show if another process of its
// group still has them open.
constexpr Seconds kLongestNap{0.02};
constexpr Seconds kShortestNap{0.001};

}  // namespace

Result<Exit> run(const Command& command) {
    auto started = Clock::now();
    Result<Child> spawned = Child::spawn(command, !command.input.empty());
    if (!spawned) return spawned.error();
    Child child = std::move(spawned).value();

    Exit exit;
    std::size_t sent = 0;
    const std::size_t most =
        command.max_output ? command.max_output : std::numeric_limits<std::size_t>::max();
    Seconds nap = kShortestNap;
    auto elapsed = [&] { return Seconds(Clock::now() - started); };
    while (!child.exited()) {
        if (command.deadline && elapsed() >= *command.deadline) {
            exit.timed_out = true;
            break;
        }
        nap = std::min(nap * 2, kLongestNap);
        child.wait_ready(sent < command.input.size(),
                         command.deadline ? std::min(nap, *command.deadline - elapsed()) : nap);
        child.write(command.input, sent);
        if (sent == command.input.size()) child.close(Child::in);
        bool had_output = child.open(Child::out);
        child.read(Child::out, exit.out, most);
        child.read(Child::err, exit.err, most);
        if (std::max(exit.out.size(), exit.err.size()) >= most) {
            exit.wrote_too_much = true;
            break;
        }
        // A program that closed its output usually ends soon.
        if (had_output && !child.open(Child::out)) nap = kShortestNap;
    }
    Child::Ending ending = child.reap();
    // Its last output may still be in the pipes.
    child.read(Child::out, exit.out, most);
    child.read(Child::err, exit.err, most);
    exit.code = ending.code;
    exit.signal = ending.signal;
    exit.seconds = elapsed().count();
    return exit;
}

}  // namespace fact
