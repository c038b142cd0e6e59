"""The implementation of ./tests/run.

main       command line, and the kinds of runs that it asks for
run        the steps of each kind of run
parts      the parts of --full, and which of them passed
selection  some tests and what they need, from words or a part
sources    finds tests in the sources, without compiling
workspace  packages and targets of the cargo workspace
lanes      tests that run at the same time
steps      runs steps concurrently, each with its own log and times
rust       format, lints, build, licences, benchmarks
packages   Debian packages, and their installation
tools      programs that the tests need, built or fetched once into the cache
needs      requirements of tests that a machine may not meet
libtest    runs test binaries with Rust's own test harness and collects the results
again      runs each failed test once more, alone
flaky      the flaky tests of past runs
revision   the commit, and the exact state of the tree
report     the report of a run, and its last line
tests      unit tests of all this
"""
