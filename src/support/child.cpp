#include "support/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include "support/interrupt.h"
#include "support/memory.h"

extern char** environ;

namespace fact {
namespace {

// A process stuck in a driver call may take long to end after SIGKILL; we do not wait forever.
constexpr Seconds kReapPatience{10};

// Makes a pipe with both ends above the three standard descriptors, so that giving one to a child
// cannot overwrite another.
bool make_pipe(std::array<int, 2>& ends) {
    std::array<int, 2> raw;
    if (::pipe2(raw.data(), O_CLOEXEC) != 0) return false;
    for (int i = 0; i < 2; ++i) {
        ends[i] = ::fcntl(raw[i], F_DUPFD_CLOEXEC, 3);
        ::close(raw[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0) return true;
    const int code = errno;
    for (int& end : ends)
        if (end >= 0) ::close(std::exchange(end, -1));
    errno = code;
    return false;
}

Error cannot_start(const std::string& program, int code) {
    return {fmt::format("cannot start {}: {}", program, std::strerror(code)),
            code == ENOENT ? "install it, or give its full path" : ""};
}

std::vector<std::string> merged_environment(const Command& command) {
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        std::string_view text = *entry;
        std::string_view key = text.substr(0, text.find('='));
        bool replaced = false;
        for (const auto& [name, value] : command.environment) replaced |= name == key;
        if (!replaced) result.emplace_back(text);
    }
    for (const auto& [name, value] : command.environment) result.push_back(name + "=" + value);
    return result;
}

// posix_spawn cannot set limits, and when it returns, the program may already have started others.
// So a shell sets the limits, and then becomes the program.
std::vector<std::string> argv_with_limits(const Command& command) {
    if (command.address_bytes == 0) return command.argv;
    std::vector<std::string> argv{"/bin/sh", "-c", "ulimit -v \"$0\" && exec \"$@\"",
                                  std::to_string(command.address_bytes / 1024)};  // in KiB
    argv.insert(argv.end(), command.argv.begin(), command.argv.end());
    return argv;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (std::string& text : strings) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

// The read end of a pipe that is never written to and whose other end only this process has: a
// reader sees the pipe close when this process is gone. PR_SET_PDEATHSIG would affect one process
// only, not those that it starts, and fires when the thread that forked ends.
int life_line() {
    static std::mutex mutex;
    static std::array<int, 2> ends{-1, -1};
    static pid_t owner = 0;
    const std::lock_guard lock(mutex);
    if (owner == ::getpid()) return ends[0];
    // A fork of this process does not use the pipe of the original.
    for (int& end : ends)
        if (end >= 0) ::close(std::exchange(end, -1));
    if (!make_pipe(ends)) return -1;
    owner = ::getpid();
    return ends[0];
}

// What the guard of a group runs: `read` ends when this process is gone, and then the guard kills
// its whole group. The 0.1 s let a program that was just being started join the group first.
constexpr const char* kGuard = "read -r _; sleep 0.1; kill -KILL 0";

// posix_spawn's two argument objects, freed with the scope.
struct SpawnPlan {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    // `group`: the process group that the child joins; 0: a new one.
    explicit SpawnPlan(pid_t group) {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
        // A child starts with default signals, whatever this process ignores or blocks.
        sigset_t all, none;
        ::sigemptyset(&none);
        ::sigemptyset(&all);
        for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT}) ::sigaddset(&all, signal);
        ::posix_spawnattr_setsigdefault(&attributes, &all);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setpgroup(&attributes, group);
        ::posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    ~SpawnPlan() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;
};

// Starts the guard as the first process of a new group and returns its id, which is also the
// group's; 0, with errno set, if that fails.
pid_t start_guard() {
    const int line = life_line();
    if (line < 0) return 0;
    SpawnPlan plan(0);
    ::posix_spawn_file_actions_adddup2(&plan.actions, line, 0);
    for (int fd : {1, 2})
        ::posix_spawn_file_actions_addopen(&plan.actions, fd, "/dev/null", O_WRONLY, 0);
    std::vector<std::string> argv{"/bin/sh", "-c", kGuard};
    pid_t guard = 0;
    errno = ::posix_spawn(&guard, argv[0].c_str(), &plan.actions, &plan.attributes,
                          pointers(argv).data(), environ);
    return errno == 0 ? guard : 0;
}

// Writing to a pipe without a reader raises SIGPIPE; during this call it only gives EPIPE.
ssize_t write_without_signal(int fd, const char* data, std::size_t size) {
    sigset_t pipe, before, pending;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::sigpending(&pending);
    bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ssize_t count = ::write(fd, data, size);
    int code = errno;
    if (count < 0 && code == EPIPE && !was_pending) {
        // Takes away the SIGPIPE of this write; one that was pending before stays.
        timespec now{};
        while (::sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {
        }
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = code;
    return count;
}

}  // namespace

Result<Child> Child::spawn(const Command& command, bool pipe_input) {
    if (command.argv.empty()) throw InternalError("a command without a program");
    const std::string& program = command.argv[0];
    if (interrupted()) return Error{fmt::format("{} not started: interrupted", program), ""};
    if (!command.folder.empty() && !std::filesystem::is_directory(command.folder))
        return Error{fmt::format("cannot start {}: there is no folder {}", program, command.folder),
                     ""};
    // Checked here: otherwise the shell that sets the limits would report a missing program.
    const bool is_path = program.find('/') != program.npos;
    if (command.address_bytes > 0 && is_path && ::access(program.c_str(), X_OK) != 0)
        return cannot_start(program, errno);

    Child child;
    child.guard_ = start_guard();
    if (child.guard_ == 0) return cannot_start(program, errno);
    SpawnPlan plan(child.guard_);
    std::array<int, 3> theirs{-1, -1, -1};  // the child's ends of the pipes
    for (int i = 0; i < 3; ++i) {
        if (i == in && !pipe_input) {
            ::posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
            continue;
        }
        if (i != in && command.inherit_output) continue;
        std::array<int, 2> ends;
        if (!make_pipe(ends)) {
            Error error{fmt::format("cannot start {}: {}", program, std::strerror(errno)),
                        "close some files or raise the limit on open files (ulimit -n)"};
            for (int fd : theirs)
                if (fd >= 0) ::close(fd);
            return error;
        }
        child.pipes_[i] = i == in ? ends[1] : ends[0];
        theirs[i] = i == in ? ends[0] : ends[1];
        ::fcntl(child.pipes_[i], F_SETFL, O_NONBLOCK);
        ::posix_spawn_file_actions_adddup2(&plan.actions, theirs[i], i);
    }
    if (!command.folder.empty())
        ::posix_spawn_file_actions_addchdir_np(&plan.actions, command.folder.c_str());

    std::vector<std::string> argv = argv_with_limits(command),
                             environment = merged_environment(command);
    int code = ::posix_spawnp(&child.pid_, argv[0].c_str(), &plan.actions, &plan.attributes,
                              pointers(argv).data(), pointers(environment).data());
    for (int fd : theirs)
        if (fd >= 0) ::close(fd);
    if (code != 0) {
        child.pid_ = 0;
        return cannot_start(program, code);
    }
    child.slot_ = register_group(child.guard_);
    return child;
}

Child::Child(Child&& other) noexcept {
    *this = std::move(other);
}

Child& Child::operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(guard_, other.guard_);
    std::swap(slot_, other.slot_);
    std::swap(pipes_, other.pipes_);
    return *this;
}

Child::~Child() {
    reap();
    for (Pipe pipe : {in, out, err}) close(pipe);
}

void Child::close(Pipe pipe) {
    if (open(pipe)) ::close(std::exchange(pipes_[pipe], -1));
}

void Child::read(Pipe pipe, std::string& to, std::size_t most) {
    std::array<char, 65536> buffer;
    while (open(pipe) && to.size() < most) {
        ssize_t count = ::read(pipes_[pipe], buffer.data(), buffer.size());
        if (count > 0) {
            to.append(buffer.data(), static_cast<std::size_t>(count));
        } else if (count < 0 && errno == EINTR) {
            continue;
        } else if (count < 0 && errno == EAGAIN) {
            return;
        } else {
            close(pipe);
        }
    }
}

bool Child::write(const std::string& text, std::size_t& offset) {
    while (open(in) && offset < text.size()) {
        ssize_t count =
            write_without_signal(pipes_[in], text.data() + offset, text.size() - offset);
        if (count >= 0) {
            offset += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN) {
            return true;
        } else if (errno != EINTR) {
            close(in);
        }
    }
    return open(in);
}

void Child::wait_ready(bool want_write, Seconds timeout) const {
    std::array<pollfd, 3> ready{};
    nfds_t count = 0;
    if (open(out)) ready[count++] = {pipes_[out], POLLIN, 0};
    if (open(err)) ready[count++] = {pipes_[err], POLLIN, 0};
    if (want_write && open(in)) ready[count++] = {pipes_[in], POLLOUT, 0};
    double milliseconds = std::ceil(std::max(timeout.count(), 0.0) * 1000);
    ::poll(ready.data(), count, static_cast<int>(std::min(milliseconds, 1e6)));
}

std::uint64_t Child::resident_bytes() const {
    return reaped() ? 0 : resident_memory(pid_);
}

bool Child::exited() const {
    if (reaped()) return true;
    // WNOWAIT leaves the status for reap().
    siginfo_t ending{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &ending, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ending.si_pid == pid_;
}

void Child::kill_group() const {
    if (guard_ > 0) ::kill(-guard_, SIGKILL);
}

Child::Ending Child::reap() {
    kill_group();
    // Unregistered before the guard is reaped: from then on another group may get its number.
    unregister_group(std::exchange(slot_, -1));
    if (guard_ > 0) ::waitpid(std::exchange(guard_, 0), nullptr, 0);
    auto give_up = std::chrono::steady_clock::now() + kReapPatience;
    while (!exited() && std::chrono::steady_clock::now() < give_up)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    int status = 0;
    pid_t done = reaped() ? 0 : ::waitpid(std::exchange(pid_, 0), &status, WNOHANG);
    if (done <= 0) return {0, SIGKILL};  // it did not end in time, or was reaped before
    if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
    return {WEXITSTATUS(status), 0};
}

}  // namespace fact
