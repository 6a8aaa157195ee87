// Time as the GPU measures it, between two points of a stream.
#pragma once

#include <utility>

#include "gpu/kernel.h"
#include "support/result.h"

namespace fact::gpu {

class Event {
  public:
    // In the primary context of the current device.
    static Result<Event> create();
    Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    Event& operator=(Event&& other) noexcept {
        std::swap(event_, other.event_);
        return *this;
    }
    ~Event();

    // Marks the current end of the stream's queue.
    Result<> record(Stream stream) const;
    // Waits until the GPU has reached this event.
    Result<> wait() const;
    // The time from `begin` to this event, which it waits for first.
    Result<double> microseconds_since(const Event& begin) const;

  private:
    explicit Event(void* event) : event_(event) {}
    void* event_ = nullptr;
};

}  // namespace fact::gpu
