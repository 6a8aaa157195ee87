// How a fused call has been run so far.
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace fact::exec {

struct CallStatus {
    std::string call, kernel;
    std::string cannot_run;  // why its kernel cannot run on the device in question; "" if it can
    std::int64_t by_kernel = 0, by_interpreter = 0, by_torch = 0;  // numbers of calls
    std::string fell_back;  // why the last call ran as torch's operators; "" if it did not
    // Calls whose results were to be written somewhere, and are elsewhere; why the last one's are.
    std::int64_t elsewhere = 0;
    std::string wrote_elsewhere;
};

// As python/fact/_status.py reads them.
std::string to_json(const std::vector<CallStatus>& calls);

// Counts the calls, on any thread.
class CallCounts {
  public:
    // `refused`: why the results are not where they were to be; "" if they are.
    void add_run(c10::Device device, const std::string& refused);
    // Returns whether it is the first time.
    bool add_fallback(const std::string& why);
    void tell(CallStatus& status);

  private:
    std::atomic<std::int64_t> by_kernel_ = 0, by_interpreter_ = 0, by_torch_ = 0, elsewhere_ = 0;
    std::atomic<bool> last_fell_back_ = false, last_was_elsewhere_ = false;
    std::mutex mutex_;  // guards the reasons, which are those of the latest such calls
    std::string fell_back_, wrote_elsewhere_;
};

}  // namespace fact::exec
