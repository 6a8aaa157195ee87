#!/usr/bin/env bash
# Builds the fuzzers and runs each for so long: fuzz/run.sh SECONDS [OUT]
# OUT (else .fact/fuzz) keeps what they found worth trying again, their logs, and inputs that crash:
# such an input belongs in fuzz/seeds once it is mended. Ends in 1 when there is one.
set -euo pipefail

(($# == 1 || $# == 2)) && [[ $1 =~ ^[1-9][0-9]*$ ]] || {
    sed -n '2,4s/^# //p' "$0" >&2
    exit 2
}
seconds=$1
root=$(dirname "$(dirname "$(readlink -f "$0")")")
out=$(readlink -m "${2:-$root/.fact/fuzz}")
build=$root/build/fuzz
compiler=clang++-19
mkdir -p "$root/build"

type -P "$compiler" >/dev/null || {
    echo "fuzz/run.sh: $compiler is missing: install clang-19 and libclang-rt-19-dev" >&2
    exit 2
}
cmake -G Ninja -S "$root" -B "$build" -DCMAKE_CXX_COMPILER="$compiler" -DFACT_FUZZ=ON \
    -DFACT_TORCH=OFF -DFACT_WERROR=OFF -DFACT_DEPS_DIR="${FACT_DEPS_DIR:-}" >"$build.log" 2>&1 &&
    ninja -C "$build" -j "$(nproc)" fuzzers >>"$build.log" 2>&1 || {
    cat "$build.log" >&2
    exit 2
}

# What a run starts from: the folder's own seeds, and what the tests hold already.
rm -rf "$out/seeds"
mkdir -p "$out/crashes" "$out/seeds"/{kernel_text,launch_record,pt2_archive,registry_record,graph_json,fused_call,manifest}
for file in "$root"/tests/dsl/golden/*.fact; do
    cp "$file" "$out/seeds/kernel_text/golden_$(basename "$file")"
done
for file in "$root"/tests/lower_*/golden/*.json; do
    folder=$(dirname "$(dirname "$file")")
    cp "$file" "$out/seeds/launch_record/$(basename "$folder")_$(basename "$file")"
done
cp "$root"/tests/graph/data/features.pt2 "$out/seeds/pt2_archive"
"$build/fuzz/pt2_seeds" "$out/seeds/pt2_archive" "$root"/tests/graph/data/*.pt2
cp -r "$root"/fuzz/seeds/. "$out/seeds"

number() { sed -n "s/^stat::$2: *//p" "$1" | tail -n 1; }

# run_fuzzer NAME LONGEST_INPUT DICTIONARY
run_fuzzer() {
    local name=$1 log=$out/$1.log started=$SECONDS found crash
    mkdir -p "$out/$name"
    if "$build/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len="$2" -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$out/crashes/$name-" \
        -dict="$root/fuzz/$3.dict" "$out/$name" "$out/seeds/$name" >"$log" 2>&1 </dev/null; then
        found="no crash"
    else
        crash=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
        found="crashed: ${crash:-see $log}"
        grep -E '^broken: |ERROR: |runtime error: |^    #[0-9] ' "$log" | head -n 20 >&2 || true
    fi
    printf '%s: %s executions in %d s, coverage %s, at most %s MB, %s\n' "$name" \
        "$(number "$log" number_of_executed_units)" "$((SECONDS - started))" \
        "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)" \
        "$(number "$log" peak_rss_mb)" "$found"
    [[ $found == "no crash" ]]
}

# Each keeps one core busy.
export -f number run_fuzzer
export root build out seconds
xargs -P "$(nproc)" -L 1 bash -c 'run_fuzzer "$@"' run_fuzzer <<'FUZZERS' || exit 1
kernel_text 4096 kernel_text
pt2_archive 65536 json
launch_record 8192 json
registry_record 8192 json
graph_json 16384 json
fused_call 16384 json
manifest 8192 json
FUZZERS
