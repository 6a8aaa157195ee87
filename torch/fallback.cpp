#include "torch/fallback.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace fact::exec {

void warn_of_fallback(const std::string& text) {
    const auto op = c10::Dispatcher::singleton().findSchema({"fact::fell_back", ""});
    if (!op || !op->hasComputedKernelForDispatchKey(c10::DispatchKey::Undefined)) {
        TORCH_WARN(text);
        return;
    }
    // Hidden from modes that record or fake operators: the warning is not a part of the call.
    const c10::impl::ExcludeDispatchKeyGuard unseen(
        c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot}));
    c10::Stack stack{text};
    op->callBoxed(stack);
}

}  // namespace fact::exec
