#!/usr/bin/env bash
# The mutation score (docs/mutation.md): plants faults in the functions of the operators (all that are implemented
# unless some are named) and counts those that a run detects. Options are passed to diopi_mutation (--help lists them).
# Exit code 1 below 99%.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh --tests >&2
scripts/build.sh release diopi_mutation >&2
exec build/release/bin/diopi_mutation "$@"
