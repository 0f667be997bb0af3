#!/usr/bin/env bash
#SBATCH --job-name=diopi
#SBATCH --array=1-4
#SBATCH --cpus-per-task=1
#
# Runs diopi test as a Slurm job array, a shard per task, and merges the journals when every task has ended:
#
#     scripts/slurm_array.sh RUN [OPTION OF diopi test]...
#
# RUN is a folder that all nodes see. SBATCH_ARRAY_INX=1-16 makes sixteen shards; DIOPI names the program when it is
# not on the PATH. Prints the number of the job that merges; its report is RUN/report.txt.
set -euo pipefail

diopi=${DIOPI:-diopi}

if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
    run=$1
    shift
    # A shard that was requeued continues from its journal.
    resume=()
    [ ! -e "$run/shard_$SLURM_ARRAY_TASK_ID/journal.jsonl" ] || resume=(--resume)
    exec "$diopi" test --shard slurm --run "$run/shard_$SLURM_ARRAY_TASK_ID" \
        --csv "$run/shard_$SLURM_ARRAY_TASK_ID/error_report.csv" --jobs "${SLURM_CPUS_PER_TASK:-1}" \
        "${resume[@]}" --quiet "$@"
fi

[ $# -ge 1 ] || { echo "usage: scripts/slurm_array.sh RUN [OPTION OF diopi test]..." >&2; exit 2; }
mkdir -p "$1"
run=$(realpath "$1")
shift
array=$(sbatch --parsable --output "$run/shard_%a.txt" "$0" "$run" "$@")
# afterany: a shard with failures ends with exit code 1, and its results still count.
printf -v merge '%q ' "$diopi" report merge "$run" --into "$run/whole" --csv "$run/error_report.csv"
sbatch --parsable --dependency "afterany:$array" --job-name diopi-merge --output "$run/report.txt" --wrap "$merge"
