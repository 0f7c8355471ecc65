//! Content codings: gzip and deflate, undone within bounds.
//!
//! Owns the reading of `Content-Encoding` and of the two containers, with their checksums. It
//! never holds more than the bound allows: a body that grows past it is malformed, and so is one
//! that ends early or goes on after its end. A coding that it does not know stays as it is, with
//! its name.

use super::Malformed;
use miniz_oxide::inflate::TINFLStatus as Status;
use miniz_oxide::inflate::core::inflate_flags as flag;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use std::borrow::Cow;

/// More codings on one body are nobody's honest command.
const MAX_CODINGS: usize = 4;

/// The names of the codings in a header value, lower-case, in the order they were applied.
pub(super) fn names(value: &str) -> Vec<String> {
    let names = value
        .split(',')
        .map(|name| name.trim_matches([' ', '\t']).to_ascii_lowercase());
    names
        .filter(|name| !name.is_empty() && name != "identity")
        .collect()
}

/// Undoes the codings of a body; gives it with the codings that it still has.
pub(super) fn decode<'a>(
    names: &[String],
    body: &'a [u8],
    limit: usize,
) -> Result<(Cow<'a, [u8]>, Option<String>), Malformed> {
    let known = |name: &String| matches!(name.as_str(), "gzip" | "x-gzip" | "deflate");
    if !names.iter().all(known) {
        return Ok((Cow::Borrowed(body), Some(names.join(","))));
    }
    if names.len() > MAX_CODINGS {
        return Err(Malformed::new("the body has more than 4 content codings"));
    }
    let mut body = Cow::Borrowed(body);
    for name in names.iter().rev() {
        let decoded = match name.as_str() {
            "deflate" => deflate(&body, limit),
            _ => gzip(&body, limit),
        };
        body = Cow::Owned(decoded.map_err(|fault| fault.tell(name, limit))?);
    }
    Ok((body, None))
}

/// What is wrong with a coded body, and where.
struct Fault {
    what: &'static str,
    at: usize,
}

impl Fault {
    fn tell(&self, name: &str, limit: usize) -> Malformed {
        let Self { what, at } = self;
        if *what == TOO_LONG {
            return Malformed::new(format!("the {name} body {TOO_LONG} {limit} bytes"));
        }
        Malformed::new(format!("the {name} body {what} at byte {at}"))
    }
}

/// The first room for what a member decodes to, in bytes.
const FIRST_ROOM: usize = 64 << 10;

/// More members in one body are nobody's honest command, and each costs time of its own.
const MAX_MEMBERS: usize = 100;

const TOO_LONG: &str = "decodes to more than";
const TRUNCATED: &str = "ends too early";

/// Decodes one raw deflate or zlib stream onto `out`; gives what follows it.
fn inflate<'a>(
    source: &'a [u8],
    zlib: bool,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<&'a [u8], (&'static str, &'a [u8])> {
    let header = if zlib {
        flag::TINFL_FLAG_PARSE_ZLIB_HEADER
    } else {
        0
    };
    let flags = header | flag::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let mut state = Box::<DecompressorOxide>::default();
    let mut rest = source;
    // A member may not reach back into the one before it.
    let base = out.len();
    let mut done = 0_usize;
    // One byte above the limit tells a body that is too long from one that just fits.
    let most = limit.saturating_add(1).max(base);
    // A small first room: what a member claims to hold costs nothing before it is there.
    let first = source.len().saturating_mul(4).min(FIRST_ROOM);
    out.resize(base.saturating_add(first).min(most), 0);
    loop {
        let space = out.get_mut(base..).unwrap_or_default();
        let (status, used, written) = decompress(&mut state, rest, space, done, flags);
        rest = rest.get(used..).unwrap_or_default();
        done = done.saturating_add(written);
        let total = base.saturating_add(done);
        match status {
            _ if total > limit => return Err((TOO_LONG, rest)),
            Status::Done => {
                out.truncate(total);
                return Ok(rest);
            }
            Status::HasMoreOutput => {
                out.resize(out.len().saturating_mul(2).max(64).min(most), 0);
            }
            Status::NeedsMoreInput | Status::FailedCannotMakeProgress => {
                return Err((TRUNCATED, rest));
            }
            Status::Adler32Mismatch => return Err(("has a wrong checksum", rest)),
            Status::Failed | Status::BadParam => return Err(("is corrupt", rest)),
            #[allow(unreachable_patterns, reason = "the enum may grow")]
            _ => return Err(("is corrupt", rest)),
        }
    }
}

/// Decodes the zlib container of RFC 1950, or a bare deflate stream, which some clients send.
fn deflate(source: &[u8], limit: usize) -> Result<Vec<u8>, Fault> {
    let at = |rest: &[u8]| source.len().saturating_sub(rest.len());
    let zlib = match source {
        [method, flags, ..] => {
            let check = u16::from_be_bytes([*method, *flags]);
            method & 0x0f == 8 && method >> 4 <= 7 && check.checked_rem(31) == Some(0)
        }
        _ => false,
    };
    let mut out = Vec::new();
    match inflate(source, zlib, limit, &mut out) {
        Ok([]) => Ok(out),
        Ok(rest) => Err(Fault {
            what: "goes on after its end",
            at: at(rest),
        }),
        Err((what, rest)) => Err(Fault { what, at: at(rest) }),
    }
}

/// Decodes the members of RFC 1952.
fn gzip(source: &[u8], limit: usize) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    let mut rest = source;
    for _ in 0..MAX_MEMBERS {
        let at = |rest: &[u8]| source.len().saturating_sub(rest.len());
        let start = out.len();
        let Some(data) = header(rest) else {
            let first = rest.len() == source.len();
            let what = if first {
                "has no gzip header"
            } else {
                "goes on after its end"
            };
            return Err(Fault { what, at: at(rest) });
        };
        let data = match inflate(data, false, limit, &mut out) {
            Ok(after) => after,
            Err((what, rest)) => return Err(Fault { what, at: at(rest) }),
        };
        let Some((trailer, after)) = data.split_first_chunk::<8>() else {
            return Err(Fault {
                what: TRUNCATED,
                at: source.len(),
            });
        };
        let member = out.get(start..).unwrap_or_default();
        let length = u64::try_from(member.len())
            .unwrap_or(u64::MAX)
            .to_le_bytes();
        if !trailer.starts_with(&crc32(member).to_le_bytes())
            || !trailer.ends_with(length.get(..4).unwrap_or_default())
        {
            return Err(Fault {
                what: "has a wrong checksum",
                at: at(data),
            });
        }
        if after.is_empty() {
            return Ok(out);
        }
        rest = after;
    }
    Err(Fault {
        what: "has more than 100 members",
        at: source.len().saturating_sub(rest.len()),
    })
}

/// Takes the header of a gzip member; gives what follows it.
fn header(source: &[u8]) -> Option<&[u8]> {
    let [0x1f, 0x8b, 8, flags, _, _, _, _, _, _, rest @ ..] = source else {
        return None;
    };
    let has = |bit: u8| flags & bit != 0;
    if has(0xe0) {
        return None;
    }
    let mut rest = rest;
    if has(4) {
        let (length, after) = rest.split_first_chunk::<2>()?;
        rest = after.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for bit in [8, 16] {
        if has(bit) {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = rest.get(end.checked_add(1)?..)?;
        }
    }
    if has(2) {
        let covered = source.get(..source.len().checked_sub(rest.len())?)?;
        let (check, after) = rest.split_first_chunk::<2>()?;
        if !crc32(covered).to_le_bytes().starts_with(check) {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

/// The CRC of gzip, by four bits a step.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 16] = table();
    let step = |crc: u32, bits: u32| {
        let index = usize::try_from((crc ^ bits) & 15).unwrap_or(0);
        TABLE.get(index).copied().unwrap_or(0) ^ (crc >> 4)
    };
    !bytes.iter().fold(!0, |crc, byte| {
        let byte = u32::from(*byte);
        step(step(crc, byte), byte >> 4)
    })
}

const fn table() -> [u32; 16] {
    let mut table = [0; 16];
    let mut rest: &mut [u32] = &mut table;
    let mut index = 0_u32;
    while let [entry, after @ ..] = rest {
        let mut value = index;
        let mut bit = 0_u32;
        while bit < 4 {
            value = if value & 1 == 1 {
                0xedb8_8320 ^ (value >> 1)
            } else {
                value >> 1
            };
            bit = bit.saturating_add(1);
        }
        *entry = value;
        index = index.saturating_add(1);
        rest = after;
    }
    table
}
