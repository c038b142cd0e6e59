//! Tests of blocks and addresses from real answers of nodes and explorers, of files of transfers, and of the trace header
//! of requests.

mod esplora;
mod node_answers;
mod real_blocks;
mod trace_parent;
mod transfers;
