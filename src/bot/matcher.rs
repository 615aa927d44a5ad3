//! The rules in their order: catalogue, declaration, browser, the rest. One answer per User-Agent, in linear time.
//!
//! All that is looked for literally is found in one pass; a regular expression is tried only where a literal stands that
//! it needs. So the cost of a string does not depend on how many bots are known. What a rule means stands in the file of that rule.
//!
//! Example: `Mozilla/5.0 (compatible; SemrushBot/7~bl; like Googlebot/2.1)` is `SemrushBot`.

use std::sync::{Arc, OnceLock};

use regex::bytes::{Regex, RegexSet, RegexSetBuilder};

use super::browser::Browsers;
use super::catalogue::{BotId, Catalogue, MatchKind, row_regex};
use super::declared::{Claim, ClaimBy, Declarations, Signs};
use super::explain::{Explanation, PassedOver, Reason, Rule};
use super::literals::{Literals, Place};
use super::required;
use super::text::{is_mention, readable};
use super::who::Who;

/// How often the expression of a row is tried on one string when its earlier finds are mentions: keeps hostile strings
/// linear.
const REGEX_TRIES: usize = 8;

/// Names User-Agents by the rules. Cheap to share between threads, see [`Arc`].
#[derive(Debug)]
pub struct Matcher {
    catalogue: Arc<Catalogue>,
    /// Everything that is looked for literally, whatever the case, in one pass.
    literals: Literals,
    /// What each literal stands for.
    meanings: Vec<Meaning>,
    expressions: Vec<Expression>,
    /// Those of `expressions` that need no literal.
    everywhere: Vec<usize>,
    /// The same as a set: most strings match none of them.
    everywhere_set: RegexSet,
    declarations: Declarations,
    browsers: Browsers,
    googlebot: Option<BotId>,
    bingbot: Option<BotId>,
}

/// What a literal stands for.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// The token of this row, a word.
    Word(usize),
    /// The token of this row, at the beginning.
    Start(usize),
    /// The expression with this index may match.
    Needed(usize),
}

/// A row that is a regular expression.
#[derive(Debug)]
struct Expression {
    row: usize,
    /// Compiled when its literal is first seen: most runs need none.
    compiled: OnceLock<Regex>,
}

impl Expression {
    fn regex(&self, catalogue: &Catalogue) -> &Regex {
        self.compiled
            .get_or_init(|| row_regex(&catalogue.rows()[self.row].token).expect("the catalogue checked it"))
    }
}

/// What one pass over a string has seen.
#[derive(Debug, Default)]
struct Seen {
    /// The first row that matches, with where.
    row: Option<(usize, usize, usize)>,
    /// Expressions whose literal was seen, each once: few, because a string seldom holds any.
    to_try: Vec<usize>,
    signs: Signs,
}

/// What hears of matches that do not count: the row, where it begins and ends, and why.
type Refused<'a> = dyn FnMut(usize, usize, usize, Reason) + 'a;

impl Matcher {
    /// Prepares the rules for a catalogue; takes some milliseconds.
    ///
    /// # Panics
    ///
    /// Where the rows of a catalogue have more than 4 GB of tokens.
    #[must_use]
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        let (mut literals, mut meanings): (Vec<(Vec<u8>, Place)>, Vec<Meaning>) = (Vec::new(), Vec::new());
        let (mut expressions, mut everywhere) = (Vec::new(), Vec::new());
        for (row, facts) in catalogue.rows().iter().enumerate() {
            let token = || facts.token.clone().into_bytes();
            match facts.kind {
                MatchKind::Word => {
                    // Other tokens have no left side to be judged by.
                    let begins_a_word = facts.token.starts_with(|c: char| c.is_ascii_alphanumeric());
                    literals.push((token(), if begins_a_word { Place::Word } else { Place::Anywhere }));
                    meanings.push(Meaning::Word(row));
                }
                MatchKind::Start => {
                    literals.push((token(), Place::Start));
                    meanings.push(Meaning::Start(row));
                }
                MatchKind::Regex => {
                    let index = expressions.len();
                    expressions.push(Expression { row, compiled: OnceLock::new() });
                    match required::literals(&facts.token) {
                        Some(needed) => {
                            meanings.extend(needed.iter().map(|_| Meaning::Needed(index)));
                            literals.extend(needed.into_iter().map(|literal| {
                                let place = if literal.begins_a_word { Place::Word } else { Place::Anywhere };
                                (literal.text, place)
                            }));
                        }
                        None => everywhere.push(index),
                    }
                }
            }
        }
        let sources: Vec<&str> =
            everywhere.iter().map(|i: &usize| catalogue.rows()[expressions[*i].row].token.as_str()).collect();
        let everywhere_set = RegexSetBuilder::new(&sources)
            .unicode(false)
            .size_limit(1 << 28)
            .build()
            .expect("each expression compiled before, and the limit is high");
        Self {
            googlebot: catalogue.find("Googlebot"),
            bingbot: catalogue.find("Bingbot"),
            literals: Literals::new(literals),
            meanings,
            expressions,
            everywhere,
            everywhere_set,
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
        let seen = self.look(&text);
        if let Some((row, _, _)) = seen.row {
            return Who::Known(self.catalogue.rows()[row].bot);
        }
        if let Some(claim) = self.declarations.find(&text, seen.signs, &mut |_, _, _| {}) {
            return self.called(claim.name);
        }
        if self.browsers.mark(&text).is_some() { Who::People } else { Who::OtherClient }
    }

    /// Whoever calls itself so: the bot of the catalogue with this name, whatever the case, else a declared one. Two
    /// bots never share a name.
    #[must_use]
    pub fn called(&self, name: String) -> Who {
        self.catalogue.find(&name).map_or(Who::Declared(name), Who::Known)
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
        let seen = self.look_closely(text, &mut |row, start, end, reason| {
            passed_over.push(self.passed_row(row, &text[start..end], start, reason));
        });
        if let Some((row, start, end)) = seen.row {
            // Whatever comes later in the catalogue and would have matched too.
            let mut later = Vec::new();
            self.literals.everywhere(text, &mut |number, at, to| {
                let (Meaning::Word(other) | Meaning::Start(other)) = self.meanings[number] else { return };
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
        let claim = self.declarations.find(text, seen.signs, &mut |at, word, reason| {
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

    /// One pass over a string.
    fn look(&self, text: &[u8]) -> Seen {
        let refused: &mut Refused<'_> = &mut |_, _, _, _| {};
        let mut seen = Seen::default();
        seen.signs = self.literals.each(text, &mut |number, start, end| {
            self.see(text, &mut seen, (number, start, end), refused);
        });
        self.try_expressions(text, &mut seen, refused);
        seen
    }

    /// The same, and `refused` hears of matches that do not count.
    fn look_closely(&self, text: &[u8], refused: &mut Refused<'_>) -> Seen {
        let mut seen = Seen::default();
        self.literals.everywhere(text, &mut |number, start, end| {
            self.see(text, &mut seen, (number, start, end), refused);
        });
        seen.signs = self.literals.each(text, &mut |_, _, _| {});
        self.try_expressions(text, &mut seen, refused);
        seen
    }

    /// Takes a literal that stands somewhere for what it is.
    #[inline]
    fn see(
        &self,
        text: &[u8],
        seen: &mut Seen,
        (number, start, end): (usize, usize, usize),
        refused: &mut Refused<'_>,
    ) {
        match self.meanings[number] {
            Meaning::Word(row) | Meaning::Start(row) => {
                if seen.row.is_some_and(|(first, _, _)| first <= row) {
                    return;
                }
                match refusal(&self.catalogue.rows()[row].token, text, start, end) {
                    None => seen.row = Some((row, start, end)),
                    Some(reason) => refused(row, start, end, reason),
                }
            }
            Meaning::Needed(index) => {
                if !seen.to_try.contains(&index) {
                    seen.to_try.push(index);
                }
            }
        }
    }

    /// Tries the expressions whose literals were seen.
    fn try_expressions(&self, text: &[u8], seen: &mut Seen, refused: &mut Refused<'_>) {
        let mut to_try = std::mem::take(&mut seen.to_try);
        if !self.everywhere.is_empty() && self.everywhere_set.is_match(text) {
            to_try.extend(self.everywhere_set.matches(text).into_iter().map(|i| self.everywhere[i]));
        }
        to_try.sort_unstable();
        for index in to_try {
            let expression = &self.expressions[index];
            let row = expression.row;
            if seen.row.is_some_and(|(first, _, _)| first < row) {
                break;
            }
            for found in expression.regex(&self.catalogue).find_iter(text).take(REGEX_TRIES) {
                if is_mention(text, found.start(), found.end()) {
                    refused(row, found.start(), found.end(), Reason::Mention);
                } else {
                    seen.row = Some((row, found.start(), found.end()));
                    break;
                }
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
