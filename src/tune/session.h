// A conversation with fact-worker about one fused call. The worker may crash or hang: that costs
// the candidate it was on, and the next one gets a fresh worker.
#pragma once

#include <optional>
#include <string>

#include "support/subprocess.h"
#include "verify/protocol.h"

namespace fact::tune {

// The most memory a worker may hold: FACT_WORKER_MEMORY in GiB, else half of the machine's.
Result<std::uint64_t> worker_memory();

// `given`, else FACT_WORKER; an Error where neither names a program.
Result<std::string> find_worker(const std::string& given);

// A worker that finished its family well serves the next: starting PyTorch and a GPU takes seconds.
struct IdleWorker {
    std::optional<LineProcess> process;
};

class WorkerSession {
  public:
    // Prepares the call in a worker: the idle one where there is one, else one that it starts.
    static Result<WorkerSession> open(std::string worker, verify::OpenRequest request,
                                      Seconds deadline, IdleWorker* idle = nullptr);

    WorkerSession(WorkerSession&& other) noexcept;
    WorkerSession& operator=(WorkerSession&& other) noexcept;
    ~WorkerSession();  // leaves a healthy worker where it was told to

    const verify::OpenReply& opened() const { return opened_; }

    // Every fate of the candidate is a reply; an Error only where no worker can be started again
    // (a GPU that is gone, for one), or on Ctrl-C.
    Result<verify::CandidateReply> measure(const verify::CandidateRequest& request,
                                           Seconds deadline);

  private:
    WorkerSession() = default;
    Result<verify::OpenReply> start();
    Result<LineProcess::Answer> ask(const std::string& line, Seconds deadline);

    std::string worker_;
    verify::OpenRequest request_;
    Seconds open_deadline_{};
    std::uint64_t memory_bytes_ = 0;
    IdleWorker* idle_ = nullptr;
    std::optional<LineProcess> process_;
    verify::OpenReply opened_;
};

}  // namespace fact::tune
