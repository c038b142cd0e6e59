"""The implementation of ./tests/run.

main      command line, steps with their order, summary
steps     runs steps concurrently, each with its own log and times
rust      format, lints, build, licences, benchmarks
tools     programs that the tests need, built or fetched once into the cache
needs     requirements of tests that a machine may not meet
libtest   runs test binaries with Rust's own test harness and collects the results
"""
