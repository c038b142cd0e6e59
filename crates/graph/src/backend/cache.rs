//! A writer's cache of rows, within a limit of bytes.

use std::{borrow::Borrow, collections::HashMap, hash::Hash};

/// Values by key in two halves. When the younger half is full, the older one is emptied and the two
/// are swapped, so that entries that were not used for long are dropped first.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    /// Entries of a half.
    most: usize,
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// A cache of at most `bytes`, where an entry takes `heap` bytes beside itself.
    pub(crate) fn within(bytes: usize, heap: usize) -> Self {
        // A map is at least 7/16 full when it has grown, with a byte of its own an entry: 2.3 times
        // what its entries take.
        let entry = (size_of::<(K, V)>() + 1) * 7 / 3 + heap;
        Self { young: HashMap::new(), old: HashMap::new(), most: (bytes / entry / 2).max(1) }
    }

    pub(crate) fn get_ref<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.get_ref(key).cloned()
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.most && !self.young.contains_key(&key) {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    pub(crate) fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.young.remove(key);
        self.old.remove(key);
    }

    pub(crate) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entries_are_evicted() {
        let mut cache: Cache<u64, u64> = Cache::within(4 * 2 * 40, 0);
        assert_eq!(cache.most, 4);
        for key in 0..8 {
            cache.insert(key, key);
        }
        assert_eq!(cache.get(&0), Some(0));
        cache.insert(0, 100);
        assert_eq!((cache.get(&0), cache.get(&1), cache.get(&7)), (Some(100), None, Some(7)));
        cache.insert(7, 200);
        assert_eq!(cache.get(&7), Some(200), "never an older value");
        cache.remove(&7);
        assert_eq!(cache.get(&7), None);
        for key in 0..1000 {
            cache.insert(key, key);
            assert!(cache.young.len() <= 4 && cache.old.len() <= 4);
        }
    }
}
