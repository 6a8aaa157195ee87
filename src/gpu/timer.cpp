#include "gpu/timer.h"

#include "gpu/context.h"

namespace fact::gpu {

namespace {

cuda::Event handle(void* event) {
    return static_cast<cuda::Event>(event);
}

}  // namespace

Result<Event> Event::create() {
    cuda::Event event = nullptr;
    auto done = in_context("cuEventCreate",
                           [&](const cuda::Api& api) { return api.event_create(&event, 0); });
    if (!done) return done.error();
    return Event(event);
}

Event::~Event() {
    if (event_)
        (void)in_context("cuEventDestroy",
                         [&](const cuda::Api& api) { return api.event_destroy(handle(event_)); });
}

Result<> Event::record(Stream stream) const {
    return in_context("cuEventRecord", [&](const cuda::Api& api) {
        return api.event_record(handle(event_), stream);
    });
}

Result<> Event::wait() const {
    return in_context("waiting for the GPU",
                      [&](const cuda::Api& api) { return api.event_synchronize(handle(event_)); });
}

Result<double> Event::microseconds_since(const Event& begin) const {
    if (auto done = wait(); !done) return done.error();
    float milliseconds = 0;
    auto done = in_context("cuEventElapsedTime", [&](const cuda::Api& api) {
        return api.event_elapsed(&milliseconds, handle(begin.event_), handle(event_));
    });
    if (!done) return done.error();
    return 1000.0 * milliseconds;
}

}  // namespace fact::gpu
