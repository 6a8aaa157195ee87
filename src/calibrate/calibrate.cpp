#include "calibrate/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <optional>

#include "calibrate/bench.h"
#include "calibrate/check.h"
#include "target/gpu_spec.h"

namespace fact::calibrate {

namespace {

constexpr std::int64_t kStreamElements = std::int64_t{1} << 28;  // f32: 1 GiB, far beyond any L2
constexpr std::int64_t kL2Elements = std::int64_t{1} << 22;      // 16 MiB, well within it
// Items of multiply_add: so many per thread that an incomplete last round hardly counts.
constexpr std::int64_t kItems = std::int64_t{1} << 24;
constexpr int kLaunches = 200;  // empty kernels that are timed together

std::string now() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

class Calibrator {
  public:
    Calibrator(const gpu::DeviceInfo& device, const Options& options)
        : device_(device), options_(options), bench_(device.arch, options) {}

    Result<Calibration> run() {
        const auto row = gpu_of_device(device_.name);
        if (!row)
            return Error{fmt::format("the table of GPUs has no {}", device_.name),
                         "`fact sol --gpus` lists the GPUs that it has"};
        auto products = product_probes(device_.arch, options_.quick ? 1 : 3);
        if (!products) return products.error();
        if (auto done = bench_.prepare(*products); !done) return done.error();
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
        // Values that the data sheet rules out are an Error.
        if (auto fine = with_ceilings(*row, found_); !fine) return fine.error();
        return found_;
    }

  private:
    void say(const std::string& what) const {
        if (options_.status) options_.status(what);
    }
    int runs() const { return options_.quick ? 11 : 51; }

    struct Measured {
        Times single, sustained;
    };
    Result<Measured> measure(const Work& work) const {
        Measured measured;
        const Clock clock = bench_.clock();
        const auto single = clock.single(work, runs());
        if (!single) return single.error();
        measured.single = *single;
        if (options_.quick) return measured;
        constexpr int kRounds = 5;
        constexpr double kRoundUs = 150'000;
        const auto sustained = clock.sustained(work, kRounds, kRoundUs);
        if (!sustained) return sustained.error();
        measured.sustained = *sustained;
        return measured;
    }

    Result<> launches() {
        say("launches");
        const auto empty = bench_.load(ProbeKind::nothing, 1);
        if (!empty) return empty.error();
        const Work work = [&]() -> Result<> {
            for (int i = 0; i < kLaunches; ++i)
                if (auto done = empty->launch(); !done) return done;
            return Ok{};
        };
        // The GPU has to spin for longer than the host takes to queue all launches. That time is
        // measured first.
        const auto begin = std::chrono::steady_clock::now();
        if (auto done = work(); !done) return done;
        const std::chrono::duration<double, std::micro> host =
            std::chrono::steady_clock::now() - begin;
        const auto single = bench_.clock(3 * host.count()).single(work, runs());
        if (!single) return single.error();
        found_.ceilings.push_back(
            time_of("launch", kLaunches, *single,
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
            if (auto done = stream(row.kind, row.name, kStreamElements, "1 GiB"); !done)
                return done;
        }
        return Ok{};
    }

    Result<> l2() { return stream(ProbeKind::l2, "l2_read", kL2Elements, "16 MiB over and over"); }

    Result<> stream(ProbeKind kind, const char* name, std::int64_t elements, const char* how) {
        say(name);
        const auto loaded = bench_.load(kind, elements);
        if (!loaded) return loaded.error();
        if (auto done = bench_.fill(loaded->tensors[0]); !done) return done;
        const auto measured = measure([&] { return loaded->launch(); });
        if (!measured) return measured.error();
        if (auto fine = check_stream(kind, *loaded); !fine) return fine;
        found_.ceilings.push_back(rate(name, "TB/s", bytes_of(kind, elements), measured->single,
                                       measured->sustained, how));
        return Ok{};
    }

    Result<> check_stream(ProbeKind kind, const Loaded& loaded) const {
        if (kind != ProbeKind::write && kind != ProbeKind::copy) return Ok{};
        constexpr std::size_t kBytes = 1 << 20;
        const auto from = loaded.read(0, kBytes), to = loaded.read(1, kBytes);
        if (!from) return from.error();
        if (!to) return to.error();
        const bool right = kind == ProbeKind::copy ? *from == *to : *to == counted_up(kBytes);
        if (right) return Ok{};
        return Error{"a calibration kernel wrote wrong values to memory",
                     "this GPU or FACT is broken: please report it"};
    }

    Result<> multiply_adds() {
        say("fp32");
        const auto chains = bench_.load(ProbeKind::multiply_add, kItems);
        if (!chains) return chains.error();
        if (auto done = bench_.fill(chains->tensors[0]); !done) return done;
        const auto measured = measure([&] { return chains->launch(); });
        if (!measured) return measured.error();
        found_.ceilings.push_back(rate("fp32", "TFLOP/s", flops_of(ProbeKind::multiply_add, kItems),
                                       measured->single, measured->sustained,
                                       "multiply-adds outside the tensor cores"));
        return Ok{};
    }

    Result<> product(const ProductProbe& probe) {
        std::optional<Ceiling> best;
        for (const ProductKernel& kernel : probe.kernels) {
            say(fmt::format("{}: {}", probe.name, kernel.schedule));
            auto ceiling = product_rate(probe, kernel);
            if (!ceiling) return ceiling.error();
            if (!best || ceiling->value > best->value) best = std::move(*ceiling);
        }
        found_.ceilings.push_back(std::move(*best));
        return Ok{};
    }

    Result<Ceiling> product_rate(const ProductProbe& probe, const ProductKernel& kernel) {
        const auto loaded = bench_.load(probe, kernel);
        if (!loaded) return loaded.error();
        // Split operands are prepared already: only the product is timed.
        const std::vector<int> prepared[] = {{0}, {1}};
        const auto measured = measure([&] { return loaded->launch(prepared); });
        if (!measured) return measured.error();
        if (auto fine = check_result(probe, *loaded); !fine) return fine.error();
        return rate(probe.name, "TFLOP/s", probe.flops(), measured->single, measured->sustained,
                    fmt::format("{}x{}x{}, {}", probe.m, probe.n, probe.k, kernel.schedule));
    }

    Result<> check_result(const ProductProbe& probe, const Loaded& loaded) const {
        constexpr std::size_t kColumns = 8;
        const auto bytes = static_cast<std::size_t>(info(probe.dtype).bytes);
        const std::size_t row = static_cast<std::size_t>(probe.k) * bytes;
        const auto x = loaded.read(0, row), w = loaded.read(1, kColumns * row),
                   y = loaded.read(2, kColumns * bytes);
        for (const auto* content : {&x, &w, &y})
            if (!*content) return content->error();
        const auto wrong = wrong_products(*x, *w, *y, probe.dtype);
        if (wrong.empty()) return Ok{};
        return Error{fmt::format("the {} product is wrong: {}", probe.name, wrong),
                     "this GPU or FACT is broken: please report it"};
    }

    const gpu::DeviceInfo& device_;
    const Options& options_;
    Bench bench_;
    Calibration found_;
};

}  // namespace

Ceiling rate(std::string name, std::string unit, double work, const Times& single,
             const Times& sustained, std::string how) {
    // 1 per microsecond is 1e-6 in units of 10^12 per second.
    const auto over = [&](double us) { return us > 0 ? work * 1e-6 / us : 0; };
    // The longest time is the lowest rate.
    return {std::move(name),           std::move(unit),     over(single.median_us),
            over(single.high_us),      over(single.low_us), single.runs,
            over(sustained.median_us), sustained.runs,      std::move(how)};
}

Ceiling time_of(std::string name, int count, const Times& single, std::string how) {
    return {std::move(name),
            "us",
            single.median_us / count,
            single.low_us / count,
            single.high_us / count,
            single.runs,
            0,
            0,
            std::move(how)};
}

Result<Calibration> calibrate(const gpu::DeviceInfo& device, const Options& options) {
    return Calibrator(device, options).run();
}

}  // namespace fact::calibrate
