//! The command and its fingerprint.
