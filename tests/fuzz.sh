#!/usr/bin/env bash
# Fuzzing: ./tests/fuzz.sh [--seconds N | --runs N] [TARGET...]
#
# Builds the targets and runs those that are named, or all: for N seconds each (8 where left out), or with
# N executions in all, spread evenly. `--runs 10000000 key body head limiter_answer` is what a change to
# what callers and banks may send must pass. What is found stays in the target folder: inputs that reach
# new code in fuzz/corpus, those that fail in fuzz/artifacts; the next run begins with them.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  echo "usage: ./tests/fuzz.sh [--seconds N | --runs N] [TARGET...]" >&2
  exit 2
}

seconds=8
runs=
case "${1:-}" in
  --seconds) seconds="${2:-}"; [[ "$seconds" =~ ^[1-9][0-9]*$ ]] || usage; shift 2 ;;
  --runs) runs="${2:-}"; [[ "$runs" =~ ^[1-9][0-9]*$ ]] || usage; shift 2 ;;
  -*) usage ;;
esac
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in tests/fuzz/src/bin/*.rs; do targets+=("$(basename "$source" .rs)"); done
fi
for name in "${targets[@]}"; do
  [ -f "tests/fuzz/src/bin/$name.rs" ] || { echo "there is no target $name in tests/fuzz/src/bin" >&2; exit 2; }
done

target=$(cargo metadata --format-version 1 --no-deps --offline | python3 -c \
  'import json, sys; print(json.load(sys.stdin)["target_directory"])')
folder="$target/fuzz"
RUSTC_WORKSPACE_WRAPPER="$PWD/tests/fuzz/instrumented" \
  cargo build --quiet --profile fuzz --package assay-fuzz --features libfuzzer

bound=(-max_total_time="$seconds")
each="$seconds s"
if [ -n "$runs" ]; then
  share=$(((runs + ${#targets[@]} - 1) / ${#targets[@]}))
  bound=(-runs="$share")
  each="$share executions"
fi
all=0
for name in "${targets[@]}"; do
  mkdir -p "$folder/corpus/$name" "$folder/artifacts"
  if [ -d "tests/fuzz/seeds/$name" ]; then
    cp -n "tests/fuzz/seeds/$name"/* "$folder/corpus/$name/"
  fi
  echo "-- $name, $each"
  if ! "$folder/$name" "${bound[@]}" -max_len=8192 -timeout=5 -rss_limit_mb=1024 \
    -artifact_prefix="$folder/artifacts/$name-" "$folder/corpus/$name" >"$folder/$name.log" 2>&1; then
    tail -n 40 "$folder/$name.log"
    echo "fuzzing: FAILED at $name; the input is in $folder/artifacts" >&2
    exit 1
  fi
  tail -n 1 "$folder/$name.log"
  count=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$folder/$name.log" | tail -n 1)
  all=$((all + count))
done
echo "fuzzing: $all executions, 0 failures"
