// LineProcess, which support/subprocess.h declares.
#include <algorithm>

#include "support/child.h"
#include "support/subprocess.h"

namespace fact {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTailBytes = 16 * 1024;  // how much of standard error is kept for messages
constexpr Seconds kPollInterval{0.05};
// How long a program that closed its output may take to end by itself.
constexpr Seconds kEndPatience{1.0};

}  // namespace

struct LineProcess::State {
    Child child;
    std::uint64_t max_resident_bytes = 0;  // Command::resident_bytes
    std::string received;                  // of standard output, not yet taken as a line
    std::string errors;                    // the tail of standard error

    void receive() {
        child.read(Child::out, received);
        child.read(Child::err, errors);
        if (errors.size() > kTailBytes) errors.erase(0, errors.size() - kTailBytes);
    }

    bool take_line(std::string& line) {
        std::size_t end = received.find('\n');
        if (end == std::string::npos) return false;
        line = received.substr(0, end);
        received.erase(0, end + 1);
        return true;
    }

    Answer end(Status status) {
        Child::Ending ending = child.reap();
        receive();
        return {status, errors, ending.signal, ending.code};
    }
};

Result<LineProcess> LineProcess::start(const Command& command) {
    Command captured = command;
    captured.inherit_output = false;
    Result<Child> child = Child::spawn(captured, true);
    if (!child) return child.error();
    LineProcess process;
    process.state_ = new State{std::move(child).value(), command.resident_bytes, {}, {}};
    return process;
}

LineProcess::LineProcess(LineProcess&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)) {}

LineProcess& LineProcess::operator=(LineProcess&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}

LineProcess::~LineProcess() {
    delete state_;
}

bool LineProcess::alive() const {
    return state_ != nullptr && !state_->child.exited();
}

void LineProcess::kill() {
    if (state_ != nullptr && !state_->child.reaped()) state_->child.reap();
}

LineProcess::Answer LineProcess::ask(const std::string& line, Seconds deadline) {
    if (state_ == nullptr) throw InternalError("asked a process that was moved away");
    if (state_->child.reaped()) return {Status::ended, state_->errors, 0, 0};

    std::string message = line + "\n";
    std::size_t sent = 0;
    auto started = Clock::now();
    auto left = [&] { return deadline - Seconds(Clock::now() - started); };
    Status status_at_deadline = Status::timed_out;
    Answer answer;
    for (;;) {
        // Checked first, so that everything the process wrote before it ended is read below.
        bool ended = state_->child.exited();
        bool still_reads = state_->child.write(message, sent);
        state_->receive();
        if (state_->take_line(answer.line)) {
            answer.status = Status::answered;
            return answer;
        }
        if (ended) return state_->end(Status::ended);
        if (left().count() <= 0) return state_->end(status_at_deadline);
        if (state_->max_resident_bytes > 0 &&
            state_->child.resident_bytes() > state_->max_resident_bytes)
            return state_->end(Status::too_much_memory);
        // A program that closes its pipes gets a short deadline to end by itself.
        if (status_at_deadline != Status::ended &&
            (!still_reads || !state_->child.open(Child::out))) {
            status_at_deadline = Status::ended;
            deadline -= std::max(left() - kEndPatience, Seconds(0));
        }
        state_->child.wait_ready(sent < message.size(), std::min(left(), kPollInterval));
    }
}

}  // namespace fact
