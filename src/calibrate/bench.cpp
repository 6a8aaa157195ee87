#include "calibrate/bench.h"

#include <fmt/format.h>

#include "gpu/timer.h"
#include "support/files.h"

namespace fact::calibrate {

namespace {

constexpr Seconds kCompileDeadline(600);  // for each kernel

std::size_t bytes_of(const gpu::TensorArg& arg) {
    auto bytes = static_cast<std::size_t>(info(arg.dtype).bytes);
    for (const std::int64_t size : arg.sizes) bytes *= static_cast<std::size_t>(size);
    return bytes;
}

Result<> allocate(Loaded& loaded, std::vector<gpu::TensorArg> tensors) {
    for (gpu::TensorArg& arg : tensors) {
        auto memory = gpu::DeviceMemory::allocate(bytes_of(arg));
        if (!memory) return memory.error();
        arg.data = memory->data();
        loaded.memory.push_back(std::move(*memory));
        loaded.tensors.push_back(std::move(arg));
    }
    return Ok{};
}

std::string key_of(const ProductProbe& probe, const ProductKernel& kernel) {
    return probe.name + " " + kernel.schedule;
}

}  // namespace

Result<std::string> Loaded::read(std::size_t tensor, std::size_t bytes) const {
    std::string content(bytes, '\0');
    auto done = memory[tensor].read(std::as_writable_bytes(std::span(content)));
    if (!done) return done.error();
    return content;
}

Result<> Bench::prepare(const std::vector<ProductProbe>& products) {
    std::vector<jit::Unit> units;
    std::vector<std::string> keys;
    for (const std::string file : {"streams", "arithmetic", "fill"}) {
        const auto text =
            read_file(options_.toolchain.kernels_folder / "calibrate" / (file + ".cu"));
        if (!text) return text.error();
        units.push_back({"calibrate_" + file, *text, arch_});
        keys.push_back(file + ".cu");
    }
    for (const ProductProbe& probe : products)
        for (const ProductKernel& kernel : probe.kernels) {
            units.push_back({kernel.record.kernel, kernel.source, arch_});
            keys.push_back(key_of(probe, kernel));
        }
    std::size_t done = 0;
    const auto report = [&](std::size_t, const Result<jit::Artifact>&) {
        if (options_.status)
            options_.status(fmt::format("compiled {} of {}", ++done, units.size()));
    };
    const auto artifacts = jit::compile_all(units, options_.toolchain, options_.store,
                                            options_.jobs, kCompileDeadline, report);
    if (interrupted()) return Error{"interrupted", ""};
    for (std::size_t i = 0; i < units.size(); ++i) {
        if (!artifacts[i]) return artifacts[i].error();
        auto cubin = read_file(artifacts[i]->cubin);
        if (!cubin) return cubin.error();
        cubins_[keys[i]] = std::move(*cubin);
    }
    auto kernel = load(ProbeKind::hold, 1);
    if (!kernel) return kernel.error();
    hold_kernel_ = std::move(*kernel);
    return Ok{};
}

Result<Loaded> Bench::load(ProbeKind kind, std::int64_t elements) const {
    const Probe chosen = probe(kind, arch_);
    auto kernel = gpu::Kernel::load(cubins_.at(chosen.file), chosen.record);
    if (!kernel) return kernel.error();
    Loaded loaded{std::move(*kernel), {}, {}};
    if (auto done = allocate(loaded, arguments(kind, elements)); !done) return done.error();
    return loaded;
}

Result<Loaded> Bench::load(const ProductProbe& probe, const ProductKernel& product) const {
    auto kernel = gpu::Kernel::load(cubins_.at(key_of(probe, product)), product.record);
    if (!kernel) return kernel.error();
    Loaded loaded{std::move(*kernel), {}, {}};
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
        return gpu::TensorArg{nullptr, probe.dtype, {rows, columns}, {columns, 1}};
    };
    if (auto done = allocate(
            loaded, {matrix(probe.m, probe.k), matrix(probe.n, probe.k), matrix(probe.m, probe.n)});
        !done)
        return done.error();
    for (const std::size_t operand : {0, 1})
        if (auto done = fill(loaded.tensors[operand]); !done) return done.error();
    if (const auto why = loaded.kernel.why_refused(loaded.tensors); !why.empty())
        return Error{fmt::format("the {} product was refused: {}", probe.name, why), ""};
    if (auto done = allocate(loaded, loaded.kernel.workspaces(loaded.tensors)); !done)
        return done.error();
    if (auto done = loaded.launch(); !done) return done.error();
    return loaded;
}

Result<> Bench::fill(const gpu::TensorArg& tensor) const {
    const Probe filler = probe(ProbeKind::fill, arch_, tensor.dtype);
    const auto kernel = gpu::Kernel::load(cubins_.at(filler.file), filler.record);
    if (!kernel) return kernel.error();
    std::int64_t elements = 1;
    for (const auto size : tensor.sizes) elements *= size;
    auto tensors = arguments(ProbeKind::fill, elements, tensor.dtype);
    tensors.front().data = tensor.data;
    if (auto done = kernel->launch(tensors, {}, nullptr); !done) return done;
    // The kernel is unloaded at the end of this scope, so it must have finished by then.
    const auto filled = gpu::Event::create();
    if (!filled) return filled.error();
    if (auto done = filled->record(nullptr); !done) return done;
    return filled->wait();
}

Result<> Bench::hold(double us) const {
    constexpr double kCyclesPerMicrosecond = 2000;  // at about the highest clock
    auto tensors = hold_kernel_->tensors;
    // The kernel touches no memory: it spins for as many cycles as the tensors have elements.
    for (gpu::TensorArg& tensor : tensors)
        tensor.sizes = {static_cast<std::int64_t>(us * kCyclesPerMicrosecond)};
    return hold_kernel_->kernel.launch(tensors, {}, nullptr);
}

Clock Bench::clock(double extra_hold_us) const {
    return Clock([this, extra_hold_us](double us) { return hold(us + extra_hold_us); });
}

}  // namespace fact::calibrate
