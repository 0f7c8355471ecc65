//! The canonical bytes of a form with files, taken apart again.
//!
//! Owns undoing the framing of the hash (`00`, or `01` with a length of 8 bytes and that many
//! bytes) as far as the command line shows it. Each part of such a form is six pieces.

/// What each piece of a part is, in their order.
pub(super) const PIECES: [&str; 6] = [
    "name",
    "file name",
    "file name*",
    "type",
    "coding",
    "content",
];

/// One part: its pieces.
pub(super) type Part<'a> = [Option<&'a [u8]>; 6];

/// Takes canonical bytes apart; nothing if they are no framed parts.
pub(super) fn parts(mut bytes: &[u8]) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let mut part: Part<'_> = [None; 6];
        for piece in &mut part {
            let (first, rest) = bytes.split_first()?;
            bytes = rest;
            match first {
                0 => {}
                1 => {
                    let (length, rest) = bytes.split_first_chunk::<8>()?;
                    let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
                    let (content, rest) = rest.split_at_checked(length)?;
                    (*piece, bytes) = (Some(content), rest);
                }
                _ => return None,
            }
        }
        parts.push(part);
    }
    Some(parts)
}
