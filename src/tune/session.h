// A conversation with fact-worker about one fused call. The worker may crash or hang: only the
// current candidate is lost, and the next one gets a fresh worker.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "support/subprocess.h"
#include "tune/gpu_memory.h"
#include "tune/gpu_turn.h"
#include "verify/protocol.h"

namespace fact::tune {

// The most memory a worker may use: FACT_WORKER_MEMORY in GiB, else half of the machine's.
Result<std::uint64_t> worker_memory();

// The path `given`, or FACT_WORKER if that is empty; an Error if it does not name a program.
Result<std::string> find_worker(const std::string& given);

// A worker left over from one family for the next: starting PyTorch and a GPU takes seconds.
struct IdleWorker {
    std::optional<LineProcess> process;
};

// A session uses the GPU together with those of other runs while it answers, and alone while it
// times something. It has room in the GPU's memory from the moment that the call is prepared there
// until its end; a call that ran out of memory nevertheless is tried once more with all that other
// sessions take.
class WorkerSession {
  public:
    // Prepares the call in a worker: the idle one, if there is one, else a new one. The text is
    // checked first, then `before_gpu` is called, and only then does the session wait for the GPU.
    // With a wrong text it does not: the reply says what is wrong, and nothing can be measured.
    // Deadlines count while the worker works, not while it waits.
    static Result<WorkerSession> open(std::string worker, verify::OpenRequest request,
                                      Seconds deadline, IdleWorker* idle = nullptr,
                                      const std::function<void()>& before_gpu = {});

    WorkerSession(WorkerSession&& other) noexcept;
    WorkerSession& operator=(WorkerSession&& other) noexcept;
    ~WorkerSession();  // leaves a healthy worker in `idle`, without what it held on the GPU

    const verify::OpenReply& opened() const { return opened_; }
    // How long the worker worked for that.
    Seconds prepared_in() const { return prepared_in_; }

    // Every outcome of the candidate is a reply; an Error only if no worker can be started again
    // (for example because the GPU is gone), or on Ctrl-C.
    Result<verify::CandidateReply> measure(const verify::CandidateRequest& request,
                                           Seconds deadline);

  private:
    WorkerSession() = default;
    Result<> start_worker();
    // Checks the text on the CPU, or prepares the call on the GPU.
    Result<verify::OpenReply> prepare(const verify::OpenRequest& request);
    // Prepares the call on the GPU, in a worker that may have to be started.
    Result<verify::OpenReply> start();
    Result<verify::OpenReply> start_once();
    Result<verify::CandidateReply> measure_once(const verify::CandidateRequest& request,
                                                Seconds deadline);
    // Whether there is more memory than in the attempt that failed, because others leave theirs.
    Result<bool> take_all_memory();
    // Gives the worker the turns that it asks for before it answers.
    Result<LineProcess::Answer> ask(const std::string& line, Seconds deadline);

    std::string worker_;
    verify::OpenRequest request_;
    Seconds open_deadline_{};
    std::uint64_t memory_bytes_ = 0;
    IdleWorker* idle_ = nullptr;
    std::optional<LineProcess> process_;
    GpuMemory memory_;
    GpuTurn turn_;
    bool on_gpu_ = false;  // whether the worker holds anything there
    verify::OpenReply opened_;
    Seconds prepared_in_{};
    Seconds worked_{};  // how long the worker worked for its last answer
};

}  // namespace fact::tune
