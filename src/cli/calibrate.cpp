// `fact calibrate`; add_calibrate is declared in cli/commands.h.
#include "calibrate/calibrate.h"

#include <fmt/format.h>

#include <memory>
#include <thread>

#include "cli/commands.h"
#include "driver/ceilings.h"
#include "report/spelling.h"
#include "support/files.h"
#include "support/progress.h"
#include "support/table.h"
#include "target/arch.h"

namespace fact::cli {

namespace fs = std::filesystem;

namespace {

struct CalibrateOptions {
    bool quick = false, show = false;
    std::string output;
};

// The ceiling as a share of the data sheet's peak; "" if the data sheet has no such peak.
std::string share_of_peak(const GpuSpec& gpu, const Ceiling& ceiling) {
    const auto share = [&](double peak) {
        return fmt::format("{:.0f} %", 100 * ceiling.value / peak);
    };
    if (ceiling.name.starts_with("memory")) return share(gpu.memory_tbs);
    if (ceiling.name.starts_with("l2")) return share(gpu.l2_tbs);
    if (ceiling.name == "bf16" || ceiling.name == "f16") return share(gpu.bf16_tflops);
    if (ceiling.name == "tf32") return share(gpu.rounded_tflops);
    if (ceiling.name == "f32_split") return share(gpu.split_tflops);
    if (ceiling.name == "fp32") return share(gpu.fp32_tflops);
    return "";
}

std::string to_text(const Calibration& c) {
    const auto right = Align::right;
    Table table({{"ceiling"},
                 {"single", right},
                 {"10 to 90 %", right},
                 {"runs", right},
                 {"sustained", right},
                 {"unit"},
                 {"of the peak", right},
                 {"how"}});
    const auto gpu = find_gpu(c.gpu);
    for (const Ceiling& ceiling : c.ceilings)
        table.row({ceiling.name, fmt::format("{:.4g}", ceiling.value),
                   fmt::format("{:.4g} to {:.4g}", ceiling.low, ceiling.high),
                   fmt::format("{}", ceiling.runs),
                   ceiling.sustained > 0 ? fmt::format("{:.4g}", ceiling.sustained) : "-",
                   ceiling.unit, gpu ? share_of_peak(*gpu, ceiling) : "",
                   report::short_schedule(ceiling.how)});
    return fmt::format("{} ({}), {}, driver {}, {}{}\n\n{}", c.device, c.gpu, c.date, c.driver,
                       c.toolchain, c.quick ? ", quick" : "", table.text());
}

// The GPU, and where its calibration belongs.
struct Place {
    gpu::DeviceInfo device;
    fs::path file;
};
Result<Place> find_place(const driver::Environment& environment, const std::string& output) {
    const auto device = gpu::device_info();
    if (!device)
        return Error{"nothing to calibrate: " + device.error().message, device.error().hint};
    if (auto fine = check_arch(device->arch); !fine)
        return Error{
            fmt::format("the {} cannot be calibrated: {}", device->name, fine.error().message),
            "its bounds stay those of the table"};
    const auto row = gpu_of_device(device->name);
    if (!row)
        return Error{fmt::format("the table of GPUs has no {}", device->name),
                     "`fact sol --gpus` lists the GPUs it has"};
    return Place{*device, output.empty() ? driver::calibration_file(environment, row->name)
                                         : fs::path(output)};
}

int show(const CalibrateOptions& options) {
    const auto environment = driver::find_environment();
    if (!environment) return fail(environment.error());
    std::vector<fs::path> files;
    std::error_code ignored;
    if (!options.output.empty())
        files.emplace_back(options.output);
    else
        for (const GpuSpec& row : gpu_table())
            if (auto file = driver::calibration_file(*environment, row.name);
                fs::exists(file, ignored))
                files.push_back(std::move(file));
    if (files.empty())
        return fail({"no GPU was calibrated by this user", "run `fact calibrate` on one", true});
    for (const auto& file : files) {
        const auto text = read_file(file, std::size_t{1} << 20);
        if (!text) return fail(blame_input(text.error()));
        const auto calibration = calibration_from_json(*text);
        if (!calibration)
            return fail({fmt::format("{}: {}", file.string(), calibration.error().message),
                         calibration.error().hint, true});
        print(fmt::format("{}\n{}", file.string(), to_text(*calibration)));
    }
    return kDone;
}

int calibrate(const CalibrateOptions& options) {
    if (options.show) return show(options);
    const auto environment = driver::find_environment();
    if (!environment) return fail(environment.error());
    const auto place = find_place(*environment, options.output);
    if (!place) return fail(place.error());
    // Checked before minutes of measuring: a folder cannot be overwritten, for example.
    const auto target = file_to_replace(place->file);
    if (!target) return fail(blame_input(target.error()));
    if (auto fine = ensure_writable_folder(fs::absolute(*target).parent_path()); !fine)
        return fail(blame_input(fine.error()));
    const auto toolchain = jit::find_toolchain();
    if (!toolchain) return fail(toolchain.error());

    Progress progress("calibrate", 0);
    calibrate::Options wanted;
    wanted.quick = options.quick;
    wanted.toolchain = *toolchain;
    wanted.store = environment->store;
    wanted.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    wanted.status = [&](const std::string& what) { progress.status(what); };
    const auto measured = calibrate::calibrate(place->device, wanted);
    if (!measured) return fail(measured.error(), "interrupted; nothing was written");
    progress.finish("measured");
    if (auto done = write_file_atomic(place->file, to_json(*measured)); !done)
        return fail(blame_input(done.error()));
    print(fmt::format("{}\nwrote {}\n", to_text(*measured), place->file.string()));
    return kDone;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
    auto options = std::make_shared<CalibrateOptions>();
    auto* command = app.add_subcommand("calibrate", "Measure this GPU's real ceilings");
    command->add_flag("--quick", options->quick,
                      "Fewer runs, one schedule per product, no sustained times");
    command->add_option("-o,--output", options->output,
                        "File to write (default: in the user's cache, where bounds look for it)");
    command->add_flag("--show", options->show, "Print the earlier measurements, measure nothing");
    command->footer(
        "Bounds (`fact sol`, discovery, tuning) then use this GPU's ceilings instead of "
        "the\n"
        "table's. Let nothing else use the GPU meanwhile: it would be measured too.");
    command->callback([&action, options] { action = [options] { return calibrate(*options); }; });
}

}  // namespace fact::cli
