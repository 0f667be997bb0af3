#!/usr/bin/env bash
# Demonstrates slurm_array.sh on this machine: a Slurm of one node, in a temporary folder, from Debian's slurm-wlm and
# munge (installed when they are missing; root only). Runs the cases of add, or those that the arguments select, and
# prints the merged summary. It removes all its daemons and files at the end.
#
#     scripts/slurm_demo.sh [OPTION OF diopi test]...
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" -eq 0 ] || { echo "slurm_demo.sh starts Slurm's daemons and must run as root" >&2; exit 2; }
[ $# -gt 0 ] || set -- --fname add
export DIOPI=${DIOPI:-$PWD/build/release/bin/diopi}
[ -x "$DIOPI" ] || { echo "there is no program at $DIOPI; run scripts/build.sh release first" >&2; exit 2; }

if ! command -v slurmctld slurmd sbatch munged >/dev/null; then
    echo "installing: slurm-wlm munge"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/diopi_slurm_XXXXXX")
daemons=()

stop() {
    local code=$?
    trap - EXIT INT TERM
    if [ $code -ne 0 ]; then
        tail -n 20 "$folder"/*.log "$folder"/run/*.txt >&2 2>/dev/null || true
    fi
    # A task outlives the daemons: it must end before they do.
    if [ -n "${SLURM_CONF:-}" ]; then
        scancel --user root 2>/dev/null || true
        for _ in $(seq 50); do
            [ -n "$(squeue --noheader 2>/dev/null)" ] || break
            sleep 0.2
        done
    fi
    for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
    exit $code
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Munge refuses folders that others may write to; only root can enter this one.
chmod 755 "$folder"
dd if=/dev/urandom of="$folder/munge.key" bs=1024 count=1 status=none
chmod 400 "$folder/munge.key"
munged --foreground --force --key-file "$folder/munge.key" --socket "$folder/munge.socket" \
    --pid-file "$folder/munge.pid" --seed-file "$folder/munge.seed" --log-file "$folder/munge.log" \
    2>"$folder/munged.log" &
daemons+=($!)

host=$(hostname -s)
cat >"$folder/slurm.conf" <<CONF
ClusterName=demo
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SchedulerParameters=sched_interval=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=demo Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
mkdir "$folder/state" "$folder/spool"
export SLURM_CONF=$folder/slurm.conf

# up WHAT COMMAND...: waits until the command succeeds.
up() {
    local what=$1
    shift
    for _ in $(seq 100); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.2
    done
    echo "$what did not come up within 20 s" >&2
    exit 1
}

up munged test -S "$folder/munge.socket"
slurmctld -D -f "$SLURM_CONF" >"$folder/slurmctld.log" 2>&1 &
daemons+=($!)
up slurmctld sinfo
slurmd -D -f "$SLURM_CONF" >"$folder/slurmd.log" 2>&1 &
daemons+=($!)
up "slurmd's node" sh -c 'sinfo --noheader --format %T | grep -q idle'

start=$(date +%s%N)
job=$(scripts/slurm_array.sh "$folder/run" "$@")
deadline=$((SECONDS + 900))
while [ -n "$(squeue --noheader --jobs "$job" 2>/dev/null)" ]; do
    [ $SECONDS -lt $deadline ] || { echo "the jobs did not end within 900 s" >&2; exit 1; }
    sleep 0.2
done
end=$(date +%s%N)

sed -n '/^shard /p' "$folder"/run/shard_*.txt
[ -e "$folder/run/whole/journal.jsonl" ] || { echo "the journals were not merged" >&2; exit 1; }
grep -v ' written$' "$folder/run/report.txt"
tenths=$(((end - start) / 100000000))
echo "from submission to report: $((tenths / 10)).$((tenths % 10)) s"
"$DIOPI" report --run "$folder/run/whole" --csv "$folder/again.csv" --json >/dev/null
