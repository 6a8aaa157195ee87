#include "torch/call_status.h"

#include <nlohmann/json.hpp>

namespace fact::exec {

std::string to_json(const std::vector<CallStatus>& calls) {
    auto all = nlohmann::json::array();
    for (const auto& status : calls)
        all.push_back({{"call", status.call},
                       {"kernel", status.kernel},
                       {"cannot_run", status.cannot_run},
                       {"by_kernel", status.by_kernel},
                       {"by_interpreter", status.by_interpreter},
                       {"by_torch", status.by_torch},
                       {"fell_back", status.fell_back},
                       {"elsewhere", status.elsewhere},
                       {"wrote_elsewhere", status.wrote_elsewhere}});
    return all.dump();
}

void CallCounts::add_run(c10::Device device, const std::string& refused) {
    ++(device.is_cpu() ? by_interpreter_ : by_kernel_);
    if (!refused.empty()) {
        const std::lock_guard lock(mutex_);
        wrote_elsewhere_ = refused;
        ++elsewhere_;
    }
    last_fell_back_ = false;
    last_was_elsewhere_ = !refused.empty();
}

bool CallCounts::add_fallback(const std::string& why) {
    const std::lock_guard lock(mutex_);
    fell_back_ = why;
    last_fell_back_ = true;
    last_was_elsewhere_ = false;
    return by_torch_++ == 0;
}

void CallCounts::tell(CallStatus& status) {
    status.by_kernel = by_kernel_;
    status.by_interpreter = by_interpreter_;
    status.by_torch = by_torch_;
    status.elsewhere = elsewhere_;
    const std::lock_guard lock(mutex_);
    if (last_fell_back_) status.fell_back = fell_back_;
    if (last_was_elsewhere_) status.wrote_elsewhere = wrote_elsewhere_;
}

}  // namespace fact::exec
