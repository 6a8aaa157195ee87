#!/usr/bin/env bash
# Proves and measures on a GPU what the other tests cannot: tests/gpu/run.sh OUT [PART...]
#
#   unit      the C++ tests of the launcher on the device
#   anchors   the shapes results are compared on, with bias, weights stored [K, N], bf16
#   anchors_f32  the same in f32, weights stored [N, K]
#   range     what f32 products lose beside numbers that are very much larger
#   rows      norms and softmax beside torch's own and beside the memory's speed
#   stopping  the same in bf16 with every candidate tried: what stopping early saves, and costs
#   attention attention kernels beside cuDNN's and flash, many shapes
#   attention_sm80  the attention of sm80, compiled for this GPU, beside f64 and torch's own
#   gelu      products with bias beside the same with a GELU fused, bf16
#   schedules every legal schedule of many shapes, beside what the model would try first
#   legal     sampled schedules of many texts: all compile, launch and are right
#   cold      the MiniGPT block in bf16 from an empty cache, and once more
#   products  the products of the MiniGPT block and of examples/products.py, verified and timed
#   types     the products of examples/products.py in fp16, and in TF32 where that is allowed
#   chains    the operator chains of examples/chains.py: level 1 small, level 2 at full size
#   spellings attention as models write it, examples/attentions.py, verified and timed in bf16
#   rotaries  rotary embeddings as models write them, examples/rotaries.py, in bf16
#   norms     norms before products as models write them, examples/norms.py, in bf16
#   epilogue  what a 12-node epilogue costs, beside CUTLASS's collective builder
#   programs  random kernels built, run and compared with the interpreter
#   minigpt   the MiniGPT block in f32, optimized and benchmarked
#   minigpt_tf32 the same with --allow-tf32: against eager and torch.compile in TF32
#   llama     a decoder layer of Llama 3 8B in bf16 with torch's attention, from an empty cache, and
#             once more
#   llama_other  the same layer with attention written out, and with batch 1
#   gpt2      the 12 layers of GPT-2 in bf16, from an empty cache, and once more
#   llama_model  the 32 layers of Llama 3 8B in bf16, weights made on the GPU; the same
#   encoder   a block of an encoder with a bias and a padding mask, written out and by torch's operator
#   mixed     a block that FACT knows only in part, in bf16 and f32: not slower than eager
#   examples  what the examples took, cold and again, as the parts before have left it in OUT
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
known=(unit calibrate cold legal schedules stopping anchors anchors_f32 range rows gelu programs epilogue
    products attention attention_sm80 types chains spellings rotaries norms minigpt minigpt_tf32 llama llama_other
    gpt2 encoder mixed llama_model examples registry faults)
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

note() { printf '== %s (%s s)\n' "$*" "$SECONDS"; }

# optimize NAME SECONDS SPEC ARGUMENTS...: one run of the whole path, its log kept, its end shown.
optimize() {
    local name=$1 limit=$2
    shift 2
    note "$name: fact optimize $*"
    timeout -k 10 "$limit" "$root/fact" optimize "$@" --run-dir "$work/$name" $retune \
        >"$out/$name.log" 2>&1 </dev/null
    local status=$?
    if ((status)); then
        ((++failures))
        echo "FAILED with status $status:"
        tail -n 15 "$out/$name.log"
    fi
}

# twice NAME SECONDS SPEC ARGUMENTS...: from an empty cache, and once more in a new run folder.
twice() {
    local name=$1 limit=$2 turn
    shift 2
    rm -rf "$work/cache-$name" "$work/${name}_cold" "$work/${name}_again"
    for turn in cold again; do
        FACT_CACHE_DIR=$work/cache-$name FACT_REGISTRY=$work/cache-$name/registry retune='' \
            TORCHINDUCTOR_CACHE_DIR=$work/cache-$name/inductor \
            optimize "${name}_$turn" "$limit" "$@"
    done
    cp -r "$work/cache-$name/registry/." "$out/registry/"
}

# replays NAME SPEC DTYPE: the package of that run in CUDA graphs and on several streams.
replays() {
    FACT_OPS=$root/build/release/torch/libfact_ops.so PYTHONPATH=$root/python \
        timeout -k 10 100 "${FACT_PYTHON:-python3}" "$root/tests/gpu/replays.py" "$work/$1/package" \
        "$2" "$3" 2>&1 | tail -n 5
    ((PIPESTATUS[0])) && ((++failures))
}

collect() { # collect [--never-slower] FILE NAME...
    local option=()
    [[ $1 == --* ]] && option=("$1") && shift
    local file=$1
    shift
    FACT_COMMAND="FACT_GPU_EFFORT=$effort tests/gpu/run.sh OUT ${parts[*]}" "${FACT_PYTHON:-python3}" \
        "$root/bench/collect.py" "${option[@]}" "$out/$file" "${@/#/$work/}" || ((++failures))
}

cd "$root" || exit 2
note "building"
timeout -k 10 500 "$root/fact" version || exit 1

for part in "${parts[@]}"; do
    case $part in
        unit)
            ninja -C "$root/build/release" gpu_test >"$out/unit.log" 2>&1 &&
                timeout -k 10 120 "$root/build/release/tests/gpu_test" >>"$out/unit.log" 2>&1 ||
                ((++failures))
            tail -n 3 "$out/unit.log"
            ;;
        products)
            optimize products_bf16 300 examples.products:minigpt --dtype bf16 --no-bench \
                --effort "$effort"
            optimize shapes_bf16 240 examples.products:shapes --dtype bf16 --no-bench --effort 4
            optimize shapes_f32 300 examples.products:shapes --no-bench --effort 3
            collect products.json products_bf16 shapes_bf16 shapes_f32
            ;;
        anchors)
            optimize anchors_kn 200 examples.products:anchors_kn --dtype bf16 --no-bench
            collect anchors_kn.json anchors_kn
            ;;
        anchors_f32)
            optimize anchors_f32 250 examples.products:anchors_nk --no-bench
            collect anchors_f32.json anchors_f32
            ;;
        range)
            FACT_COMMAND="tests/gpu/run.sh OUT range" timeout -k 10 100 "${FACT_PYTHON:-python3}" \
                "$root/bench/split_range.py" "$out/split_range.json" || ((++failures))
            ;;
        attention)
            FACT_COMMAND="tests/gpu/run.sh OUT attention" timeout -k 10 300 "${FACT_PYTHON:-python3}" \
                "$root/bench/attention.py" "$out/attention.json" || ((++failures))
            ;;
        attention_sm80)
            FACT_COMMAND="tests/gpu/run.sh OUT attention_sm80" timeout -k 10 400 \
                "${FACT_PYTHON:-python3}" "$root/bench/attention_sm80.py" "$out/attention_sm80.json" ||
                ((++failures))
            ;;
        rows)
            FACT_COMMAND="tests/gpu/run.sh OUT rows" timeout -k 10 400 "${FACT_PYTHON:-python3}" \
                "$root/bench/rows.py" "$out/rows.json" >"$out/rows.log" 2>&1 || ((++failures))
            tail -n 54 "$out/rows.log"
            ;;
        gelu)
            optimize gelu 150 examples.products:gelu --dtype bf16 --no-bench
            collect gelu.json gelu
            ;;
        stopping)
            optimize anchors_nk 300 examples.products:anchors_nk --dtype bf16 --no-bench --try-all
            collect anchors_nk.json anchors_nk
            FACT_COMMAND="tests/gpu/run.sh OUT stopping" "${FACT_PYTHON:-python3}" \
                "$root/bench/stopping.py" "$out/stopping.json" "$work/anchors_nk" || ((++failures))
            ;;
        schedules)
            timeout -k 10 400 "${FACT_PYTHON:-python3}" "$root/bench/schedules/run.py" "$out" \
                >"$out/schedules.log" 2>&1 || ((++failures))
            tail -n 22 "$out/schedules.log"
            ;;
        legal)
            timeout -k 10 300 "${FACT_PYTHON:-python3}" "$root/bench/schedules/legal.py" "$out" \
                >"$out/legal.log" 2>&1 || ((++failures))
            tail -n 12 "$out/legal.log"
            ;;
        cold)
            rm -rf "$work/cache"
            for turn in cold again; do
                before=$SECONDS
                FACT_CACHE_DIR=$work/cache FACT_REGISTRY=$work/cache/registry retune='' \
                    optimize "$turn" 300 examples/minigpt_block.py --dtype bf16
                echo "$turn: $((SECONDS - before)) s"
            done
            cp -r "$work/cache/registry/." "$out/registry/"
            collect cold.json cold again
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
        epilogue)
            timeout -k 10 420 "${FACT_PYTHON:-python3}" "$root/bench/epilogue/run.py" "$out" \
                >"$out/epilogue.log" 2>&1 || ((++failures))
            tail -n 18 "$out/epilogue.log"
            ;;
        programs)
            program=$root/build/release/tests/differential
            ninja -C "$root/build/release" differential >"$out/programs.log" 2>&1 || ((++failures))
            for arguments in "--seed 1 --count 320" "--seed 10001 --count 80 --sm80"; do
                # shellcheck disable=SC2086
                FACT_ROOT=$root timeout -k 10 300 "$program" gpu $arguments --store "$work/programs" \
                    --json "$work/programs-${arguments//[^0-9]/}.json" >>"$out/programs.log" 2>&1 ||
                    ((++failures))
            done
            FACT_COMMAND="tests/gpu/run.sh OUT programs" "${FACT_PYTHON:-python3}" \
                "$root/bench/collect.py" --join "$out/programs.json" \
                "$work"/programs-*.json
            tail -n 28 "$out/programs.log"
            ;;
        minigpt)
            optimize minigpt_f32 400 examples/minigpt_block.py
            collect minigpt.json minigpt_f32
            ;;
        minigpt_tf32)
            optimize minigpt_tf32 400 examples/minigpt_block.py --allow-tf32
            collect minigpt_tf32.json minigpt_tf32
            ;;
        llama)
            twice llama_sdpa 300 examples/llama_layer.py --dtype bf16
            collect llama_sdpa.json llama_sdpa_cold llama_sdpa_again
            replays llama_sdpa_cold examples/llama_layer.py bf16
            ;;
        llama_other)
            LLAMA_ATTENTION=eager retune='' optimize llama_eager 250 examples/llama_layer.py --dtype bf16
            LLAMA_BATCH=1 retune='' optimize llama_one 250 examples/llama_layer.py --dtype bf16
            collect llama.json llama_eager llama_one
            ;;
        gpt2)
            twice gpt2 300 examples/gpt2.py --dtype bf16
            collect --never-slower gpt2.json gpt2_cold gpt2_again
            replays gpt2_cold examples/gpt2.py bf16
            ;;
        llama_model) # 16 GB of weights: they stay where they are made
            twice llama_model 440 examples/llama_model.py --without-weights
            collect --never-slower llama_model.json llama_model_cold llama_model_again
            ;;
        encoder)
            twice encoder 200 examples/encoder_block.py --dtype bf16
            ENCODER_ATTENTION=sdpa optimize encoder_sdpa 200 examples/encoder_block.py --dtype bf16
            collect --never-slower encoder.json encoder_cold encoder_again encoder_sdpa
            ;;
        mixed)
            twice mixed 200 examples/mixed.py --dtype bf16
            optimize mixed_f32 200 examples/mixed.py
            collect --never-slower mixed.json mixed_cold mixed_again mixed_f32
            ;;
        examples)
            FACT_COMMAND="tests/gpu/run.sh OUT examples" "${FACT_PYTHON:-python3}" \
                "$root/bench/examples.py" "$out" || ((++failures))
            ;;
        calibrate)
            note "calibrate"
            timeout -k 10 300 "$root/fact" calibrate -o "$out/calibration.json" \
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
            FACT_COMMAND="tests/gpu/run.sh OUT faults" "${FACT_PYTHON:-python3}" \
                tests/gpu/faults/check.py "$out/faults.json" "$work/faults_bf16" "$work/faults_f32" ||
                ((++failures))
            ;;
    esac
done
"$root/fact" registry export "$out/registry.jsonl" >/dev/null 2>&1 # one file to carry home
note "$failures failed"
exit "$((failures > 0))"
