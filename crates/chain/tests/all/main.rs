//! Blocks and addresses read from real answers of nodes and explorers, and who is named in requests.

mod esplora;
mod node_answers;
mod real_blocks;
mod trace_parent;
