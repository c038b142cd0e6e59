"""What ./tests/run does.

main      the arguments, the steps and what comes after what, the summary
steps     runs steps beside one another, each with a log and its time
rust      format, one compilation for lints and tests, licences, benchmarks
tools     programs that the tests need, built or fetched once into the cache
needs     what a test may need that a machine may lack
libtest   runs tests by Rust's own test harness and collects their results
"""
