#!/bin/bash
# Runs one MPI test program:   launch.sh [options] mpich|openmpi RANKS PROGRAM [ARGS...]
#
#   --memory-fs         scratch directory in /dev/shm, where there is one: for tests that sync hundreds of times
#   --fresh-fs SIZE     the scratch directory is an own tmpfs of SIZE (e.g. 2m), in a private mount namespace
#   --read-only-fs      the scratch directory is a read-only tmpfs that holds one file, "present"
#   --front LIBRARY     preload LIBRARY in front of Suiro (a PMPI profiler)
#   --no-preset         Suiro is preloaded, but SUIRO_PRESET stays unset: files are unrouted
#   --fails CODE TEXT   the run must end with exit code CODE (or `any` but 0) and print TEXT; else it is a failure
#   --never TEXT        the run must not print TEXT (with --fails)
#
# Environment
#   SUIRO_TEST_LIB      libsuiro.so to preload (set by CTest)
#   SUIRO_TEST_BIN      directory with yield.so (set by CTest)
#   SUIRO_TEST_PRESET   preset under test, default direct
#   SUIRO_TEST_NATIVE=1 preload nothing: try the test on the MPI's own MPI-IO
#   SUIRO_TEST_ASAN     sanitizer run-time to preload first
#   SUIRO_TEST_SEED, SUIRO_TEST_ROUNDS, SUIRO_TEST_ONLY_ROUND, SUIRO_TEST_TIMEOUT   read by the programs, see test.h
#
# The scratch directory must be empty after a run that passed: a lock file or side file left there is a failure.
set -u

if [ "${1:-}" = --inside-namespace ]; then  # second stage: we are root of a private mount namespace
  kind=$2 directory=$3; shift 3
  case $kind in
    ro) mount -t tmpfs -o size=1m tmpfs "$directory" && printf 'read only' >"$directory/present" &&
          mount -o remount,ro "$directory" ;;
    *) mount -t tmpfs -o size="$kind" tmpfs "$directory" ;;
  esac || { echo "SKIPPED: mounting a tmpfs is not permitted here"; exit 77; }
  "$@"
  code=$?
  # the left-over check has to happen here: the mount vanishes with the namespace
  if [ "$code" = 0 ] && [ "$kind" != ro ] && [ -n "$(ls -A "$directory")" ]; then
    echo "FAILED: left behind in the scratch directory: $(ls -A "$directory" | tr '\n' ' ')"; exit 1
  fi
  exit "$code"
fi

base=${TMPDIR:-/tmp}
mount_kind= front= preset=1 want_code= want_text= never=
while [ $# -gt 0 ]; do
  case $1 in
    --memory-fs) [ ! -w /dev/shm ] || base=/dev/shm; shift ;;
    --fresh-fs) mount_kind=$2; shift 2 ;;
    --read-only-fs) mount_kind=ro; shift ;;
    --front) front=$2; shift 2 ;;
    --no-preset) preset=; shift ;;
    --fails) want_code=$2 want_text=$3; shift 3 ;;
    --never) never=$2; shift 2 ;;
    --*) echo "launch.sh: unknown option $1" >&2; exit 2 ;;
    *) break ;;
  esac
done
[ $# -ge 3 ] || { sed -n '2,12p' "$0" >&2; exit 2; }
mpi=$1 ranks=$2; shift 2

scratch=$(mktemp -d "$base/suiro-test.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
export SUIRO_TEST_DIR=$scratch/files TMPDIR=$scratch/tmp
mkdir "$SUIRO_TEST_DIR" "$TMPDIR"

case $mpi in
  mpich) launcher=(mpiexec.mpich -n "$ranks") ;;
  openmpi)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_btl_vader_single_copy_mechanism=none
    launcher=(mpiexec.openmpi --oversubscribe -n "$ranks") ;;
  *) echo "launch.sh: unknown MPI $mpi" >&2; exit 2 ;;
esac

preload=
if [ "$mpi" = mpich ]; then preload=$SUIRO_TEST_BIN/yield.so; fi
if [ "${SUIRO_TEST_NATIVE:-}" != 1 ]; then
  [ -r "${SUIRO_TEST_LIB:-}" ] || { echo "launch.sh: SUIRO_TEST_LIB does not name libsuiro.so" >&2; exit 2; }
  preload=$SUIRO_TEST_LIB${preload:+:$preload}
  if [ -n "$preset" ]; then export SUIRO_PRESET=${SUIRO_TEST_PRESET:-direct}; fi
fi
[ -z "$front" ] || preload=$front${preload:+:$preload}
if [ -n "${SUIRO_TEST_ASAN:-}" ]; then
  preload=$SUIRO_TEST_ASAN${preload:+:$preload}
  # The MPIs leak, and libgfortran gives strndup strings that end with their length only.
  export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0:strict_string_checks=0 UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}
fi
# The whole launch runs under the preload, as a user would do it: the library must load harmlessly into mpiexec too.
command=(env ${preload:+LD_PRELOAD="$preload"} "${launcher[@]}" "$@")

if [ -n "$mount_kind" ]; then
  unshare=(unshare --mount)
  [ "$(id -u)" = 0 ] || unshare=(unshare --user --map-root-user --mount)
  if ! "${unshare[@]}" true 2>/dev/null; then echo "SKIPPED: no private mount namespace here"; exit 77; fi
  command=("${unshare[@]}" "$0" --inside-namespace "$mount_kind" "$SUIRO_TEST_DIR" "${command[@]}")
fi

output=$scratch/output
"${command[@]}" </dev/null 2>&1 | tee "$output"
code=${PIPESTATUS[0]}

if [ -n "$want_code" ]; then
  if [ "$want_code" = any ]; then [ "$code" != 0 ] && [ "$code" != 99 ]; else [ "$code" = "$want_code" ]; fi ||
    { echo "FAILED: exit code $code, want $want_code"; exit 1; }
  grep -qF -- "$want_text" "$output" || { echo "FAILED: \"$want_text\" was not printed"; exit 1; }
  if [ -n "$never" ] && grep -qF -- "$never" "$output"; then echo "FAILED: \"$never\" was printed"; exit 1; fi
  echo "failed as it must: exit code $code"
  exit 0
fi
[ "$code" = 0 ] || exit "$code"
if [ -n "$(ls -A "$SUIRO_TEST_DIR")" ]; then
  echo "FAILED: left behind in the scratch directory: $(ls -A "$SUIRO_TEST_DIR" | tr '\n' ' ')"
  exit 1
fi
