//! SHA-256 states over the beginnings of a base, so that hashing a thousand images of one base hashes the base only once.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use sha2::digest::common::hazmat::{SerializableState as _, SerializedState};
use sha2::{Digest as _, Sha256};

use crate::digest::Digest;
use crate::source::Source;

/// The distance between the kept states. A state has about 112 bytes, so they take a ten-thousandth of the base's size.
pub(super) const CHUNK: usize = 1 << 20;

/// How many states are kept beside those. Images of one base have their first patches at few different places.
const MAX_BETWEEN: usize = 16;

/// What stored states begin with.
const MAGIC: &[u8] = b"dayone SHA-256 states 1\n";

/// Why stored states cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PrefixStatesError {
    /// They are cut off, were changed, or have another format.
    #[error("not stored SHA-256 states, or damaged ones")]
    Damaged,
    /// They belong to a base with other bytes.
    #[error("the stored SHA-256 states are those of another base")]
    OtherBase,
}

/// The hash states of a base after each mebibyte, and where images had their first patches, as far as they were needed. They
/// belong to one base; with another base they give wrong digests.
#[derive(Debug, Default)]
pub struct PrefixStates(Mutex<States>);

#[derive(Debug, Default)]
struct States {
    /// `each[i]` has absorbed `(i + 1) * CHUNK` bytes.
    each: Vec<Sha256>,
    /// Others, by how many bytes they have absorbed.
    between: BTreeMap<u64, Sha256>,
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

    /// The states in a form that can be stored, for a base with this digest: a name of the format, the digest, for each state the number of
    /// absorbed bytes (little-endian) and the state as crate `sha2` serializes it, and the SHA-256 of all that.
    pub fn to_bytes(&self, base: &Digest) -> Vec<u8> {
        let states = self.lock();
        let mut bytes = [MAGIC, base.as_bytes()].concat();
        for (absorbed, state) in states.all() {
            bytes.extend(absorbed.to_le_bytes());
            bytes.extend(state.serialize());
        }
        bytes.extend(Digest::of(&bytes).as_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written for a base with this digest.
    pub fn from_bytes(bytes: &[u8], base: &Digest) -> Result<Self, PrefixStatesError> {
        use PrefixStatesError::{Damaged, OtherBase};
        let (content, sum) = bytes.split_last_chunk::<32>().ok_or(Damaged)?;
        if Digest::of(content).as_bytes() != sum {
            return Err(Damaged);
        }
        let content = content.strip_prefix(MAGIC).ok_or(Damaged)?;
        let (digest, mut rest) = content.split_first_chunk::<32>().ok_or(Damaged)?;
        if digest != base.as_bytes() {
            return Err(OtherBase);
        }
        let mut states = States::default();
        while !rest.is_empty() {
            let (absorbed, behind) = rest.split_first_chunk::<8>().ok_or(Damaged)?;
            let (state, behind) = behind.split_at_checked(size_of::<SerializedState<Sha256>>()).ok_or(Damaged)?;
            let state = SerializedState::<Sha256>::try_from(state).map_err(|_| Damaged)?;
            let state = Sha256::deserialize(&state).map_err(|_| Damaged)?;
            states.keep(&state, u64::from_le_bytes(*absorbed));
            rest = behind;
        }
        Ok(Self(Mutex::new(states)))
    }

    /// A hasher that has absorbed the first `length` bytes of the base.
    pub(super) fn hash(&self, base: &dyn Source, length: u64) -> io::Result<Sha256> {
        let (mut position, mut hasher) = self.lock().nearest(length);
        let mut buffer = if position < length { vec![0; CHUNK] } else { Vec::new() };
        while position < length {
            let boundary = (position / CHUNK as u64 + 1) * CHUNK as u64;
            let count = usize::try_from(boundary.min(length) - position).unwrap_or(CHUNK);
            if let Some(part) = buffer.get_mut(..count) {
                base.read_exact_at(position, part)?;
                hasher.update(part);
            }
            position += count as u64;
            self.lock().keep(&hasher, position);
        }
        Ok(hasher)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, States> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl States {
    /// The state that has absorbed the most bytes up to `length`, behind their number.
    fn nearest(&self, length: u64) -> (u64, Sha256) {
        let known = usize::try_from(length / CHUNK as u64).unwrap_or(usize::MAX).min(self.each.len());
        let each =
            known.checked_sub(1).and_then(|last| self.each.get(last)).map(|state| (known as u64 * CHUNK as u64, state));
        let between = self.between.range(..=length).next_back().map(|(absorbed, state)| (*absorbed, state));
        let nearest = each.into_iter().chain(between).max_by_key(|(absorbed, _)| *absorbed);
        nearest.map_or_else(|| (0, Sha256::new()), |(absorbed, state)| (absorbed, state.clone()))
    }

    /// Several threads may hash the same part at once. The first one that reaches a position keeps its state.
    fn keep(&mut self, hasher: &Sha256, position: u64) {
        if position == (self.each.len() as u64 + 1) * CHUNK as u64 {
            self.each.push(hasher.clone());
        } else if !position.is_multiple_of(CHUNK as u64) && self.between.len() < MAX_BETWEEN {
            self.between.entry(position).or_insert_with(|| hasher.clone());
        }
    }

    fn all(&self) -> impl Iterator<Item = (u64, &Sha256)> {
        let each = self.each.iter().zip(1..).map(|(state, number)| (number * CHUNK as u64, state));
        each.chain(self.between.iter().map(|(absorbed, state)| (*absorbed, state)))
    }
}
