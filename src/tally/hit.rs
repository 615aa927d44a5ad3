//! One access as the tallies see it: who asked what, when, and how it was answered.

use crate::tally::table::Verification;

/// Who asked, resolved once per distinct User-Agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// The name's number, see [`crate::bot::names::Names`].
    pub who: u32,
    /// Whether this is a bot (its distinct URLs are counted).
    pub is_bot: bool,
    /// Number of the variant among the bot's variants, 0 for none.
    pub variant: u8,
    /// The verdict on the claim.
    pub verification: Verification,
    /// [`crate::tally::distinct::stable_hash`] of the User-Agent with its escapes undone; `None` where not logged.
    pub user_agent_hash: Option<u64>,
}

/// One access. Texts are as logged.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'a> {
    /// The virtual host, any case; `None` stands for the tally's default host.
    pub host: Option<&'a [u8]>,
    /// Seconds since 1970-01-01T00:00:00Z.
    pub epoch: i64,
    /// `None` for `-`.
    pub status: Option<u16>,
    /// 0 for `-`.
    pub bytes: u64,
    /// In microseconds, where logged.
    pub latency_us: Option<u64>,
    /// Answered from a cache: not counted in the latency.
    pub cached: bool,
    /// A static file by its extension.
    pub is_static: bool,
    /// The target of a request that is one.
    pub target: Option<&'a [u8]>,
    /// The User-Agent field.
    pub user_agent: Option<&'a [u8]>,
    /// The network (/24 or /48) of the client, asked for when the claim failed.
    pub network: Option<ipnet::IpNet>,
}
