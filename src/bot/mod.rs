//! Who asked: from a User-Agent to the name of a bot, and from an address to whether the name is true.
//!
//! In this order: the [`Catalogue`] of bots that are known by name, what a client declares of itself, browsers, and
//! the rest. Each rule stands in a file of its own; [`Matcher`] runs them, [`Matcher::explain`] says which one
//! decided. Names are grouped, never full strings: three versions of one crawler are one crawler. Nothing here counts,
//! caches or reads logs; whoever sees the same string often remembers the answer.
//!
//! Example of an input: `Mozilla/5.0 (compatible; AcmeSpider/2.3; +https://acme.example/spider)`

mod browser;
pub mod cache;
mod catalogue;
mod declared;
mod explain;
mod literals;
mod matcher;
pub mod names;
pub mod patterns;
mod required;
mod text;
pub mod verify;
mod who;

pub use catalogue::{BotId, BotInfo, CATEGORIES, Catalogue, MatchKind, Method, Row};
pub use explain::{Explanation, PassedOver, Reason, Rule};
pub use matcher::Matcher;
pub use who::Who;
