//! Where bytes come from: files found, opened, decompressed, digested and cut into blocks of whole lines. Nothing here
//! knows what a line means, and nothing that is counted depends on how bytes were fetched.

pub mod compression;
pub mod discover;
pub mod gzip;
pub mod identity;
pub mod mapped;
pub mod plain;
pub mod rotation;
pub mod stream;
pub mod streams;
