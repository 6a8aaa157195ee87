#!/usr/bin/env bash
# Makes every number of the README again, on a GPU: bench/all.sh OUT [PART...]
#
#   part        at most   what
#   minigpt       240 s   the MiniGPT block in bf16 from an empty cache, and once more
#   fp32          240 s   the same in fp32, and with --allow-tf32
#   llama         420 s   a decoder layer of Llama 3 8B in bf16: torch's attention, written out, batch 1
#   llama_model   330 s   the 32 layers of Llama 3 8B in bf16
#   gpt2          180 s   the 12 layers of GPT-2 in bf16
#   encoder       150 s   a block of an encoder with a bias and a padding mask, written out
#   mixed         150 s   a block that FACT knows only in part
#   hf            240 s   a ViT and a small decoder of Hugging Face's, which run other code when captured
#   peers         300 s   the MiniGPT block beside torch.compile's max-autotune too
#   attention     240 s   attention kernels beside cuDNN's, many shapes
#   products      330 s   twelve products with bias, in bf16 and fp32
#   rows          200 s   norms and softmax beside torch's own and beside the memory's speed
#   range         100 s   what fp32 and TF32 products lose beside numbers that are very much larger
#   chains        240 s   chains of operators after a product, as KernelBench has them, in fp32
#   beyond        400 s   the modules of examples/beyond by rules alone: norms, losses, routers
#
# OUT gets one JSON a part, with date, commit, versions, GPU and command, as soon as there is
# something to write, and registry.jsonl with a record of every kernel that was tuned. A part is
# skipped if OUT has its complete JSON of this commit, so that the same command goes on where it was
# interrupted. With FACT_BENCH_SECONDS=570 no part is begun that might end later than that: it is
# left for the next call. The last lines are the tables that `bench/readme.py OUT README.md
# docs/*.md` puts into README and docs.
#
# Except in minigpt, schedules of the records in registry/ are tried first, and few others (--effort
# quick).
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: bench/all.sh OUT [PART...]}
shift
declare -A limits=([minigpt]=240 [fp32]=240 [llama]=420 [llama_model]=330 [gpt2]=180 [encoder]=150
    [mixed]=150 [hf]=240 [peers]=300 [attention]=240 [products]=330 [rows]=200 [range]=100 [chains]=240 [beyond]=400)
parts=("$@")
((${#parts[@]})) || parts=(minigpt fp32 llama gpt2 encoder mixed hf attention products rows range chains
    beyond peers llama_model)
for part in "${parts[@]}"; do
    [[ -n ${limits[$part]:-} ]] || {
        echo "unknown part '$part'; there are ${!limits[*]}" >&2
        exit 2
    }
done
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
work=${FACT_BENCH_WORK:-$(mktemp -d)}
logs=$work/logs
mkdir -p "$logs" "$work/registry"
failures=0
retune=''
export FACT_REGISTRY=$work/registry FACT_CACHE_DIR=${FACT_CACHE_DIR:-$work/cache}
export PYTHONPATH=$root/python${PYTHONPATH:+:$PYTHONPATH}
source "$root/bench/lib.sh"

# Seconds that the part has left.
left() {
    local seconds=$((deadline - SECONDS))
    echo $((seconds > 1 ? seconds : 1))
}

# runs FILE NAME...: writes those of the runs that have ended as the part's results. A composed
# module that is slower than eager is a failure.
runs() {
    local file=$1
    shift
    collect --quiet --never-slower "$file" "$@"
}

# script NAME FILE: a script of bench/ that writes results of its own.
script() {
    local name=$1 file=$2 status
    note "$name: bench/$file"
    FACT_COMMAND=$command timeout -k 10 "$(left)" "$python" "$root/bench/$file" "$work/$name.json" \
        >"$logs/$name.log" 2>&1
    status=$?
    if ((status)); then
        ((++failures))
        echo "FAILED with status $status:"
        tail -n 15 "$logs/$name.log"
        [[ ! -f $work/$name.json ]] || cp "$work/$name.json" "$out/$name.partial.json"
        return
    fi
    rm -f "$out/$name.partial.json"
    mv "$work/$name.json" "$out/$name.json"
}

quick() { # quick NAME SPEC ARGUMENTS...
    local name=$1
    shift
    optimize "$name" "$(left)" "$@" --effort quick
}

# twice NAME SPEC ARGUMENTS...: from an empty cache, and once more in a new run folder. Both share
# the part's time.
twice() {
    local name=$1 turn
    shift
    rm -rf "$work/cache-$name" "$work/${name}_cold" "$work/${name}_again"
    for turn in cold again; do
        FACT_CACHE_DIR=$work/cache-$name FACT_REGISTRY=$work/cache-$name/registry retune='' \
            TORCHINDUCTOR_CACHE_DIR=$work/cache-$name/inductor \
            optimize "${name}_$turn" "$(left)" "$@"
    done
    [[ ! -d $work/cache-$name/registry ]] || cp -r "$work/cache-$name/registry/." "$FACT_REGISTRY/"
}

# The results are written after every run of a part, and name the runs that are still missing.
part_minigpt() {
    twice minigpt examples/minigpt_block.py --dtype bf16
    runs minigpt.json minigpt_cold minigpt_again
}
part_fp32() {
    quick minigpt_f32 examples/minigpt_block.py
    runs fp32.json minigpt_f32 minigpt_tf32
    quick minigpt_tf32 examples/minigpt_block.py --allow-tf32
    runs fp32.json minigpt_f32 minigpt_tf32
}
part_llama() {
    quick llama_sdpa examples/llama_layer.py --dtype bf16
    runs llama.json llama_sdpa llama_eager llama_one
    LLAMA_ATTENTION=eager quick llama_eager examples/llama_layer.py --dtype bf16
    runs llama.json llama_sdpa llama_eager llama_one
    LLAMA_BATCH=1 quick llama_one examples/llama_layer.py --dtype bf16
    runs llama.json llama_sdpa llama_eager llama_one
}
part_llama_model() { # 16 GB of weights: the package gets no copy of them
    quick llama_model examples/llama_model.py --without-weights
    runs llama_model.json llama_model
}
part_gpt2() {
    quick gpt2 examples/gpt2.py --dtype bf16
    runs gpt2.json gpt2
}
part_encoder() {
    quick encoder examples/encoder_block.py --dtype bf16
    runs encoder.json encoder
}
part_mixed() {
    quick mixed examples/mixed.py --dtype bf16
    runs mixed.json mixed
}
part_hf() {
    quick vit examples/vit.py --dtype bf16
    runs hf.json vit qwen2
    quick qwen2 examples/qwen2.py --dtype bf16
    runs hf.json vit qwen2
}
part_peers() {
    quick peers examples/minigpt_block.py --dtype bf16 --no-bench
    note "peers: fact bench --peers all"
    timeout -k 10 "$(left)" "$fact" bench "$work/peers/package" --peers all --json "$work/peers/bench.json" \
        >"$logs/peers_bench.log" 2>&1 </dev/null || ((++failures))
    tail -n 12 "$logs/peers_bench.log"
    runs peers.json peers
}
part_attention() { script attention attention.py; }
part_products() {
    quick products_bf16 examples.products:anchors_nk --dtype bf16 --no-bench
    runs products.json products_bf16 products_f32
    quick products_f32 examples.products:anchors_nk --no-bench
    runs products.json products_bf16 products_f32
}
part_beyond() {
    local file names=()
    for file in examples/beyond/*.py; do
        names+=("beyond_$(basename "$file" .py)")
        beside 3 quick "${names[-1]}" "$file" --dtype bf16 --no-shipped-rules --jobs 5
    done
    wait
    runs beyond.json "${names[@]}"
}
part_rows() { script rows rows.py; }
part_range() { script range split_range.py; }
part_chains() {
    CHAINS_FULL=1 quick chains examples.chains:sample --training --no-bench
    runs chains.json chains
}

cd "$root" || exit 2
note "building"
timeout -k 10 500 "$fact" version || exit 1
waiting=()
for part in "${parts[@]}"; do
    if "$python" "$root/bench/collect.py" --current "$out/$part.json"; then
        note "$part: skipped, $part.json is of this commit"
        continue
    fi
    if ((SECONDS + limits[$part] > ${FACT_BENCH_SECONDS:-1000000})); then
        waiting+=("$part")
        continue
    fi
    note "$part"
    command="bench/all.sh OUT $part"
    deadline=$((SECONDS + limits[$part]))
    "part_$part"
done
"$fact" registry export "$out/registry.jsonl" >/dev/null 2>&1 # one file to carry home
((${#waiting[@]})) && echo "left for the next call: ${waiting[*]}"
"$python" "$root/bench/readme.py" "$out" || ((++failures))
note "$failures failed"
exit "$((failures > 0))"
