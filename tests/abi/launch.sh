#!/bin/bash
# launch.sh MPIEXEC RANKS LIBSUIRO PROGRAM [SANITIZER-RUNTIME]: runs PROGRAM with Suiro preloaded and every file routed
# `direct`, in a scratch directory that must be empty afterwards.
set -u
mpiexec=$1 ranks=$2 library=$3 program=$4 sanitizer=${5:-}
[ -x "$mpiexec" ] || { echo "SKIPPED: $mpiexec is not installed (tools/setup installs it)"; exit 77; }
[ -r "$library" ] || { echo "FAILED: no $library"; exit 1; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/suiro-abi.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/files"
# Ranks that wait by blocking instead of spinning: two of them on two busy cores.
export MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0:strict_string_checks=0
cd "$scratch/files" || exit 2
timeout 100 env SUIRO_PRESET=direct LD_PRELOAD="${sanitizer:+$sanitizer:}$library" "$mpiexec" -n "$ranks" "$program" </dev/null
code=$?
[ "$code" = 0 ] || { echo "FAILED: exit code $code"; exit 1; }
left=$(ls -A "$scratch/files")
[ -z "$left" ] || { echo "FAILED: left behind: $left"; exit 1; }
