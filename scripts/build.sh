#!/usr/bin/env bash
# Installs the dependencies, configures and builds. Usage: scripts/build.sh [PRESET [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
scripts/install_dependencies.sh
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset"
cmake --build "build/$preset" ${1:+--target "$@"}
