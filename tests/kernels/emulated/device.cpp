#include "device.h"

#include <ucontext.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

emulated::Index threadIdx, blockIdx, gridDim;

namespace emulated {
namespace {

constexpr std::size_t kStackBytes = 256 * 1024;

struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
    bool inside;
};

struct Thread {
    ucontext_t start;
    jmp_buf at;
    std::unique_ptr<char[]> stack;
    bool begun = false, done = false;
    std::vector<std::vector<Copy>> groups;
    std::vector<Copy> open;
};

// Where some threads wait for each other.
struct Meeting {
    int arrived = 0;
    unsigned turn = 0;
};

struct Warp {
    Meeting meeting;
    Words given[2][32];
    unsigned exchanges[32] = {};
};

struct Block {
    Launch launch;
    const std::function<void()>* work = nullptr;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    Meeting meeting;
    int ended = 0;  // threads
    jmp_buf scheduler;
};

Block* block;
std::vector<std::pair<const char*, std::size_t>> allowed;
int outside, missed;

Thread& self() {
    return block->threads[threadIdx.x];
}
Warp& warp() {
    return block->warps[threadIdx.x / 32];
}

// Lets others run.
void yield() {
    if (_setjmp(self().at) == 0) _longjmp(block->scheduler, 1);
}

void open(Meeting& meeting) {
    meeting.arrived = 0;
    ++meeting.turn;
}

void meet(Meeting& meeting, int size) {
    const unsigned turn = meeting.turn;
    if (++meeting.arrived == size) return open(meeting);
    while (meeting.turn == turn) yield();
}

void perform(const Copy& copy) {
    if (copy.inside)
        std::memcpy(copy.to, copy.from, copy.bytes);
    else
        std::memset(copy.to, 0, copy.bytes);
}

void begin() {
    (*block->work)();
    self().done = true;
    ++block->ended;
    _longjmp(block->scheduler, 1);
}

void resume(unsigned number) {
    threadIdx.x = number;
    Thread& thread = self();
    if (_setjmp(block->scheduler) != 0) return;
    if (thread.begun) _longjmp(thread.at, 1);
    thread.begun = true;
    getcontext(&thread.start);
    thread.stack = std::make_unique<char[]>(kStackBytes);
    thread.start.uc_stack = {thread.stack.get(), 0, kStackBytes};
    thread.start.uc_link = nullptr;
    makecontext(&thread.start, begin, 0);
    setcontext(&thread.start);
}

void run_block(const Launch& launch, const std::function<void()>& work) {
    Block one;
    one.launch = launch;
    one.work = &work;
    one.threads.resize(static_cast<std::size_t>(launch.threads));
    one.warps.resize(static_cast<std::size_t>(launch.threads / 32));
    block = &one;
    static std::mt19937 random;
    random.seed(launch.seed + blockIdx.x);
    // A warp runs alone for a while, so that it gets far ahead of the others.
    while (one.ended < launch.threads) {
        const auto first = static_cast<unsigned>(random() % one.warps.size() * 32);
        for (unsigned turns = random() % 64; turns > 0; --turns)
            for (unsigned i = first; i < first + 32; ++i)
                if (!one.threads[i].done) resume(i);
    }
    block = nullptr;
}

}  // namespace

void run(const Launch& launch, const std::function<void()>& thread) {
    gridDim.x = static_cast<unsigned>(launch.grid);
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) run_block(launch, thread);
}

void allow(const void* data, std::size_t bytes) {
    allowed.emplace_back(static_cast<const char*>(data), bytes);
}
int copies_outside() {
    return outside;
}

void meet_block() {
    Meeting& meeting = block->meeting;
    const unsigned turn = meeting.turn;
    if (++meeting.arrived == block->launch.threads) return open(meeting);
    while (meeting.turn == turn) {
        if (meeting.arrived + block->ended == block->launch.threads) {
            ++missed;
            return open(meeting);
        }
        yield();
    }
}
int missed_barriers() {
    return missed;
}

const Words* exchange(const Words& own) {
    Warp& mine = warp();
    const unsigned lane = threadIdx.x % 32;
    Words* const given = mine.given[mine.exchanges[lane]++ % 2];
    given[lane] = own;
    meet(mine.meeting, 32);
    return given;
}

void begin_copy(void* to, const void* from, std::size_t bytes, bool inside) {
    const char* const first = static_cast<const char*>(from);
    outside += inside && std::none_of(allowed.begin(), allowed.end(), [&](const auto& range) {
                   return first >= range.first && first + bytes <= range.first + range.second;
               });
    if (block->launch.late_copies)
        self().open.push_back({to, from, bytes, inside});
    else
        perform({to, from, bytes, inside});
}
void end_copies() {
    self().groups.push_back(std::move(self().open));
    self().open.clear();
}
void wait_copies(int pending) {
    auto& groups = self().groups;
    while (groups.size() > static_cast<std::size_t>(pending)) {
        for (const Copy& copy : groups.front()) perform(copy);
        groups.erase(groups.begin());
    }
}

}  // namespace emulated
