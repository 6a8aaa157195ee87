// What processes that share a GPU write down about their use of it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace fact::tune {

// The file that processes of this user lock for something of the GPUs that are visible here. The
// same as python/fact/_gpu_lock.py's.
std::filesystem::path gpu_lock_file(std::string_view something);

// From when something was waited for to when it was given back.
class GpuUse {
  public:
    void begin();  // the waiting is over
    double waited_s() const { return seconds(since_ - asked_); }
    // Appends a line of JSON to the file that FACT_TURN_LOG names, if it does.
    void end(std::string_view kind, std::string_view what) const;

  private:
    using Clock = std::chrono::steady_clock;
    static double seconds(std::chrono::duration<double> span) { return span.count(); }

    Clock::time_point asked_ = Clock::now(), since_ = asked_;
    std::chrono::system_clock::time_point when_;
};

}  // namespace fact::tune
