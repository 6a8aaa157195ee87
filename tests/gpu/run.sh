#!/usr/bin/env bash
# Proves on a GPU what the other tests cannot: tests/gpu/run.sh OUT [PART...]; bench/all.sh measures.
#
#   unit      the C++ tests of the launcher on the device
#   hazards   kernels on a busy GPU, in reused memory, and at sizes beyond 2^31
#   runtime   how a package lives: prepared weights, streams, CUDA graphs, threads, several GPUs
#   functions pointwise functions and wide integers, element by element: tails keep their bits
#   attention_sm80  the attention of sm80, compiled for this GPU, beside f64 and torch's own
#   legal     sampled schedules of many texts: all compile, launch and are right
#   products  the products of the MiniGPT block and of examples/products.py, verified and timed
#   types     the products of examples/products.py in fp16, and in TF32 where that is allowed
#   chains    the operator chains of examples/chains.py: level 1 small, level 2 at full size
#   spellings attention as models write it, examples/attentions.py, verified and timed in bf16
#   rotaries  rotary embeddings as models write them, examples/rotaries.py, in bf16
#   norms     norms before products as models write them, examples/norms.py, in bf16
#   replays   packages of a Llama layer and of GPT-2 in CUDA graphs and on several streams
#   baselines what modules are compared with: torch's own settings, calls and no slower graphs
#   compiled  a package and a kernel under torch.compile, torch.export and torch.jit.trace, pickled and
#             in other processes: they stay what they are
#   programs  random kernels built, run and compared with the interpreter
#   windows   the same for convolutions, windows, and results whose dimensions mix rows and columns
#   calibrate the GPU's real ceilings, as `fact calibrate` measures them
#   registry  the same module in a new run folder compiles and measures nothing
#   faults    the hostile kernels of tests/gpu/faults, each of which has to get its own verdict
#
# OUT gets one JSON file a part and the logs, and in registry/ a record of every kernel that was
# tuned (`cp -r OUT/registry/. registry/` ships them); the last lines printed are a table.
set -uo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:?usage: tests/gpu/run.sh OUT [PART...]}
shift
parts=("$@")
known=(unit functions hazards runtime compiled calibrate legal programs windows products attention_sm80 types chains spellings
    rotaries norms replays baselines registry faults)
((${#parts[@]})) || parts=("${known[@]}")
for part in "${parts[@]}"; do
    [[ " ${known[*]} " == *" $part "* ]] || {
        echo "unknown part '$part'; there are ${known[*]}" >&2
        exit 2
    }
done
work=${FACT_GPU_WORK:-$(mktemp -d)}
effort=${FACT_GPU_EFFORT:-12}
mkdir -p "$out/registry" "$work"
failures=0
retune=--retune # what is known already is measured all the same
export FACT_REGISTRY=$out/registry

logs=$out
command="FACT_GPU_EFFORT=$effort tests/gpu/run.sh OUT ${parts[*]}"
source "$root/bench/lib.sh"

# replays NAME SPEC DTYPE: the package of that run in CUDA graphs and on several streams.
replays() {
    FACT_OPS=$root/build/release/torch/libfact_ops.so PYTHONPATH=$root/python \
        timeout -k 10 100 "$python" "$root/tests/gpu/replays.py" "$work/$1/package" \
        "$2" "$3" 2>&1 | tail -n 5
    ((PIPESTATUS[0])) && ((++failures))
}

# living NAME SPEC [DTYPE]: the package of that run while weights, streams, graphs and threads change.
living() {
    local name=$1
    shift
    FACT_OPS=$root/build/release/torch/libfact_ops.so PYTHONPATH=$root/python \
        timeout -k 10 200 "$python" "$root/tests/gpu/runtime.py" "$work/$name/package" \
        "$@" >"$out/living_$name.txt" 2>&1 || ((++failures))
    cat "$out/living_$name.txt"
}

cd "$root" || exit 2
note "building"
timeout -k 10 500 "$fact" version || exit 1

for part in "${parts[@]}"; do
    case $part in
        unit)
            ninja -C "$root/build/release" gpu_test >"$out/unit.log" 2>&1 &&
                timeout -k 10 120 "$root/build/release/tests/gpu_test" >>"$out/unit.log" 2>&1 ||
                ((++failures))
            tail -n 3 "$out/unit.log"
            ;;
        functions)
            FACT_OPS=$root/build/release/torch/libfact_ops.so timeout -k 10 300 \
                "$python" "$root/tests/gpu/functions.py" >"$out/functions.log" 2>&1 ||
                ((++failures))
            grep -E '^FAIL|failed on' "$out/functions.log"
            ;;
        hazards)
            FACT_OPS=$root/build/release/torch/libfact_ops.so PYTHONPATH=$root/python \
                timeout -k 10 300 "$python" "$root/tests/gpu/hazards.py" \
                >"$out/hazards.log" 2>&1 || ((++failures))
            tail -n 40 "$out/hazards.log"
            ;;
        runtime)
            optimize runtime 150 tests/gpu/two_linears.py --no-bench --effort 1
            living runtime tests/gpu/two_linears.py
            ;;
        products)
            optimize products_bf16 300 examples.products:minigpt --dtype bf16 --no-bench \
                --effort "$effort"
            optimize shapes_bf16 240 examples.products:shapes --dtype bf16 --no-bench --effort 4
            optimize shapes_f32 300 examples.products:shapes --no-bench --effort 3
            collect products.json products_bf16 shapes_bf16 shapes_f32
            ;;
        attention_sm80)
            FACT_COMMAND="tests/gpu/run.sh OUT attention_sm80" timeout -k 10 400 \
                "$python" "$root/bench/attention_sm80.py" "$out/attention_sm80.json" ||
                ((++failures))
            ;;
        legal)
            timeout -k 10 300 "$python" "$root/bench/schedules/legal.py" "$out" \
                >"$out/legal.log" 2>&1 || ((++failures))
            tail -n 12 "$out/legal.log"
            ;;
        types)
            optimize shapes_f16 240 examples.products:shapes --dtype fp16 --no-bench --effort 2
            optimize shapes_tf32 240 examples.products:shapes --allow-tf32 --no-bench --effort 4
            collect types.json shapes_f16 shapes_tf32
            ;;
        chains)
            optimize chains_l1 200 examples.chains:level1 --training --no-bench --effort 2
            CHAINS_FULL=1 optimize chains_l2 400 examples.chains:level2 --training --no-bench \
                --effort 2
            collect chains.json chains_l1 chains_l2
            ;;
        spellings)
            ATTENTIONS_FULL=1 optimize spellings 400 examples.attentions:every --dtype bf16 \
                --no-bench --effort 1
            collect spellings.json spellings
            ;;
        rotaries)
            ROTARIES_FULL=1 optimize rotaries 400 examples.rotaries:every --dtype bf16 \
                --no-bench --effort 1
            collect rotaries.json rotaries
            ;;
        norms)
            NORMS_FULL=1 optimize norms 400 examples.norms:every --dtype bf16 --no-bench --effort 1
            collect norms.json norms
            ;;
        replays)
            retune='' optimize llama_sdpa 300 examples/llama_layer.py --dtype bf16 --no-bench --effort quick
            replays llama_sdpa examples/llama_layer.py bf16
            living llama_sdpa examples/llama_layer.py bf16
            retune='' optimize gpt2 300 examples/gpt2.py --dtype bf16 --no-bench --effort quick
            replays gpt2 examples/gpt2.py bf16
            ;;
        baselines)
            FACT_PROGRAM=$fact timeout -k 10 200 "$python" "$root/tests/gpu/baselines.py" \
                "$work/baselines" 2>&1 | tail -n 20
            ((PIPESTATUS[0])) && ((++failures))
            ;;
        compiled)
            retune='' optimize compiled 300 examples/minigpt_block.py --dtype bf16 --no-bench --effort 1
            FACT_OPS=$root/build/release/torch/libfact_ops.so PYTHONPATH=$root/python \
                timeout -k 10 300 "$python" "$root/tests/gpu/compiled.py" \
                "$work/compiled/package" examples/minigpt_block.py bf16 >"$out/compiled.log" 2>&1 ||
                ((++failures))
            grep -E '^(ok|FAILED)' "$out/compiled.log" || tail -n 15 "$out/compiled.log"
            ;;
        programs | windows)
            program=$root/build/release/tests/differential
            log=$out/$part.log
            ninja -C "$root/build/release" differential >"$log" 2>&1 || ((++failures))
            runs=("--seed 1 --count 320" "--seed 10001 --count 80 --sm80")
            if [[ $part == windows ]]; then
                runs=("--only phases --count 60" "--only convolution --count 100" "--only windows --count 60")
            fi
            for arguments in "${runs[@]}"; do
                # shellcheck disable=SC2086
                FACT_ROOT=$root timeout -k 10 300 "$program" gpu $arguments --store "$work/programs" \
                    --json "$work/$part-${arguments//[^a-z0-9]/}.json" >>"$log" 2>&1 || ((++failures))
            done
            FACT_COMMAND="tests/gpu/run.sh OUT $part" "$python" \
                "$root/bench/collect.py" --join "$out/$part.json" "$work/$part"-*.json
            tail -n 28 "$log"
            ;;
        calibrate)
            note "calibrate"
            timeout -k 10 300 "$fact" calibrate -o "$out/calibration.json" \
                >"$out/calibrate.log" 2>&1 </dev/null || ((++failures))
            tail -n 20 "$out/calibrate.log"
            ;;
        registry)
            optimize registry_first 200 examples.products:tailed --dtype bf16 --effort 2
            retune='' optimize registry_again 100 examples.products:tailed --dtype bf16 --effort 2
            for words in '(from the registry)' 'compiled 0, from the cache 0' \
                'bench: known from an earlier run'; do
                grep -qF "$words" "$out/registry_again.log" || {
                    echo "FAILED: registry_again.log does not say: $words"
                    ((++failures))
                }
            done
            grep -E '^(trace|realize|choose|compose|bench):' "$out/registry_again.log"
            ;;
        faults)
            hostile=()
            for file in tests/gpu/faults/*.cu; do hostile+=(--also "$file"); done
            optimize faults_bf16 300 tests/gpu/faults/problem.py --dtype bf16 --no-bench --effort 2 \
                "${hostile[@]}"
            optimize faults_f32 300 tests/gpu/faults/problem.py --no-bench --effort 2 "${hostile[@]}"
            for kernels in gate attention; do
                hostile=()
                for file in tests/gpu/faults/$kernels/*.cu; do hostile+=(--also "$file"); done
                optimize "faults_$kernels" 300 "tests/gpu/faults/$kernels/problem.py" --dtype bf16 \
                    --no-bench --effort 2 "${hostile[@]}"
            done
            FACT_COMMAND="tests/gpu/run.sh OUT faults" "$python" \
                tests/gpu/faults/check.py "$out/faults.json" "$work/faults_bf16" "$work/faults_f32" \
                "$work/faults_gate:gate" "$work/faults_attention:attention" || ((++failures))
            ;;
    esac
done
"$fact" registry export "$out/registry.jsonl" >/dev/null 2>&1 # one file to carry home
note "$failures failed"
exit "$((failures > 0))"
