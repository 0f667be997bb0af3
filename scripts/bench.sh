#!/usr/bin/env bash
# Builds release, runs the benchmarks and times the whole program, then prints each figure beside its goal.
#
#     scripts/bench.sh [--build] [--build-dir DIR] [options of diopi_bench]
#
# --build       also times a clean build of everything
# --build-dir   folder of the release build (build/release)
# Other options go to diopi_bench, for instance --benchmark_filter=conv2d.
set -euo pipefail
export LC_ALL=C

source_folder=$(cd "$(dirname "$0")/.." && pwd)
build=$source_folder/build/release
clean_build=no
while [[ $# -gt 0 ]]; do
    case $1 in
        --build) clean_build=yes ;;
        --build-dir) build=${2:?--build-dir needs a folder}; shift ;;
        --benchmark_*) break ;;
        *) echo "bench.sh: unknown option $1; there are --build, --build-dir DIR and those of diopi_bench" >&2; exit 2 ;;
    esac
    shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
processes=$work/processes.tsv
: > "$processes"

seconds_since() { awk -v now="$EPOCHREALTIME" -v start="$1" 'BEGIN { printf "%.3f\n", now - start }'; }

# time_program NAME GOAL ARGUMENT...: the median of 7 runs of diopi, each in a new folder.
time_program() {
    local name=$1 goal=$2 run start status worst=0
    shift 2
    for run in 1 2 3 4 5 6 7; do
        mkdir "$work/run"
        start=$EPOCHREALTIME
        status=0
        (cd "$work/run" && exec "$build/bin/diopi" "$@" > /dev/null 2>&1) || status=$?
        seconds_since "$start" >> "$work/times"
        [[ $status -le $worst ]] || worst=$status
        rm -r "$work/run"
    done
    printf '%s\t%s\t%s\t%s\n' "$name" "$(sort -n "$work/times" | sed -n 4p)" "$goal" "$worst" >> "$processes"
    rm "$work/times"
}

configure() { cmake -S "$source_folder" -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release; }

configure "$build" > /dev/null
build=$(cd "$build" && pwd)
cmake --build "$build" --target diopi diopi_bench
echo "load average before: $(cut -d' ' -f1-3 /proc/loadavg)"
"$build/bin/diopi_bench" --benchmark_out="$work/benchmarks.json" --benchmark_out_format=json "$@"
time_program "diopi test --fname add --level 1" 0.4 test --fname add --level 1
time_program "diopi test --fname add" 1 test --fname add
time_program "diopi test --model resnet50" 3 test --model resnet50
if [[ $clean_build == yes ]]; then
    start=$EPOCHREALTIME
    configure "$work/build" > /dev/null
    cmake --build "$work/build" > /dev/null
    printf 'clean build\t%s\t480\t0\n' "$(seconds_since "$start")" >> "$processes"
fi
echo "load average after: $(cut -d' ' -f1-3 /proc/loadavg)"
echo
python3 "$source_folder/benchmarks/summary.py" "$work/benchmarks.json" "$processes"
