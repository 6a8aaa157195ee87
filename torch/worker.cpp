// fact-worker: verifies and times kernels of one fused call, with one JSON line per request. It may
// be killed at any moment; standard output carries replies only.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "torch/session.h"
#include "torch/stream.h"
#include "torch/tensors.h"

namespace {

using namespace fact;

// Texts are checked on the CPU while compilers use all cores: many threads that wait for one
// another would take many times as long as a few.
constexpr int kThreads = 4;

// Replies keep the original standard output; whatever else is printed goes to standard error.
int take_standard_output() {
    const int replies = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return replies;
}

void write_line(int file, std::string line) {
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
        const auto written = write(file, rest.data(), rest.size());
        if (written <= 0) std::_Exit(1);  // the reader is gone
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

// Asks for the turn on standard output, and waits for it on standard input.
void take_turn(int replies, LockKind kind) {
    write_line(replies, verify::turn_request(kind));
    std::string given;
    if (!std::getline(std::cin, given)) std::_Exit(1);  // the asker is gone
}

std::string open(const std::string& line, std::optional<exec::Session>& session, int replies) {
    verify::OpenReply reply;
    session.reset();  // frees its tensors before the next call's are made
    try {
        const auto request = verify::open_request_from_json(line);
        if (!request) {
            reply.error = request.error().text();
        } else {
            auto opened = exec::Session::open(
                *request, [replies](LockKind kind) { take_turn(replies, kind); }, reply);
            if (opened)
                session = std::move(*opened);
            else
                reply.error = opened.error().text();
        }
    } catch (const std::exception& error) {
        reply.error = exec::message_of(error);
    }
    if (!reply.error.empty()) exec::free_unused_memory();  // which others may need
    return to_json(reply);
}

struct Answer {
    std::string line;
    bool last = false;  // the worker ends: the GPU context may be broken
};

Answer measure(const std::string& line, std::optional<exec::Session>& session) {
    verify::CandidateReply reply;
    const auto request = verify::candidate_request_from_json(line);
    if (!request || !session) {
        reply.outcome = verify::Outcome::unsupported;
        reply.why = request ? "no call is open" : request.error().text();
        return {to_json(reply), false};
    }
    try {
        return {to_json(session->measure(*request)), false};
    } catch (const std::exception& error) {
        reply.outcome = verify::Outcome::crashed;
        reply.why = exec::message_of(error);
        return {to_json(reply), true};
    }
}

}  // namespace

int main() {
    const int replies = take_standard_output();
    at::set_num_threads(std::min(at::get_num_threads(), kThreads));
    std::optional<exec::Session> session;
    for (std::string line; std::getline(std::cin, line);) {
        if (line.empty()) continue;
        if (verify::is_open_request(line)) {
            write_line(replies, open(line, session, replies));
            continue;
        }
        if (verify::is_close_request(line)) {
            session.reset();
            exec::free_unused_memory();
            write_line(replies, "{}");
            continue;
        }
        const auto answer = measure(line, session);
        write_line(replies, answer.line);
        if (answer.last) std::_Exit(1);
    }
    // Destroying a GPU context is of no use here and may hang.
    std::_Exit(0);
}
