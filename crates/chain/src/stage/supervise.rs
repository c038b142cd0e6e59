//! Supervision of tasks for a changing set of stages.

use std::{collections::BTreeMap, time::Duration};

use tokio::{task::JoinHandle, time::interval};

/// Task that is aborted when its handle is dropped.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs a task for each entry that `wanted` returns at every interval; `None` if the entries are not known now. A task
/// whose entry has a new value is replaced. Dropping this future aborts all tasks.
pub async fn supervise<K: Ord + Clone, V: PartialEq, L, T>(
    every: Duration,
    mut wanted: impl FnMut() -> L,
    mut start: impl FnMut(&K, &V) -> T,
) where
    L: Future<Output = Option<BTreeMap<K, V>>>,
    T: Future<Output = ()> + Send + 'static,
{
    let mut running: BTreeMap<K, (V, Task)> = BTreeMap::new();
    let mut ticks = interval(every);
    loop {
        ticks.tick().await;
        let Some(wanted) = wanted().await else { continue };
        running.retain(|key, (value, _)| wanted.get(key) == Some(value));
        for (key, value) in wanted {
            running.entry(key).or_insert_with_key(|key| {
                let task = Task(tokio::spawn(start(key, &value)));
                (value, task)
            });
        }
    }
}
