//! The rules in their order: catalogue, declaration, browser, the rest. One answer per User-Agent, in linear time.
//!
//! All literal tokens are one automaton, all regular expressions one set, so the cost of a string does not depend on
//! how many bots are known. What a rule means stands in the file of that rule.
//!
//! Example: `Mozilla/5.0 (compatible; SemrushBot/7~bl; like Googlebot/2.1)` is `SemrushBot`.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind as Search};
use regex::bytes::{Regex, RegexSet, RegexSetBuilder};

use super::browser::Browsers;
use super::catalogue::{BotId, Catalogue, MatchKind, row_regex};
use super::declared::{Claim, ClaimBy, Declarations};
use super::explain::{Explanation, PassedOver, Reason, Rule};
use super::text::{is_mention, readable};
use super::who::Who;

/// How often the expression of a row is tried on one string when its earlier finds are mentions: keeps hostile strings
/// linear.
const REGEX_TRIES: usize = 8;

/// Names User-Agents by the rules. Cheap to share between threads, see [`Arc`].
#[derive(Debug)]
pub struct Matcher {
    catalogue: Arc<Catalogue>,
    literals: AhoCorasick,
    /// The row of each literal.
    literal_rows: Vec<usize>,
    regexes: RegexSet,
    /// The row of each expression, with the expression alone.
    regex_rows: Vec<(usize, Regex)>,
    declarations: Declarations,
    browsers: Browsers,
    googlebot: Option<BotId>,
    bingbot: Option<BotId>,
}

impl Matcher {
    /// Prepares the rules for a catalogue; takes some milliseconds.
    ///
    /// # Panics
    ///
    /// Where the rows of a catalogue have more than 4 GB of tokens.
    #[must_use]
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        let (mut tokens, mut literal_rows) = (Vec::new(), Vec::new());
        let (mut expressions, mut regex_rows) = (Vec::new(), Vec::new());
        for (index, row) in catalogue.rows().iter().enumerate() {
            if row.kind == MatchKind::Regex {
                expressions.push(row.token.as_str());
                regex_rows.push((index, row_regex(&row.token).expect("the catalogue compiled it before")));
            } else {
                tokens.push(row.token.as_str());
                literal_rows.push(index);
            }
        }
        let literals = AhoCorasick::builder()
            .match_kind(Search::Standard)
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&tokens)
            .expect("tokens of a catalogue fit into an automaton");
        let regexes = RegexSetBuilder::new(&expressions)
            .unicode(false)
            .size_limit(1 << 28)
            .build()
            .expect("each expression compiled before, and the limit is high");
        Self {
            googlebot: catalogue.find("Googlebot"),
            bingbot: catalogue.find("Bingbot"),
            literals,
            literal_rows,
            regexes,
            regex_rows,
            declarations: Declarations::new(),
            browsers: Browsers::new(),
            catalogue,
        }
    }

    /// The catalogue whose bots the answers name.
    #[must_use]
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Who this is: `None` where the format has no such field, else the field with its escapes undone.
    #[must_use]
    pub fn classify(&self, user_agent: Option<&[u8]>) -> Who {
        let Some(field) = user_agent else { return Who::UserAgentNotLogged };
        let text = readable(field);
        if is_empty(&text) {
            return Who::NoUserAgent;
        }
        if let Some((row, _, _)) = self.first_row(&text, &mut |_, _, _, _| {}) {
            return Who::Known(self.catalogue.rows()[row].bot);
        }
        if let Some(claim) = self.declarations.find(&text, &mut |_, _, _| {}) {
            return Who::Declared(claim.name);
        }
        if self.browsers.mark(&text).is_some() { Who::People } else { Who::OtherClient }
    }

    /// The same answer as [`Matcher::classify`], with the rule that gave it and what else was seen.
    #[must_use]
    pub fn explain(&self, user_agent: Option<&[u8]>) -> Explanation {
        let who = self.classify(user_agent);
        let mut passed_over = Vec::new();
        let rule = match user_agent {
            None => Rule::NotLogged,
            Some(field) => self.rule(&readable(field), &mut passed_over),
        };
        passed_over.sort_by(|a: &PassedOver, b| (a.at, a.row, &a.text).cmp(&(b.at, b.row, &b.text)));
        passed_over.dedup();
        let variant = match who {
            Who::Known(id) => user_agent.and_then(|field| self.variant(id, field)),
            _ => None,
        };
        Explanation { bot: who.bot_name(&self.catalogue).map(str::to_owned), who, rule, variant, passed_over }
    }

    fn rule(&self, text: &[u8], passed_over: &mut Vec<PassedOver>) -> Rule {
        if is_empty(text) {
            return Rule::Empty;
        }
        let first = self.first_row(text, &mut |row, start, end, reason| {
            passed_over.push(self.passed_row(row, &text[start..end], start, reason));
        });
        if let Some((row, start, end)) = first {
            // Whatever comes later in the catalogue and would have matched too.
            let mut later = Vec::new();
            self.each_literal(text, &mut |other, at, to| {
                if other != row && refusal(&self.catalogue.rows()[other].token, text, at, to).is_none() {
                    later.push(self.passed_row(other, &text[at..to], at, Reason::EarlierRow(row)));
                }
            });
            passed_over.extend(later);
            let found = &self.catalogue.rows()[row];
            return Rule::Row {
                kind: found.kind,
                token: found.token.clone(),
                place: found.place.clone(),
                line: found.line,
                matched: lossy(&text[start..end]),
                at: start,
            };
        }
        let claim = self.declarations.find(text, &mut |at, word, reason| {
            passed_over.push(PassedOver { row: None, bot: None, text: lossy(word), at, reason });
        });
        match claim {
            Some(Claim { name, at, by: ClaimBy::Ending(ending) }) => Rule::Ending { name, ending, at },
            Some(Claim { name, at, by: ClaimBy::Contact(contact) }) => Rule::Contact { name, contact, at },
            None => self.browsers.mark(text).map_or(Rule::Nothing, Rule::Browser),
        }
    }

    fn passed_row(&self, row: usize, text: &[u8], at: usize, reason: Reason) -> PassedOver {
        let bot = self.catalogue.info(self.catalogue.rows()[row].bot).name.clone();
        PassedOver { row: Some(row), bot: Some(bot), text: lossy(text), at, reason }
    }

    /// The first row that matches, with where; `refused` hears of matches that do not count.
    fn first_row(
        &self,
        text: &[u8],
        refused: &mut dyn FnMut(usize, usize, usize, Reason),
    ) -> Option<(usize, usize, usize)> {
        let mut best: Option<(usize, usize, usize)> = None;
        self.each_literal(text, &mut |row, start, end| {
            if best.is_some_and(|(b, _, _)| b <= row) {
                return;
            }
            match refusal(&self.catalogue.rows()[row].token, text, start, end) {
                None => best = Some((row, start, end)),
                Some(reason) => refused(row, start, end, reason),
            }
        });
        if !self.regexes.is_match(text) {
            return best;
        }
        for index in self.regexes.matches(text) {
            let (row, regex) = &self.regex_rows[index];
            if best.is_some_and(|(b, _, _)| b < *row) {
                break;
            }
            for found in regex.find_iter(text).take(REGEX_TRIES) {
                if is_mention(text, found.start(), found.end()) {
                    refused(*row, found.start(), found.end(), Reason::Mention);
                } else {
                    return Some((*row, found.start(), found.end()));
                }
            }
        }
        best
    }

    /// Every place where a literal stands, whatever surrounds it; tokens of kind `start` only at the beginning.
    fn each_literal(&self, text: &[u8], seen: &mut dyn FnMut(usize, usize, usize)) {
        for found in self.literals.find_overlapping_iter(text) {
            let row = self.literal_rows[found.pattern().as_usize()];
            if self.catalogue.rows()[row].kind == MatchKind::Word || found.start() == 0 {
                seen(row, found.start(), found.end());
            }
        }
    }

    /// Which of its two crawlers Googlebot or Bingbot is here: `smartphone` or `desktop`; `None` for all other bots.
    #[must_use]
    pub fn variant(&self, bot: BotId, user_agent: &[u8]) -> Option<&'static str> {
        if Some(bot) != self.googlebot && Some(bot) != self.bingbot {
            return None;
        }
        let phone = ["Mobile", "iPhone", "Android"]
            .iter()
            .any(|m| memchr::memmem::find(user_agent, m.as_bytes()).is_some());
        Some(if phone { "smartphone" } else { "desktop" })
    }
}

fn is_empty(text: &[u8]) -> bool {
    matches!(text, [] | [b'-'])
}

/// Why a literal at this place names nobody; `None` where it does.
fn refusal(token: &str, text: &[u8], start: usize, end: usize) -> Option<Reason> {
    let glued = token.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && start.checked_sub(1).is_some_and(|left| text[left].is_ascii_alphanumeric());
    if glued {
        return Some(Reason::InsideWord);
    }
    is_mention(text, start, end).then_some(Reason::Mention)
}

fn lossy(bytes: &[u8]) -> String {
    crate::format::escape::printable(bytes).into_owned()
}

#[cfg(test)]
mod tests;
