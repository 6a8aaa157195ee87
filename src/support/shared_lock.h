// A lock that several processes may share, or that one has for itself. It is released when its
// process ends, however that happens.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "support/result.h"

namespace fact {

enum class LockKind { shared, exclusive };
std::string_view name(LockKind kind);

class SharedLock {
  public:
    // Waits until the lock may be had, and says so on standard error unless `what` is empty:
    // "waiting for process 7 to finish with <what>". While one waits, nobody else gets the lock, so
    // that neither kind waits for ever while others of the other kind come and go. Ctrl-C ends the
    // wait with an Error. `file` and the file <file>.gate stay where they are: removing one that
    // others share would let a third take it alone.
    static Result<SharedLock> take(const std::filesystem::path& file, LockKind kind,
                                   std::string_view what);

    // Without waiting, and without regard to those who wait; nullopt if others have it.
    static Result<std::optional<SharedLock>> try_take(const std::filesystem::path& file,
                                                      LockKind kind);

    SharedLock(SharedLock&& other) noexcept;
    SharedLock& operator=(SharedLock&& other) noexcept;
    ~SharedLock();

  private:
    explicit SharedLock(int descriptor) : descriptor_(descriptor) {}
    int descriptor_ = -1;
};

}  // namespace fact
