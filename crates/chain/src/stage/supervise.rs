//! Tasks for a set of stages that changes.

use std::{collections::BTreeMap, time::Duration};

use tokio::{task::JoinHandle, time::interval};

/// A task that ends with its handle.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Keeps a task for each of what `wanted` returns, which is asked at every interval; it returns `None` if that is not
/// known now. A task whose value changed is replaced. All of them end when this is dropped.
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
