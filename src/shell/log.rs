//! The gate's log.
//!
//! Owns what a line may hold: the operation, a short digest of the object's name, and words of the
//! gate's own. It never sees a key, a credential or a body.

use super::store::Fault;
use crate::core::identity::Digest;

/// Something an operator should read about.
pub(super) fn warn(operation: &str, object: Option<&str>, what: &str) {
    let digest = object.map(|name| Digest::of(name.as_bytes()).to_string());
    let short = digest
        .as_deref()
        .and_then(|digest| digest.get(..12))
        .unwrap_or("-");
    worker::console_warn!("{what} (operation {operation}, object {short})");
}

/// Something that keeps the gate from its work.
pub(super) fn fault(fault: &Fault) {
    worker::console_error!("{fault}");
}
