//! A writer's cache of rows, within a limit of bytes.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{BuildHasher, Hash, Hasher, RandomState},
};

/// Builds hashers with a secret seed for identifiers and scripts, which outsiders choose. These hashers are faster than
/// those of the standard library.
#[derive(Clone, Debug)]
pub struct KeyedState(u64);

impl Default for KeyedState {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0) | 1)
    }
}

impl BuildHasher for KeyedState {
    type Hasher = KeyedHasher;

    fn build_hasher(&self) -> KeyedHasher {
        KeyedHasher { state: self.0, secret: self.0 }
    }
}

/// A hasher that multiplies words and folds the products.
#[derive(Debug)]
pub struct KeyedHasher {
    state: u64,
    secret: u64,
}

impl KeyedHasher {
    #[inline]
    fn fold(&mut self, word: u64) {
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
        let product =
            u128::from(self.state ^ word).wrapping_mul(u128::from(MULTIPLIER ^ self.secret));
        let (low, high) = (product & u128::from(u64::MAX), product >> 64);
        self.state = u64::try_from(low ^ high).unwrap_or(0).wrapping_add(self.secret);
    }
}

impl Hasher for KeyedHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.state ^ (self.state >> 32)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.fold(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word.iter_mut().zip(rest).for_each(|(into, byte)| *into = *byte);
            self.fold(u64::from_le_bytes(word) ^ (rest.len() as u64) << 56);
        }
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.fold(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.fold(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.fold(number as u64);
    }
}

/// Values by key in two halves. When the younger half is full, the older half is emptied and the halves are swapped, so
/// that entries that were not used for long are dropped first.
#[derive(Debug)]
pub struct RowCache<K, V> {
    young: HashMap<K, V, KeyedState>,
    old: HashMap<K, V, KeyedState>,
    /// Largest number of entries of a half.
    most: usize,
}

impl<K: Eq + Hash, V> RowCache<K, V> {
    /// A cache of at most `bytes` bytes, where an entry takes `heap` bytes on the heap in addition to its own size.
    #[must_use]
    pub fn within(bytes: usize, heap: usize) -> Self {
        // A map is at least 7/16 full when it has grown, with a byte of its own an entry: 2.3 times
        // what its entries take.
        let entry = (size_of::<(K, V)>() + 1) * 7 / 3 + heap;
        Self {
            young: HashMap::default(),
            old: HashMap::default(),
            most: (bytes / entry / 2).max(1),
        }
    }

    /// The value of a key.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// Adds a value.
    pub fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.most && !self.young.contains_key(&key) {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        // An older value may stay behind this one: whatever is dropped from here drops it first.
        self.young.insert(key, value);
    }

    /// Removes the value of a key, and returns it.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let older = self.old.remove(key);
        self.young.remove(key).or(older)
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entries_are_evicted() {
        let mut cache: RowCache<u64, u64> = RowCache::within(4 * 2 * 40, 0);
        assert_eq!(cache.most, 4);
        for key in 0..8 {
            cache.insert(key, key);
        }
        assert_eq!(cache.get(&0), Some(&0));
        cache.insert(0, 100);
        assert_eq!((cache.get(&0), cache.get(&1), cache.get(&7)), (Some(&100), None, Some(&7)));
        cache.insert(7, 200);
        assert_eq!(cache.get(&7), Some(&200), "never an older value");
        assert_eq!((cache.remove(&7), cache.get(&7)), (Some(200), None));
        for key in 0..1000 {
            cache.insert(key, key);
            assert!(cache.young.len() <= 4 && cache.old.len() <= 4);
        }
    }
}
