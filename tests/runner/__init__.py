"""The implementation of ./tests/run.

main      command line, steps with their order, summary
steps     runs steps concurrently, each with its own log and times
rust      format, lints, build, licences, benchmarks
tools     programs that the tests need, built or fetched once into the cache
needs     requirements of tests that a machine may not meet
libtest   runs test binaries with Rust's own test harness and collects the results
again     runs each failed test once more, alone
flaky     the flaky tests of past runs
revision  the commit, and the exact state of the tree
workspace packages and targets of the cargo workspace
tests     unit tests of all this
"""
