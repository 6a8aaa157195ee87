// Kernels that start while the one before them ends.
#pragma once

namespace fact {

// The launch record says that a kernel `waits`: its blocks may be on the GPU before the last ones
// of the kernel before it are done. It sets itself up meanwhile, and calls this in every thread
// before it touches memory that others write or read. From here on the kernel after it may come.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace fact
