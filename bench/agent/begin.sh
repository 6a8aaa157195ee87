# The common beginning of bench/agent/run.sh and papers.sh, sourced with their arguments: OUT
# [NAME...]. Sets root, out, work, logs, limit and what bench/lib.sh asks for.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
script=bench/agent/$(basename "$0")
out=${1:?usage: $script OUT [NAME...]}
shift
mkdir -p "$out/transcripts" || exit 2
out=$(cd "$out" && pwd)
work=${FACT_BENCH_WORK:-$out/work}
logs=$work/logs
limit=${FACT_BENCH_LIMIT:-150} # seconds a run
mkdir -p "$logs"
failures=0
retune=''
command="$script OUT"
export FACT_CACHE_DIR=${FACT_CACHE_DIR:-$work/cache}
export PYTHONPATH=$root/python${PYTHONPATH:+:$PYTHONPATH}
source "$root/bench/lib.sh"
cd "$root" || exit 2
note "building"
timeout -k 10 500 "$fact" version || exit 1

# end TABLE FILE NAME...: collects all reports, counts the runs that have not ended as failures, and
# prints the table.
end() {
    local table=$1 file=$2 name
    shift 2
    wait
    collect --quiet "$file" "$@"
    for name in "$@"; do [[ -f $work/$name/report.json ]] || ((++failures)); done
    "$python" "$root/bench/agent/$table" "$out/$file" || ((++failures))
    note "$failures failed"
    exit "$((failures > 0))"
}
