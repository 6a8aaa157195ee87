#!/usr/bin/env bash
# Does a language of kernels help a model, and do bounds? On a GPU: bench/agent/papers.sh OUT [PROBLEM...]
#
# KernelBench problems (examples/chains.py, at their own sizes, in fp32) without any rule of ours. The
# same model answers three times, with the same budget of calls: it writes CUDA, the kernel language,
# or the language and is told what the bounds allow. Its answers are bench/agent/papers/ARM_PROBLEM.jsonl.
# OUT/papers.json has all reports, OUT/transcripts what was asked: questions that the recorded answers do
# not cover are there without an answer. Runs that are there already are kept; the last lines are tables.
set -uo pipefail

source "$(dirname "$0")/begin.sh"
export CHAINS_FULL=1

problems=("$@")
if ((!${#problems[@]})); then
    for transcript in "$root"/bench/agent/papers/cuda_*.jsonl; do
        problem=$(basename "$transcript" .jsonl)
        problems+=("${problem#cuda_}")
    done
fi
declare -A arms=([cuda]='--agent-writes cuda --agent-bounds off' [language]='--agent-bounds off' [bounds]='')

# ask ARM PROBLEM: with its own registry, since nothing that one arm measured may help another.
ask() {
    local name=$1_$2
    # shellcheck disable=SC2086
    FACT_REGISTRY=$work/registry-$name optimize "$name" "$limit" "examples.chains:$2" --training --no-bench \
        --effort quick --jobs 5 --agent-alone --agent-calls 8 ${arms[$1]} \
        --agent "replay:$root/bench/agent/papers/$name.jsonl"
    cp "$work/$name/agent/transcript.jsonl" "$out/transcripts/$name.jsonl" 2>/dev/null
}

names=()
for problem in "${problems[@]}"; do
    for arm in cuda language bounds; do
        [[ -f $root/bench/agent/papers/${arm}_$problem.jsonl ]] || {
            echo "there is no transcript bench/agent/papers/${arm}_$problem.jsonl" >&2
            exit 2
        }
        names+=("${arm}_$problem")
        [[ -f $work/${arm}_$problem/report.json ]] || beside 3 ask "$arm" "$problem"
    done
    collect --quiet papers.json "${names[@]}"
done
end papers.py papers.json "${names[@]}"
