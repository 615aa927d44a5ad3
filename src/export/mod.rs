//! The manifest in other programs' forms, one file each. Returns text; nothing here prints or reads a file.
//!
//! Example: `env` gives `MAX_RPM_THRESHOLD=76`.

pub mod env;
pub mod schema;
