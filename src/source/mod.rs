//! Where bytes come from, and what they are.

pub mod identity;
