// The few CUDA functions that torch/ needs, found at run time, so that torch/ builds and
// loads without CUDA.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

namespace fact::exec {

// Whether this torch can use a GPU on this machine.
bool cuda_available();

// torch's current stream on a GPU.
c10::Stream current_stream(c10::Device device);
// The CUstream torch currently works on; throws if torch has no CUDA.
void* current_cuda_stream(c10::DeviceIndex device);

// Whether work given to the stream is being recorded into a CUDA graph instead of run.
bool is_capturing(void* stream);

// Gives memory of the GPU that torch keeps for later tensors back to other processes.
void free_unused_memory();

// Waits until everything given to the device's current stream is done; throws on its errors.
void synchronize(c10::Device device);
// The same for all of its streams.
void synchronize_all(c10::Device device);

}  // namespace fact::exec
