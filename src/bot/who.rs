//! The answer to "who asked", and how outputs call it. Which answer it is, [`super::Matcher`] decides.
//!
//! Example: `Known(Googlebot)` prints `Googlebot`; `People` prints nothing as a bot and `(people)` as a group.

use super::catalogue::{BotId, Catalogue};

/// Who sent a request, by its User-Agent alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// A browser, or a phone's own HTTP stack.
    People,
    /// Neither a browser nor declared.
    OtherClient,
    /// `-` or empty.
    NoUserAgent,
    /// The format has no such field.
    UserAgentNotLogged,
    /// A bot of the catalogue.
    Known(BotId),
    /// A client that calls itself a bot: its name in `[A-Za-z0-9._-]`, 1 to 64 bytes, without version.
    Declared(String),
}

impl Who {
    /// The name that `parse` prints as `bot`: `None` for people only.
    #[must_use]
    pub fn bot_name<'a>(&'a self, catalogue: &'a Catalogue) -> Option<&'a str> {
        match self {
            Self::People => None,
            other => Some(other.series_name(catalogue)),
        }
    }

    /// The name in rows and tables: a bot's name or a group in parentheses, `(people)` among them.
    #[must_use]
    pub fn series_name<'a>(&'a self, catalogue: &'a Catalogue) -> &'a str {
        match self {
            Self::People => "(people)",
            Self::OtherClient => "(other-client)",
            Self::NoUserAgent => "(no-user-agent)",
            Self::UserAgentNotLogged => "(user-agent-not-logged)",
            Self::Known(id) => &catalogue.info(*id).name,
            Self::Declared(name) => name,
        }
    }

    /// Whether this is a bot and not one of the groups.
    #[must_use]
    pub fn is_bot(&self) -> bool {
        matches!(self, Self::Known(_) | Self::Declared(_))
    }

    /// Roll-up: the family of a known bot; the name itself for everybody else.
    #[must_use]
    pub fn family<'a>(&'a self, catalogue: &'a Catalogue) -> &'a str {
        match self {
            Self::Known(id) => &catalogue.info(*id).family,
            other => other.series_name(catalogue),
        }
    }

    /// Roll-up: who runs it; empty where unknown.
    #[must_use]
    pub fn operator<'a>(&'a self, catalogue: &'a Catalogue) -> &'a str {
        match self {
            Self::Known(id) => &catalogue.info(*id).operator,
            _ => "",
        }
    }

    /// Roll-up: one of [`super::CATEGORIES`], `declared` for self-declared bots, empty for groups.
    #[must_use]
    pub fn category<'a>(&'a self, catalogue: &'a Catalogue) -> &'a str {
        match self {
            Self::Known(id) => catalogue.info(*id).category,
            Self::Declared(_) => "declared",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_have_a_group_but_no_bot_name() {
        let catalogue = Catalogue::built_in();
        assert_eq!(Who::People.bot_name(&catalogue), None);
        assert_eq!(Who::People.series_name(&catalogue), "(people)");
        assert_eq!(Who::NoUserAgent.bot_name(&catalogue), Some("(no-user-agent)"));
        assert!(!Who::OtherClient.is_bot());
    }

    #[test]
    fn roll_ups_of_known_and_declared_bots() {
        let catalogue = Catalogue::built_in();
        let image = Who::Known(catalogue.find("googlebot-image").unwrap());
        assert_eq!(image.bot_name(&catalogue), Some("Googlebot-Image"));
        assert_eq!(
            (image.family(&catalogue), image.operator(&catalogue), image.category(&catalogue)),
            ("Googlebot", "Google", "search-engine")
        );
        let own = Who::Declared("AcmeSpider".to_owned());
        assert_eq!(
            (own.family(&catalogue), own.operator(&catalogue), own.category(&catalogue)),
            ("AcmeSpider", "", "declared")
        );
    }
}
