#include "support/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace fact {
namespace {

constexpr double kRedrawSeconds = 0.05;  // at least, between two drawings on a terminal
constexpr double kAliveSeconds = 10;     // at least, between two status lines in a log

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::size_t terminal_width() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

void print(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string title, int total)
    : title_(std::move(title)), total_(total), terminal_(::isatty(STDERR_FILENO) == 1) {
    started_ = now();
    last_ = terminal_ ? 0 : started_;
    if (terminal_) draw("");
}

Progress::~Progress() {
    if (terminal_ && !finished_) print("\r\033[K");  // clears the line
}

void Progress::step(std::string_view what) {
    ++done_;
    if (!terminal_ || done_ == total_ || now() - last_ >= kRedrawSeconds) draw(what);
}

void Progress::status(std::string_view what) {
    if (now() - last_ >= (terminal_ ? kRedrawSeconds : kAliveSeconds)) draw(what);
}

void Progress::finish(std::string_view summary) {
    if (finished_) return;
    finished_ = true;
    print(fmt::format("{}{}: {} ({:.1f} s)\n", terminal_ ? "\r\033[K" : "", title_, summary,
                      now() - started_));
}

void Progress::draw(std::string_view what) {
    last_ = now();
    std::string count = total_ > 0  ? fmt::format(" {}/{}", done_, total_)
                        : done_ > 0 ? fmt::format(" {}", done_)
                                    : "";
    std::string line = fmt::format("{}{}{}{}", title_, count, what.empty() ? "" : ": ", what);
    if (!terminal_) return print(line + "\n");
    // A wrapped line could not be redrawn.
    if (std::size_t width = terminal_width(); line.size() >= width) line.resize(width - 1);
    print("\r\033[K" + line);
}

}  // namespace fact
