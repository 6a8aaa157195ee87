// Kernels that start before the previous kernel has ended.
#pragma once

namespace fact {

// A kernel whose launch record has `waits` may start while the last thread blocks of the previous
// kernel still run. It sets itself up meanwhile, and every thread calls this before it touches
// memory that other kernels write or read. From here on the next kernel may start.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace fact
