#!/usr/bin/env bash
# Schemathesis against the API as it describes itself: ./tests/schemathesis.sh [CASES | --install]
#
# Every check, generated cases right and wrong, and sequences of operations, at least CASES of them (2000
# where left out). It serves the sample world with ASSAY_BIN, or with what `cargo build` made. The tool
# lies in ASSAY_CACHE (default ~/.cache/assay), by version; --install only puts it there. ASSAY_SEED repeats
# a run.
set -euo pipefail
cd "$(dirname "$0")/.."

cases="${1:-2000}"
version=4.32.5
cache="${ASSAY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/assay}"
tool="$cache/schemathesis-$version"
target=$(cargo metadata --format-version 1 --no-deps --offline | python3 -c \
  'import json, sys; print(json.load(sys.stdin)["target_directory"])')
program="${ASSAY_BIN:-$target/debug/assay}"
seed="${ASSAY_SEED:-$RANDOM}"
here="$PWD/tests/schemathesis"

if [ ! -e "$tool/complete" ]; then
  rm -rf "$tool"
  python3 -m venv "$tool"
  "$tool/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version"
  touch "$tool/complete"
fi
[ "${1:-}" != --install ] || exit 0

work=$(mktemp -d)
: >"$work/greeting"
server=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# A plan without limits in the way: what is looked for is wrong answers, not refusals.
cat >"$work/plan.yaml" <<'END'
apiVersion: assay.dev/v1alpha1
kind: Plan
metadata: {name: enterprise}
spec:
  displayName: Enterprise
  apiAccess: true
  cacheLifetime: 5m
  retention: {checks: 1d, usage: 1d}
  maxScreenRows: 1000
  limits: [{name: burst, requests: 1000000, window: 1s, counts: requests}]
END
(
  cd "$work"
  exec env -i PATH="$PATH" "$program" serve --sample --data-dir data --listen 127.0.0.1:0 \
    --admin-listen 127.0.0.1:0 >greeting 2>log
) &
server=$!
for _ in $(seq 600); do
  grep -q "nothing known" "$work/greeting" && break
  kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.1
done
url=$(grep -o 'http://[0-9.:]*' "$work/greeting" | head -1)
key=$(awk '/sample-enterprise/ { print $2; exit }' "$work/greeting")
"$program" apply --sample --data-dir "$work/data" -f "$work/plan.yaml" >"$work/applied"

# Some operations have little to say and are through after a few cases: others get as many more, and many
# cases are made in rounds, each with a seed of its own.
each=$((cases / 12 + 1))
[ "$each" -le 500 ] || each=500
# Rounds take turns between both descriptions: clients of either find what it says.
# One worker: with several, Python 3.11 now and then fails inside the tool.
round() {
  local descriptions=(openapi.json openapi-3.0.json)
  PYTHONPATH="$here" SCHEMATHESIS_HOOKS="$here/hooks.py" "$tool/bin/schemathesis" --no-color \
    --config-file "$here/schemathesis.toml" run "$url/${descriptions[seed % 2]}" --header "X-API-Key: $key" \
    --mode all --phases examples,coverage,fuzzing,stateful --max-examples "$each" --seed "$seed" \
    --workers 1 --continue-on-failure --suppress-health-check all >out 2>&1
}
cd "$work"
made=0
first=$seed
while [ "$made" -lt "$cases" ]; do
  status=0
  round || status=$?
  more=$(grep -oE '[0-9,]+ generated' out | tr -dc '0-9\n' | tail -1)
  if [ "$status" -ne 0 ] || [ "${more:-0}" -eq 0 ] || ! kill -0 "$server" ||
    grep -q "panicked" log; then
    cat out
    grep -v " INFO " log | tail -n 20 || true
    echo "schemathesis: FAILED; ASSAY_SEED=$seed repeats it"
    exit 1
  fi
  made=$((made + more))
  echo "-- $made of $cases cases"
  seed=$((seed + 1))
done
echo "schemathesis: $made cases, 0 failures (seeds $first to $((seed - 1)))"
