#include "calibrate/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <map>
#include <optional>

#include "calibrate/clock.h"
#include "calibrate/probes.h"
#include "calibrate/products.h"
#include "gpu/memory.h"
#include "ir/number.h"
#include "support/files.h"
#include "target/gpu_spec.h"

namespace fact::calibrate {

namespace {

constexpr Seconds kDeadline(600);
constexpr std::int64_t kStreamElements = std::int64_t{1} << 28;  // f32: 1 GiB, far beyond any L2
constexpr std::int64_t kL2Elements = std::int64_t{1} << 22;      // 16 MiB, well within it
constexpr std::int64_t kItems = std::int64_t{1} << 22;
constexpr int kLaunches = 200;

// A kernel with the memory it works on.
struct Loaded {
    gpu::Kernel kernel;
    std::vector<gpu::DeviceMemory> memory;
    std::vector<gpu::TensorArg> tensors;

    Result<> launch(std::span<const int> prepared = {}) const {
        return kernel.launch(tensors, prepared, nullptr);
    }
};

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

double read_number(const std::string& bytes, std::size_t index, DType dtype) {
    if (dtype == DType::f32) {
        float value = 0;
        std::memcpy(&value, bytes.data() + 4 * index, 4);
        return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * index, 2);
    return dtype == DType::bf16 ? ir::f32_from_bf16(bits) : ir::f32_from_f16(bits);
}

std::string now() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

class Calibrator {
  public:
    Calibrator(const gpu::DeviceInfo& device, const Options& options)
        : device_(device), options_(options), clock_([this](double us) { return hold(us); }) {}

    Result<Calibration> run() {
        const auto row = gpu_of_device(device_.name);
        if (!row)
            return Error{fmt::format("the table of GPUs has no {}", device_.name),
                         "`fact sol --gpus` lists those there are"};
        auto products = product_probes(device_.arch, options_.quick ? 1 : 3);
        if (!products) return products.error();
        if (auto done = compile(*products); !done) return done.error();
        auto held = load(ProbeKind::hold, 1);
        if (!held) return held.error();
        hold_ = std::move(*held);

        found_.gpu = row->name;
        found_.device = device_.name;
        found_.date = now();
        found_.driver = device_.driver_version;
        found_.toolchain = options_.toolchain.version;
        found_.quick = options_.quick;
        for (const auto measure : {&Calibrator::launches, &Calibrator::streams, &Calibrator::l2,
                                   &Calibrator::multiply_adds})
            if (auto done = (this->*measure)(); !done) return done.error();
        for (const ProductProbe& probe : *products)
            if (auto done = product(probe); !done) return done.error();
        // What cannot be is no calibration.
        if (auto fine = with_ceilings(*row, found_); !fine) return fine.error();
        return found_;
    }

  private:
    void say(const std::string& what) const {
        if (options_.status) options_.status(what);
    }
    int runs() const { return options_.quick ? 11 : 51; }

    Result<> compile(const std::vector<ProductProbe>& products) {
        std::vector<jit::Unit> units;
        std::vector<std::string> keys;
        for (const char* file : {"streams.cu", "arithmetic.cu", "fill.cu"}) {
            const auto text = read_file(options_.toolchain.kernels_folder / "calibrate" / file);
            if (!text) return text.error();
            units.push_back({std::string("calibrate_") + std::string(file, strlen(file) - 3), *text,
                             device_.arch});
            keys.push_back(file);
        }
        for (const ProductProbe& probe : products)
            for (const ProductKernel& kernel : probe.kernels) {
                units.push_back({kernel.record.kernel, kernel.source, device_.arch});
                keys.push_back(probe.name + kernel.schedule);
            }
        std::size_t done = 0;
        say(fmt::format("compiling {} kernels", units.size()));
        const auto artifacts =
            jit::compile_all(units, options_.toolchain, options_.store, options_.jobs, kDeadline,
                             [&](std::size_t, const Result<jit::Artifact>&) {
                                 say(fmt::format("compiled {} of {}", ++done, units.size()));
                             });
        if (interrupted()) return Error{"interrupted", ""};
        for (std::size_t i = 0; i < units.size(); ++i) {
            if (!artifacts[i]) return artifacts[i].error();
            auto cubin = read_file(artifacts[i]->cubin);
            if (!cubin) return cubin.error();
            cubins_[keys[i]] = std::move(*cubin);
        }
        return Ok{};
    }

    // With memory of its own, unless `elements` is only a number to the kernel.
    Result<Loaded> load(ProbeKind kind, std::int64_t elements, DType dtype = DType::f32) {
        const Probe one = probe(kind, device_.arch, dtype);
        auto kernel = gpu::Kernel::load(cubins_.at(one.file), one.record);
        if (!kernel) return kernel.error();
        Loaded loaded{std::move(*kernel), {}, {}};
        if (auto done = allocate(loaded, arguments(kind, elements, dtype)); !done)
            return done.error();
        return loaded;
    }

    Result<> hold(double us) {
        constexpr double kCyclesAMicrosecond = 2000;  // at about the highest clock
        for (gpu::TensorArg& arg : hold_->tensors)
            arg.sizes = {static_cast<std::int64_t>(us * kCyclesAMicrosecond)};
        return hold_->launch();
    }

    // Random numbers, over and over where the tensor is larger than an int counts.
    Result<> fill(const gpu::TensorArg& arg) {
        const Probe one = probe(ProbeKind::fill, device_.arch, arg.dtype);
        const auto kernel = gpu::Kernel::load(cubins_.at(one.file), one.record);
        if (!kernel) return kernel.error();
        std::int64_t elements = 1;
        for (const auto size : arg.sizes) elements *= size;
        auto tensors = arguments(ProbeKind::fill, elements, arg.dtype);
        tensors[0].data = arg.data;
        return kernel->launch(tensors, {}, nullptr);
    }

    struct Measured {
        verify::Timing single, sustained;
    };
    Result<Measured> measure(const Work& work) const {
        Measured measured;
        const auto single = clock_.single(work, runs());
        if (!single) return single.error();
        measured.single = *single;
        if (options_.quick) return measured;
        constexpr double kRoundUs = 150'000;
        const auto sustained = clock_.sustained(work, 5, kRoundUs);
        if (!sustained) return sustained.error();
        measured.sustained = *sustained;
        return measured;
    }

    Result<> launches() {
        say("launches");
        auto empty = load(ProbeKind::nothing, 1);
        if (!empty) return empty.error();
        const Work work = [&]() -> Result<> {
            for (int i = 0; i < kLaunches; ++i)
                if (auto done = empty->launch(); !done) return done;
            return Ok{};
        };
        // Held for longer than the host takes to queue them all.
        const auto begin = std::chrono::steady_clock::now();
        if (auto done = work(); !done) return done;
        const std::chrono::duration<double, std::micro> host =
            std::chrono::steady_clock::now() - begin;
        const Work queued = [&]() -> Result<> { return work(); };
        const Clock patient([this, &host](double us) { return hold(us + 3 * host.count()); });
        const auto single = patient.single(queued, runs());
        if (!single) return single.error();
        found_.ceilings.push_back(
            time_of("launch", kLaunches, *single, {},
                    fmt::format("{} empty kernels in a full queue", kLaunches)));
        return Ok{};
    }

    Result<> streams() {
        struct Row {
            ProbeKind kind;
            const char* name;
        };
        for (const Row& row :
             {Row{ProbeKind::read, "memory_read"}, Row{ProbeKind::write, "memory_write"},
              Row{ProbeKind::copy, "memory_copy"}}) {
            say(row.name);
            auto stream = load(row.kind, kStreamElements);
            if (!stream) return stream.error();
            if (auto done = fill(stream->tensors[0]); !done) return done;
            const auto measured = measure([&] { return stream->launch(); });
            if (!measured) return measured.error();
            if (auto fine = check_stream(row.kind, *stream); !fine) return fine;
            found_.ceilings.push_back(rate(row.name, "TB/s",
                                           calibrate::bytes_of(row.kind, kStreamElements),
                                           measured->single, measured->sustained, "1 GiB"));
        }
        return Ok{};
    }

    // The first megabyte of what a stream left behind.
    Result<> check_stream(ProbeKind kind, const Loaded& stream) const {
        if (kind == ProbeKind::read) return Ok{};
        std::string from(1 << 20, '\0'), to(1 << 20, '\0');
        if (auto done = stream.memory[0].read(std::as_writable_bytes(std::span(from))); !done)
            return done;
        if (auto done = stream.memory[1].read(std::as_writable_bytes(std::span(to))); !done)
            return done;
        if (kind == ProbeKind::write)
            for (std::uint32_t i = 0; i < from.size() / 4; ++i) {
                const std::uint32_t at = i / 4;
                std::memcpy(from.data() + 4 * i, &at, 4);
            }
        if (from == to) return Ok{};
        return Error{"a stream of calibration wrote something else than it should",
                     "this GPU or FACT is broken: please report it"};
    }

    Result<> l2() {
        say("l2_read");
        auto stream = load(ProbeKind::l2, kL2Elements);
        if (!stream) return stream.error();
        if (auto done = fill(stream->tensors[0]); !done) return done;
        const auto measured = measure([&] { return stream->launch(); });
        if (!measured) return measured.error();
        found_.ceilings.push_back(
            rate("l2_read", "TB/s", calibrate::bytes_of(ProbeKind::l2, kL2Elements),
                 measured->single, measured->sustained, "16 MiB over and over"));
        return Ok{};
    }

    Result<> multiply_adds() {
        say("fp32");
        auto chains = load(ProbeKind::multiply_add, kItems);
        if (!chains) return chains.error();
        if (auto done = fill(chains->tensors[0]); !done) return done;
        const auto measured = measure([&] { return chains->launch(); });
        if (!measured) return measured.error();
        found_.ceilings.push_back(rate("fp32", "TFLOP/s", flops_of(ProbeKind::multiply_add, kItems),
                                       measured->single, measured->sustained,
                                       "multiply-adds outside the tensor cores"));
        return Ok{};
    }

    Result<> product(const ProductProbe& probe) {
        std::optional<Ceiling> best;
        Error last{"no kernel of it ran", ""};
        for (const ProductKernel& one : probe.kernels) {
            say(fmt::format("{}: {}", probe.name, one.schedule));
            auto ceiling = product_rate(probe, one);
            if (interrupted()) return Error{"interrupted", ""};
            if (!ceiling) return ceiling.error();
            if (!best || ceiling->value > best->value) best = std::move(*ceiling);
        }
        if (!best) return last;
        found_.ceilings.push_back(std::move(*best));
        return Ok{};
    }

    Result<Ceiling> product_rate(const ProductProbe& probe, const ProductKernel& one) {
        auto kernel = gpu::Kernel::load(cubins_.at(probe.name + one.schedule), one.record);
        if (!kernel) return kernel.error();
        Loaded loaded{std::move(*kernel), {}, {}};
        const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
            return gpu::TensorArg{nullptr, probe.dtype, {rows, columns}, {columns, 1}};
        };
        if (auto done = allocate(loaded, {matrix(probe.m, probe.k), matrix(probe.n, probe.k),
                                          matrix(probe.m, probe.n)});
            !done)
            return done.error();
        for (int operand = 0; operand < 2; ++operand)
            if (auto done = fill(loaded.tensors[operand]); !done) return done.error();
        if (const auto why = loaded.kernel.refuses(loaded.tensors); !why.empty())
            return Error{fmt::format("the {} product was refused: {}", probe.name, why), ""};
        if (auto done = allocate(loaded, loaded.kernel.workspaces(loaded.tensors)); !done)
            return done.error();
        if (auto done = loaded.launch(); !done) return done.error();
        if (auto fine = check_product(probe, loaded); !fine) return fine.error();
        // Split operands were made by that launch: what is timed is the product alone.
        const int prepared[] = {0, 1};
        const auto measured = measure([&] { return loaded.launch(prepared); });
        if (!measured) return measured.error();
        if (auto fine = check_product(probe, loaded); !fine) return fine.error();
        return rate(probe.name, "TFLOP/s", probe.flops(), measured->single, measured->sustained,
                    fmt::format("{}x{}x{}, {}", probe.m, probe.n, probe.k, one.schedule));
    }

    // The first results of the first row, summed again on the host.
    Result<> check_product(const ProductProbe& probe, const Loaded& loaded) const {
        constexpr std::int64_t kColumns = 8;
        const auto bytes = static_cast<std::size_t>(info(probe.dtype).bytes);
        const auto row = static_cast<std::size_t>(probe.k) * bytes;
        std::string x(row, '\0'), w(row * kColumns, '\0'), y(kColumns * bytes, '\0');
        std::string* into[] = {&x, &w, &y};
        for (int i = 0; i < 3; ++i)
            if (auto done = loaded.memory[i].read(std::as_writable_bytes(std::span(*into[i])));
                !done)
                return done;
        for (std::int64_t n = 0; n < kColumns; ++n) {
            double sum = 0, size = 0;
            for (std::int64_t k = 0; k < probe.k; ++k) {
                const double term =
                    read_number(x, static_cast<std::size_t>(k), probe.dtype) *
                    read_number(w, static_cast<std::size_t>(n * probe.k + k), probe.dtype);
                sum += term;
                size += term * term;
            }
            // The coarsest types keep eight bits.
            const double got = read_number(y, static_cast<std::size_t>(n), probe.dtype);
            const double allowed = 0.01 * std::max(std::abs(sum), std::sqrt(size));
            if (!(std::abs(got - sum) <= allowed))
                return Error{
                    fmt::format("the {} product gave {} where {} is right", probe.name, got, sum),
                    "this GPU or FACT is broken: please report it"};
        }
        return Ok{};
    }

    const gpu::DeviceInfo& device_;
    const Options& options_;
    Clock clock_;
    std::optional<Loaded> hold_;
    std::map<std::string, std::string> cubins_;  // by file, or by product and schedule
    Calibration found_;
};

}  // namespace

Ceiling rate(std::string name, std::string unit, double work, const verify::Timing& single,
             const verify::Timing& sustained, std::string how) {
    const auto over = [&](double us) { return us > 0 ? work * 1e-6 / us : 0; };
    // The longest time is the lowest rate.
    return {std::move(name),           std::move(unit),     over(single.median_us),
            over(single.high_us),      over(single.low_us), single.runs,
            over(sustained.median_us), sustained.runs,      std::move(how)};
}

Ceiling time_of(std::string name, int count, const verify::Timing& single,
                const verify::Timing& sustained, std::string how) {
    return {std::move(name),        "us",        single.median_us / count,    single.low_us / count,
            single.high_us / count, single.runs, sustained.median_us / count, sustained.runs,
            std::move(how)};
}

Result<Calibration> calibrate(const gpu::DeviceInfo& device, const Options& options) {
    return Calibrator(device, options).run();
}

}  // namespace fact::calibrate
