//! SHA-256 states over the beginnings of a base, so that hashing a thousand images of one base hashes the base only once.

use std::io;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::digest::Digest;
use crate::source::Source;

/// The distance between the kept states. A state has about 112 bytes, so they take a ten-thousandth of the base's size.
pub(super) const CHUNK: usize = 1 << 20;

/// The hash states of a base after each mebibyte, as far as they were needed. They belong to one base; with another base
/// they give wrong digests.
#[derive(Debug, Default)]
pub struct PrefixStates {
    /// `states[i]` has absorbed `(i + 1) * CHUNK` bytes.
    states: Mutex<Vec<Sha256>>,
}

impl PrefixStates {
    /// No states yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The SHA-256 of the whole base.
    pub fn digest(&self, base: &dyn Source) -> io::Result<Digest> {
        self.hash(base, base.size()).map(Digest::finish)
    }

    /// A hasher that has absorbed the first `length` bytes of the base.
    pub(super) fn hash(&self, base: &dyn Source, length: u64) -> io::Result<Sha256> {
        let chunk = CHUNK as u64;
        let (mut hasher, mut position) = {
            let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
            let known = usize::try_from(length / chunk).unwrap_or(usize::MAX).min(states.len());
            let state = known.checked_sub(1).and_then(|last| states.get(last)).cloned();
            (state.unwrap_or_default(), known as u64 * chunk)
        };
        let mut buffer = vec![0; CHUNK];
        while position < length {
            let count = usize::try_from(length - position).unwrap_or(CHUNK).min(CHUNK);
            if let Some(part) = buffer.get_mut(..count) {
                base.read_exact_at(position, part)?;
                hasher.update(part);
            }
            position += count as u64;
            self.keep(&hasher, position);
        }
        Ok(hasher)
    }

    /// Several threads may hash the same part at once. The first one that reaches a boundary keeps its state.
    fn keep(&self, hasher: &Sha256, position: u64) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if position == (states.len() as u64 + 1) * CHUNK as u64 {
            states.push(hasher.clone());
        }
    }
}
