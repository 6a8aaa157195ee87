// cp.async on the host.
#pragma once

#include "../../device.h"

namespace cute {

struct alignas(16) uint128_t {
    std::uint64_t words[2];
};

template <class T>
struct SM80_CP_ASYNC_CACHEGLOBAL_ZFILL {
    static void copy(T const& from, T& to, bool inside) {
        emulated::begin_copy(&to, &from, sizeof(T), inside);
    }
};
template <class T>
using SM80_CP_ASYNC_CACHEALWAYS_ZFILL = SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<T>;

inline void cp_async_fence() {
    emulated::end_copies();
}
template <int kPending>
void cp_async_wait() {
    emulated::wait_copies(kPending);
}

}  // namespace cute
