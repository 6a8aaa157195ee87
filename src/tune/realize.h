// Realizes a family of patterns: kernel text to candidates, compiled in parallel, verified and
// timed in a worker process, the best one kept.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jit/compiler.h"
#include "match/patterns/pattern.h"
#include "registry/store.h"
#include "target/arch.h"
#include "tune/realization.h"

namespace fact::tune {

struct IdleWorker;   // tune/session.h
class CompileAhead;  // tune/compile_ahead.h

struct Deadlines {
    Seconds compile{120}, open{300}, measure{20}, sustained{60};
};

struct RealizeOptions {
    std::filesystem::path run_folder;  // kernels/<family>/ and journal.jsonl are written here
    std::filesystem::path store;       // compiled artifacts, shared by runs
    jit::Toolchain toolchain;
    std::string call;                 // path of the FusedCall's JSON of one pattern of the family
    std::string weights;              // path of the model's archive
    std::string arch{kUsualArch};     // of the kernels
    std::string device = "cpu";       // for the worker: "cpu" or "cuda"
    std::string device_name = "cpu";  // gpu::DeviceInfo::name
    std::string worker;               // path of fact-worker; "" asks FACT_WORKER
    TorchPrecision precision;         // of the module, which torch is timed under
    int jobs = 1;                     // compiler processes at a time
    int max_candidates = 0;           // 0: the 16 most promising with a GPU, one without
    std::vector<std::filesystem::path> also;  // CUDA files tried beside the schedules
    std::optional<Seconds> budget;        // for the family's search: then the best so far is taken
    IdleWorker* idle_worker = nullptr;    // one for all families of a run; none: each has its own
    const CompileAhead* ahead = nullptr;  // what compiles for later families, if anything does
    bool stop_early = true;               // where the bound or the model says that enough was tried
    Deadlines deadlines;
    const registry::Registry* registry = nullptr;  // none: nothing is looked up or remembered
    bool retune = false;                           // search again where the answer is known already
    std::string commit;                            // of FACT's own tree, where known
    std::function<void(std::string_view)> status;  // progress, one short line
};

// How many candidates a search takes.
int candidate_limit(const RealizeOptions& options);

// An Error only where nothing could be tried (no worker, unreadable file, Ctrl-C); a family
// without a passing kernel is a Realization that says why, as is one that threw. Finished work of
// an earlier run with the same key is read, not done again, and so is what the registry knows
// (tune/remembered.h).
Result<Realization> realize(const match::Pattern& pattern, const RealizeOptions& options);

}  // namespace fact::tune
