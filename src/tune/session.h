// A conversation with fact-worker about one fused call. The worker may crash or hang: only the
// current candidate is lost, and the next one gets a fresh worker.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "support/file_lock.h"
#include "support/subprocess.h"
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

// A session has the GPU from the moment that the call is prepared there until its end: what proves
// a call takes gigabytes, which several runs would not find beside each other.
class WorkerSession {
  public:
    // Prepares the call in a worker: the idle one, if there is one, else a new one. The text is
    // checked first, then `before_gpu` is called, and only then does the session wait for the GPU.
    // With a wrong text it does not: the reply says what is wrong, and nothing can be measured.
    static Result<WorkerSession> open(std::string worker, verify::OpenRequest request,
                                      Seconds deadline, IdleWorker* idle = nullptr,
                                      const std::function<void()>& before_gpu = {});

    WorkerSession(WorkerSession&& other) noexcept;
    WorkerSession& operator=(WorkerSession&& other) noexcept;
    ~WorkerSession();  // leaves a healthy worker in `idle`, without what it held on the GPU

    const verify::OpenReply& opened() const { return opened_; }

    // Every outcome of the candidate is a reply; an Error only if no worker can be started again
    // (for example because the GPU is gone), or on Ctrl-C.
    Result<verify::CandidateReply> measure(const verify::CandidateRequest& request,
                                           Seconds deadline);

  private:
    WorkerSession() = default;
    Result<> start_worker();
    Result<verify::OpenReply> prepare(const verify::OpenRequest& request);
    // The same on the GPU, in a worker that may have to be started.
    Result<verify::OpenReply> start();
    Result<> take_turn();
    Result<LineProcess::Answer> ask(const std::string& line, Seconds deadline);

    std::string worker_;
    verify::OpenRequest request_;
    Seconds open_deadline_{};
    std::uint64_t memory_bytes_ = 0;
    IdleWorker* idle_ = nullptr;
    std::optional<LineProcess> process_;
    std::optional<FileLock> turn_;
    verify::OpenReply opened_;
};

}  // namespace fact::tune
