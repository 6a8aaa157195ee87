#include "torch/call_status.h"

namespace fact::exec {

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
