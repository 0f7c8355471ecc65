//! Where canonical bytes go.
//!
//! Owns the framing of the hash: how parts are kept apart. It never decides what a part holds. It
//! is correct because a part is preceded by its presence and its length, so that no sequence of
//! parts can be read as another one, and an absent part differs from an empty one.

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
pub type Digest = [u8; 32];

/// Takes canonical bytes in order: a buffer that is shown, or a hash.
pub trait Sink {
    /// Takes the next bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Takes one part: `00` if it is absent, else `01`, its length (8 bytes, big-endian), itself.
    fn part(&mut self, part: Option<&[u8]>) {
        match part {
            None => self.put(&[0]),
            Some(bytes) => {
                self.put(&[1]);
                self.put(&length(bytes.len()));
                self.put(bytes);
            }
        }
    }
}

fn length(bytes: usize) -> [u8; 8] {
    u64::try_from(bytes).unwrap_or(u64::MAX).to_be_bytes()
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Collects small pieces, so that the hash runs over long stretches.
const STRETCH: usize = 4096;

/// A sink that hashes with SHA-256.
#[derive(Debug, Default)]
pub struct Hasher {
    hash: Sha256,
    held: Vec<u8>,
}

impl Hasher {
    /// The digest of everything that was put.
    #[must_use]
    pub fn finish(mut self) -> Digest {
        self.hash.update(&self.held);
        self.hash.finalize().into()
    }
}

impl Sink for Hasher {
    fn put(&mut self, bytes: &[u8]) {
        if self.held.len().saturating_add(bytes.len()) > STRETCH {
            self.hash.update(&self.held);
            self.held.clear();
        }
        if bytes.len() > STRETCH {
            self.hash.update(bytes);
        } else {
            self.held.extend_from_slice(bytes);
        }
    }
}

/// The digest of one stretch of bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(parts: &[Option<&[u8]>]) -> Vec<u8> {
        let mut out = Vec::new();
        parts.iter().for_each(|part| out.part(*part));
        out
    }

    #[test]
    fn no_two_lists_of_parts_are_framed_alike() {
        let lists: [&[Option<&[u8]>]; 7] = [
            &[],
            &[None],
            &[Some(b"")],
            &[Some(b"ab")],
            &[Some(b"a"), Some(b"b")],
            &[Some(b"ab"), None],
            &[None, Some(b"ab")],
        ];
        for (i, a) in lists.iter().enumerate() {
            for (j, b) in lists.iter().enumerate() {
                assert_eq!(framed(a) == framed(b), i == j, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn the_hash_does_not_depend_on_how_the_bytes_were_cut() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        for cut in [1, 7, 4095, 4096, 4097, 20_000] {
            let mut hasher = Hasher::default();
            bytes.chunks(cut).for_each(|piece| hasher.put(piece));
            assert_eq!(hasher.finish(), sha256(&bytes), "{cut}");
        }
    }
}
