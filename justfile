# `just` shows what there is. Nothing here is needed to build or to test.

default:
    @just --list

# serve the demo data set on 127.0.0.1:8080
sample:
    cargo run --release -- serve --sample

# every check and every test; with words only the tests whose names contain one, and what they need
test *arguments:
    ./tests/run {{ arguments }}

# format, names and sentences, lints and unit tests
check:
    ./tests/run --quick

# parts of what a release needs: those that are named, or all that have not passed for this commit (--list shows them)
full *parts:
    ./tests/run --full {{ parts }}

# tests of past runs that failed and passed alone, with their logs
flaky:
    ./tests/run --flaky

# rewrite what is generated from the code: api/openapi.json, crds/manifests, operator/tests/objects, tables and examples in docs/, the README's answer, the chart's copies and table
generate:
    UPDATE_GENERATED=1 cargo test -p assay-tests -- --test-threads=1 generated worked readme
    UPDATE_GENERATED=1 cargo test -p assay-crds -p assay-operator

# generated cases against the API as it describes itself, 2000 or as many as given
schemathesis *cases:
    cargo build && ./tests/schemathesis.sh {{ cases }}

# overload, kills and a restart of Redis for ten minutes, or as many seconds as given
soak seconds="600":
    cargo build --bins --package assay-cli
    ASSAY_SOAK_SECONDS={{ seconds }} cargo test -p assay-tests --test shared -- --include-ignored --nocapture soak::

# fuzzing: 8 seconds a target, or as told (--seconds N, --runs N, names of targets)
fuzz *arguments:
    ./tests/fuzz.sh {{ arguments }}

# measure the release program: account_ledgers, account_store, chain_ingest, clusters, engine_instructions, evasion, import, limits, screen, transfer_ingest, warm_check
bench name:
    cargo bench -p assay-tests --bench {{ name }}
