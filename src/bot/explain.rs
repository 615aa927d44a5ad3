//! Why a User-Agent got its name: the rule that decided, and what was seen and not taken.
//!
//! Example: for `TheCCBot/2.0` the word `TheCCBot` decides; the row of `CCBot` was passed over, because a letter stands
//! on its left.

use std::fmt;

use super::catalogue::MatchKind;
use super::who::Who;

/// What `bots test` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The answer.
    pub who: Who,
    /// The name of the bot or group; `None` for people.
    pub bot: Option<String>,
    /// What gave it.
    pub rule: Rule,
    /// `smartphone` or `desktop`, for the two bots that have variants.
    pub variant: Option<&'static str>,
    /// What was seen and not taken, from left to right.
    pub passed_over: Vec<PassedOver>,
}

/// The rule that decided, in the order in which they are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The format has no User-Agent.
    NotLogged,
    /// The field is `-` or empty.
    Empty,
    /// A row of the catalogue.
    Row {
        /// How the token is looked for.
        kind: MatchKind,
        /// The token.
        token: String,
        /// A path, or `built-in catalogue`.
        place: String,
        /// The line there, from 1.
        line: usize,
        /// What it matched.
        matched: String,
        /// At which byte.
        at: usize,
    },
    /// A word that ends like a bot's name.
    Ending {
        /// The word without its version.
        name: String,
        /// The ending.
        ending: &'static str,
        /// At which byte.
        at: usize,
    },
    /// A URL or e-mail address to reach whoever runs it.
    Contact {
        /// The first product that no browser uses, else the host.
        name: String,
        /// The contact as written.
        contact: String,
        /// At which byte.
        at: usize,
    },
    /// A word that only browsers and phones carry.
    Browser(&'static str),
    /// None of these.
    Nothing,
}

/// Something that looked like a bot's name and was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    /// The row's index in [`super::Catalogue::rows`], for matches of the catalogue.
    pub row: Option<usize>,
    /// Whom that row names.
    pub bot: Option<String>,
    /// The text.
    pub text: String,
    /// At which byte.
    pub at: usize,
    /// Why not.
    pub reason: Reason,
}

/// Why a match does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A letter or digit stands on its left.
    InsideWord,
    /// `like X`, `like-X`, `X-like`, `Following X`.
    Mention,
    /// The row with this index comes first.
    EarlierRow(usize),
    /// A phone, an app or a browser whose name sounds like a bot.
    LookAlike,
    /// Fewer than four letters.
    TooShort,
    /// It belongs to a host name.
    Address,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InsideWord => "a letter or digit stands on its left",
            Self::Mention => "it is only mentioned (`like X`, `X-like`, `Following X`)",
            Self::EarlierRow(_) => "an earlier row of the catalogue matches",
            Self::LookAlike => "a phone, app or browser that only sounds like a bot",
            Self::TooShort => "fewer than four letters declare nothing",
            Self::Address => "it belongs to a host name",
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLogged => f.write_str("the format has no User-Agent field"),
            Self::Empty => f.write_str("the User-Agent is `-` or empty"),
            Self::Row { kind, token, place, line, matched, at } => {
                write!(f, "{place} line {line}: {} `{token}` matches `{matched}` at byte {at}", kind.name())
            }
            Self::Ending { name, ending, at } => {
                write!(f, "declares itself: `{name}` at byte {at} ends in `{ending}`")
            }
            Self::Contact { name, contact, at } => {
                write!(
                    f,
                    "declares itself: contact `{contact}` at byte {at}; the first name that no browser uses is `{name}`"
                )
            }
            Self::Browser(mark) => write!(f, "a browser or a phone's HTTP stack: `{mark}`"),
            Self::Nothing => f.write_str("neither in the catalogue nor declared nor a browser"),
        }
    }
}

/// Several lines of text, the last one without a newline. The text of the User-Agent in it is printable, but still the
/// client's: whoever writes HTML escapes it.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bot.as_deref().unwrap_or("(people)"))?;
        if let Some(variant) = self.variant {
            write!(f, " ({variant})")?;
        }
        write!(f, "\n  {}", self.rule)?;
        for other in &self.passed_over {
            let bot = other.bot.as_deref().map(|b| format!(" ({b})")).unwrap_or_default();
            write!(f, "\n  not `{}`{bot} at byte {}: {}", other.text, other.at, other.reason)?;
        }
        Ok(())
    }
}
