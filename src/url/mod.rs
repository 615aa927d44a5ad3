//! What a request's target means: its canonical form, its parameters, its secrets, whether it is a static file.
//!
//! Targets come as bytes with the escapes of the log undone ([`crate::format::escape::unescape`]); a request that is
//! not of the normal class has no URL and never gets here. Nothing here fetches: a key is for comparing.
//!
//! Example: `/a/./b/../c?utm_source=x&id=1#top` has the key `/a/c?id=1`.

mod blacklist;
mod kind;
mod parameter;
mod percent;
mod rules;
mod secret;
mod seed;
mod sitemap;

pub use blacklist::DEFAULT_BLACKLIST;
pub use kind::is_static;
pub use parameter::{Parameters, canonical_text, parameters};
pub use rules::Rules;
pub use secret::{mask_name, mask_secrets};
pub use seed::{SEED_BLACKLIST, seed_key};
pub use sitemap::{Sitemap, read_sitemap};
