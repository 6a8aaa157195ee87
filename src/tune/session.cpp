#include "tune/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "support/memory.h"
#include "tune/gpu_gone.h"

namespace fact::tune {

namespace {

using verify::CandidateReply;
using verify::Outcome;

// The last lines that a program wrote to standard error, to be added to the end of a message.
std::string tail(const std::string& text) {
    constexpr std::size_t kMaxChars = 600;
    std::size_t end = text.find_last_not_of(" \n");
    if (end == text.npos) return "";
    std::string_view shown(text.data(), end + 1);
    const bool cut = shown.size() > kMaxChars;
    if (cut) shown.remove_prefix(shown.size() - kMaxChars);
    return fmt::format(":\n{}{}", cut ? "..." : "", shown);
}

std::string describe_end(const LineProcess::Answer& answer) {
    if (answer.signal)
        return fmt::format("signal {} ({}) ended it{}", answer.signal, strsignal(answer.signal),
                           tail(answer.line));
    return fmt::format("it ended with status {}{}", answer.code, tail(answer.line));
}

CandidateReply reply_with(Outcome outcome, std::string why) {
    CandidateReply reply;
    reply.outcome = outcome;
    reply.why = std::move(why);
    return reply;
}

const Error kInterrupted{"interrupted", ""};

// The pattern's id, which users know better than the path.
std::string call_name(const verify::OpenRequest& request) {
    return std::filesystem::path(request.call).stem().string();
}

}  // namespace

Result<std::string> find_worker(const std::string& given) {
    std::string path = given;
    if (const char* named = std::getenv("FACT_WORKER"); path.empty() && named) path = named;
    if (path.empty())
        return Error{"the worker that runs PyTorch was not named",
                     "Set FACT_WORKER to fact-worker, which is built where PyTorch is found."};
    if (::access(path.c_str(), X_OK) != 0)
        return Error{fmt::format("{} is not a program that can be run", path),
                     "Build FACT with PyTorch, or set FACT_WORKER to fact-worker."};
    return path;
}

Result<std::uint64_t> worker_memory() {
    return memory_from_environment("FACT_WORKER_MEMORY", physical_memory() / 2);
}

WorkerSession::WorkerSession(WorkerSession&& other) noexcept {
    *this = std::move(other);
}

WorkerSession& WorkerSession::operator=(WorkerSession&& other) noexcept {
    worker_ = std::move(other.worker_);
    request_ = std::move(other.request_);
    open_deadline_ = other.open_deadline_;
    memory_bytes_ = other.memory_bytes_;
    idle_ = std::exchange(other.idle_, nullptr);
    process_ = std::exchange(other.process_, std::nullopt);
    memory_ = std::move(other.memory_);
    turn_ = std::move(other.turn_);
    opened_ = std::move(other.opened_);
    prepared_in_ = other.prepared_in_, worked_ = other.worked_;
    on_gpu_ = std::exchange(other.on_gpu_, false);
    return *this;
}

Result<WorkerSession> WorkerSession::open(std::string worker, verify::OpenRequest request,
                                          Seconds deadline, IdleWorker* idle,
                                          const std::function<void()>& before_gpu) {
    WorkerSession session;
    session.idle_ = idle;
    session.worker_ = std::move(worker);
    session.request_ = std::move(request);
    session.open_deadline_ = deadline;
    const auto& device = session.request_.device;
    session.memory_ = GpuMemory(device, call_name(session.request_));
    session.turn_ = GpuTurn(device, call_name(session.request_));
    const auto memory = worker_memory();
    if (!memory) return memory.error();
    session.memory_bytes_ = *memory;
    if (auto started = session.start_worker(); !started) return started.error();
    const bool on_gpu = session.request_.device != "cpu";
    verify::OpenReply checked;
    if (on_gpu && session.request_.check_text) {
        auto on_cpu = session.request_;
        on_cpu.device = "cpu";
        auto reply = session.prepare(on_cpu);
        if (!reply) return reply.error();
        checked = std::move(*reply);
        session.request_.check_text = false;
        if (!std::ranges::all_of(checked.text_checks, &verify::Check::passed)) {
            session.opened_ = std::move(checked);
            return session;
        }
    }
    if (before_gpu) before_gpu();
    auto reply = session.start();
    if (!reply) return reply.error();
    session.opened_ = *reply;
    if (on_gpu && !checked.text_checks.empty()) session.opened_ = std::move(checked);
    return session;
}

WorkerSession::~WorkerSession() {
    if (!process_ || !process_->alive()) return;
    constexpr Seconds kToClose{20};
    if (on_gpu_) {  // giving memory back disturbs what is timed
        if (!turn_.take(LockKind::shared)) return;
        const auto closed = process_->ask(verify::close_request(), kToClose);
        turn_.release();
        if (closed.status != LineProcess::Status::answered) return;
    }
    if (idle_) idle_->process.emplace(std::move(*process_));
}

Result<> WorkerSession::start_worker() {
    if (interrupted()) return kInterrupted;
    if (idle_ && !process_) process_ = std::exchange(idle_->process, std::nullopt);
    if (process_ && process_->alive()) return Ok{};
    Command command;
    command.argv = {worker_};
    // Proofs take and give back tensors of many gigabytes: blocks of a fixed size would not fit the
    // next one.
    if (!std::getenv("PYTORCH_CUDA_ALLOC_CONF") && !std::getenv("PYTORCH_ALLOC_CONF"))
        command.environment.emplace_back("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
    command.resident_bytes = memory_bytes_;
    auto started = LineProcess::start(command);
    if (!started) return started.error();
    process_.emplace(std::move(started).value());
    return Ok{};
}

Result<bool> WorkerSession::take_all_memory() {
    if (request_.device == "cpu" || memory_.held() == kMemoryShares) return false;
    // Others wait for what this one holds.
    if (process_) process_->kill();
    turn_.release();
    if (auto taken = memory_.take(kMemoryShares); !taken) return taken.error();
    return true;
}

Result<verify::OpenReply> WorkerSession::start() {
    auto reply = start_once();
    if (reply || !says_out_of_memory(reply.error().message)) return reply;
    const auto more = take_all_memory();
    if (!more) return more.error();
    return *more ? start_once() : reply;
}

Result<verify::OpenReply> WorkerSession::start_once() {
    if (auto started = start_worker(); !started) return started.error();
    if (!memory_.held())
        if (auto taken = memory_.take(memory_shares(request_.call)); !taken) return taken.error();
    // So that a deadline begins when it is this run's turn.
    if (auto taken = turn_.take(LockKind::shared); !taken) return taken.error();
    on_gpu_ = request_.device != "cpu";
    auto reply = prepare(request_);
    turn_.release();
    return reply;
}

Result<LineProcess::Answer> WorkerSession::ask(const std::string& line, Seconds deadline) {
    using Clock = std::chrono::steady_clock;
    worked_ = {};
    auto asked = Clock::now();
    auto answer = process_->ask(line, deadline);
    while (answer.status == LineProcess::Status::answered) {
        const auto wanted = verify::turn_requested(answer.line);
        if (!wanted) break;
        worked_ += Clock::now() - asked;
        if (auto taken = turn_.take(*wanted); !taken) {
            process_->kill();
            return taken.error();
        }
        asked = Clock::now();
        answer = process_->ask(std::string(verify::kTurnGiven),
                               std::max(deadline - worked_, Seconds(0)));
    }
    worked_ += Clock::now() - asked;
    return answer;
}

Result<verify::OpenReply> WorkerSession::prepare(const verify::OpenRequest& request) {
    const auto asked = ask(verify::to_json(request), open_deadline_);
    if (interrupted()) return kInterrupted;
    if (!asked) return asked.error();
    const auto& answer = *asked;
    prepared_in_ += worked_;
    if (answer.status == LineProcess::Status::timed_out)
        return Error{fmt::format("the worker did not prepare {} in {:.0f} s", call_name(request_),
                                 open_deadline_.count()),
                     ""};
    if (answer.status == LineProcess::Status::too_much_memory)
        return Error{fmt::format("the worker needed more than {} of memory for {}",
                                 memory_text(memory_bytes_), call_name(request_)),
                     "FACT_WORKER_MEMORY sets the limit, in GiB."};
    if (answer.status == LineProcess::Status::ended) {
        const Error failed{
            fmt::format("the worker failed on {}: {}", call_name(request_), describe_end(answer)),
            ""};
        return says_gpu_is_gone(answer.line) ? gpu_gone_error(failed) : failed;
    }
    auto reply = verify::open_reply_from_json(answer.line);
    if (!reply) return reply.error();
    const Error failed{fmt::format("{} cannot be prepared: {}", call_name(request_), reply->error),
                       ""};
    if (says_gpu_is_gone(reply->error)) return gpu_gone_error(failed);
    if (!reply->error.empty()) return failed;
    return reply;
}

Result<CandidateReply> WorkerSession::measure(const verify::CandidateRequest& request,
                                              Seconds deadline) {
    auto reply = measure_once(request, deadline);
    turn_.release();
    if (!reply || reply->outcome == Outcome::passed || !says_out_of_memory(reply->why))
        return reply;
    const auto more = take_all_memory();
    if (!more) return more.error();
    if (!*more) return reply;
    reply = measure_once(request, deadline);
    turn_.release();
    return reply;
}

Result<CandidateReply> WorkerSession::measure_once(const verify::CandidateRequest& request,
                                                   Seconds deadline) {
    if (!process_ || !process_->alive()) {
        // The text was checked when the session opened.
        request_.check_text = false;
        auto reply = start();
        // A GPU that just lost a process may refuse the next one for a moment.
        if (!reply && !interrupted()) reply = start();
        if (!reply) return reply.error();
    }
    if (auto taken = turn_.take(LockKind::shared); !taken) return taken.error();
    const auto asked = ask(verify::to_json(request), deadline);
    if (interrupted()) return kInterrupted;
    if (!asked) return asked.error();
    const auto& answer = *asked;
    switch (answer.status) {
        case LineProcess::Status::timed_out:
            return reply_with(
                Outcome::timed_out,
                fmt::format("no answer in {:.0f} s: the worker was killed", deadline.count()));
        case LineProcess::Status::too_much_memory: {
            const verify::Verdict verdict{
                verify::Finding::too_much_memory,
                fmt::format("more than {}, so the worker was killed", memory_text(memory_bytes_))};
            auto reply = reply_with(Outcome::crashed, verify::text(verdict));
            reply.finding = verdict.finding;
            return reply;
        }
        case LineProcess::Status::ended:
            return reply_with(Outcome::crashed, "the worker died: " + describe_end(answer));
        case LineProcess::Status::answered:
            break;
    }
    auto reply = verify::candidate_reply_from_json(answer.line);
    if (!reply) {
        process_->kill();
        return reply_with(Outcome::crashed, reply.error().message);
    }
    // A kernel that faulted leaves a context in which nothing works any more.
    if (reply->outcome == Outcome::crashed) process_->kill();
    return reply;
}

}  // namespace fact::tune
