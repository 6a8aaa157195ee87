// Realizes a family of patterns: makes candidates from its kernel text, compiles them in parallel,
// verifies and times them in a worker process, and keeps the best one.
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
    Seconds compile{120};   // one kernel
    Seconds open{300};      // preparing a call in a worker
    Seconds measure{20};    // one candidate, briefly
    Seconds sustained{60};  // one candidate, on a hot GPU
};

struct RealizeOptions {
    std::filesystem::path run_folder;  // kernels/<family>/ and journal.jsonl are written here
    std::filesystem::path store;       // compiled artifacts, shared by runs
    jit::Toolchain toolchain;
    std::string call;                 // path of the FusedCall's JSON of one pattern of the family
    std::string weights;              // path of the model's archive
    std::string arch{kDefaultArch};   // of the kernels
    std::string device = "cpu";       // for the worker: "cpu" or "cuda"
    std::string device_name = "cpu";  // gpu::DeviceInfo::name
    std::string worker;               // path of fact-worker; "": FACT_WORKER names it
    TorchPrecision precision;         // the module's, under which torch is timed
    int jobs = 1;                     // compiler processes at a time
    int max_candidates = 0;           // 0: the 16 most promising with a GPU, one without
    std::vector<std::filesystem::path> also;  // CUDA files tried in addition to the schedules
    std::optional<Seconds> budget;        // of the family's search; after it, the best so far wins
    IdleWorker* idle_worker = nullptr;    // shared by all families of a run; nullptr: not shared
    const CompileAhead* ahead = nullptr;  // compiles for later families; may be nullptr
    bool stop_early = true;               // if the bound or the cost model allows
    Deadlines deadlines;
    const registry::Registry* registry = nullptr;  // nullptr: nothing is looked up or remembered
    bool retune = false;                           // search again even if the result is known
    std::string commit;                            // of FACT's own tree, if known
    std::function<void(std::string_view)> status;  // progress, one short line
};

// How many candidates a search considers at most.
int candidate_limit(const RealizeOptions& options);

// An Error only if nothing could be tried (no worker, unreadable file, Ctrl-C). A family without a
// passing kernel, or whose search threw, is a Realization that says why. Results of an earlier run
// with the same key, and those in the registry (tune/remembered.h), are reused.
Result<Realization> realize(const match::Pattern& pattern, const RealizeOptions& options);

}  // namespace fact::tune
