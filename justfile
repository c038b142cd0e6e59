# `just` shows what there is. Nothing here is needed to build or to test.

default:
    @just --list

# run the sample world on 127.0.0.1:8080
sample:
    cargo run --release -- serve --sample

# everything that must hold (--full searches longer)
test *arguments:
    ./tests/run {{ arguments }}

# rewrite what is generated from the code: api/openapi.json, crds/manifests, tables in docs/, the README's answer
generate:
    UPDATE_GENERATED=1 cargo test -p assay-tests -- --test-threads=1 generated worked readme
    UPDATE_GENERATED=1 cargo test -p assay-crds

# generated cases against the API as it describes itself, 2000 or as many as given
schemathesis *cases:
    cargo build && ./tests/schemathesis.sh {{ cases }}

# seconds and peak memory of importing a real list
bench-import:
    cargo bench -p assay-tests --bench import

# memory and seconds of half a million labels; rows a second and memory of screening a million rows
bench-screen:
    cargo bench -p assay-tests --bench screen
