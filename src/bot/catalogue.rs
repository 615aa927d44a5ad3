//! The bots that are known by name, as rows of facts: reading them, checking them, finding one by its name.
//!
//! The rows stand in `catalogue.tsv` beside this file, and in files that users give; both have the same layout and
//! pass the same checks. Which row a User-Agent matches is the work of [`super::Matcher`].
//!
//! Example of a row (fields separated by tabs):
//! `word  AcmeBot  AcmeBot  Acme  Acme Inc  seo  file:acmebot.json rdns:acme.example  AcmeBot/1.0`

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;

const BUILT_IN: &str = include_str!("catalogue.tsv");
const BUILT_IN_PLACE: &str = "built-in catalogue";

/// The sixteen categories.
pub const CATEGORIES: [&str; 16] = [
    "search-engine",
    "ai-training",
    "ai-search",
    "ai-assistant",
    "seo",
    "monitoring",
    "social-preview",
    "feed",
    "advertising",
    "archiver",
    "security",
    "http-library",
    "headless-browser",
    "site-tool",
    "academic",
    "other",
];

/// A bot of one [`Catalogue`]: an index that means nothing in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BotId(pub u32);

impl BotId {
    /// The position in [`Catalogue::bots`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotInfo {
    /// What every output calls it; unique whatever the case.
    pub name: String,
    /// The crawler it belongs to; often its own name.
    pub family: String,
    /// Who runs it; empty where nobody knows.
    pub operator: String,
    /// One of [`CATEGORIES`].
    pub category: &'static str,
    /// How a claim to be this bot can be checked; none, one or several.
    pub methods: Vec<Method>,
}

/// One way to check a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// Published ranges, spread over these files: only together can they deny a client.
    Files(Vec<String>),
    /// A forward-confirmed reverse name at or under this suffix.
    ReverseDns(String),
    /// The same, but the operator's names often have no forward record: one that is not confirmed denies nobody.
    ReverseDnsOnly(String),
}

/// As the catalogue spells it.
impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Files(names) => write!(f, "file:{}", names.join("+")),
            Self::ReverseDns(suffix) => write!(f, "rdns:{suffix}"),
            Self::ReverseDnsOnly(suffix) => write!(f, "reverse:{suffix}"),
        }
    }
}

/// How a row's token is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// Anywhere, whatever the case, not behind a letter or digit when it begins with one.
    Word,
    /// At the beginning, whatever the case.
    Start,
    /// A regular expression.
    Regex,
}

impl MatchKind {
    /// The word in the first field of a row.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Start => "start",
            Self::Regex => "regex",
        }
    }
}

/// One row, in the order of priority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// How the token is looked for.
    pub kind: MatchKind,
    /// What is looked for.
    pub token: String,
    /// Whom it names.
    pub bot: BotId,
    /// One User-Agent of the bot.
    pub sample: String,
    /// Where the row stands: a path or `built-in catalogue`.
    pub place: String,
    /// Its line there, from 1.
    pub line: usize,
}

/// All rows and the bots they name.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    bots: Vec<BotInfo>,
    rows: Vec<Row>,
    by_name: HashMap<String, BotId>,
}

impl Catalogue {
    /// The catalogue of the project.
    ///
    /// # Panics
    ///
    /// Never: its rows are part of the program, and a test reads them all.
    #[must_use]
    pub fn built_in() -> Self {
        let mut catalogue = Self::default();
        catalogue.add(BUILT_IN_PLACE, BUILT_IN).expect("the rows of the project are checked by a test");
        catalogue
    }

    /// The rows of a user's file in front of the built-in ones. A row may name a bot of the built-in catalogue: its
    /// family, operator, category and methods then replace the built-in ones.
    ///
    /// # Errors
    ///
    /// [`crate::error::ErrorKind::Usage`] with file and line where a row is not as expected, and where the file
    /// cannot be read or holds no row.
    pub fn with_overlay(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|e| {
            Error::usage(path.display(), "cannot read the catalogue")
                .cause(e)
                .hint("--catalogue takes a file of rows as in the project's src/bot/catalogue.tsv")
        })?;
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) => {
                let line = 1 + memchr::memchr_iter(b'\n', &bytes[..e.valid_up_to()]).count();
                return Err(Error::usage(
                    format_args!("{}:{line}", path.display()),
                    "expected UTF-8 text, found other bytes",
                ));
            }
        };
        let place = path.display().to_string();
        let mut catalogue = Self::default();
        catalogue.add(&place, text)?;
        if catalogue.rows.is_empty() {
            return Err(Error::usage(place, "expected at least one row, found none")
                .hint("leave --catalogue out to use the built-in rows alone"));
        }
        catalogue.add(BUILT_IN_PLACE, BUILT_IN)?;
        Ok(catalogue)
    }

    fn add(&mut self, place: &str, text: &str) -> Result<(), Error> {
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            self.add_row(place, number, line).map_err(|problem| {
                Error::usage(format_args!("{place}:{number}"), problem.what).hint(problem.hint)
            })?;
        }
        Ok(())
    }

    fn add_row(&mut self, place: &str, line: usize, text: &str) -> Result<(), Problem> {
        let fields: Vec<&str> = text.split('\t').collect();
        let [kind, token, name, family, operator, category, verify, sample] = fields[..] else {
            return Err(Problem::new(
                format!("expected 8 fields separated by tabs, found {}", fields.len()),
                "match, token, name, family, operator, category, verify, sample",
            ));
        };
        let kind = match kind {
            "word" => MatchKind::Word,
            "start" => MatchKind::Start,
            "regex" => MatchKind::Regex,
            other => {
                return Err(Problem::new(
                    format!("match: expected word, start or regex, found `{other}`"),
                    "word finds a token anywhere, start at the beginning of the User-Agent",
                ));
            }
        };
        if token.trim().is_empty() || sample.trim().is_empty() {
            return Err(Problem::new(
                "expected a token and a sample, found an empty field".to_owned(),
                "the sample is one User-Agent of the bot",
            ));
        }
        // Those of the project are compiled when one is first needed, and all of them by a test.
        if kind == MatchKind::Regex
            && place != BUILT_IN_PLACE
            && let Err(e) = row_regex(token)
        {
            return Err(Problem::new(
                format!("token: the regular expression does not compile: {}", last_line(&e)),
                "look-around and backreferences are not supported; use kind word for a plain token",
            ));
        }
        for (field, value) in [("name", name), ("family", family)] {
            if !is_key(value) {
                return Err(Problem::new(
                    format!(
                        "{field}: expected words of letters, digits and . _ + ! - with one blank between them, found `{value}`"
                    ),
                    "names are keys of every output",
                ));
            }
        }
        if operator.trim() != operator || operator.is_empty() || operator.bytes().any(|b| b < 0x20) {
            return Err(Problem::new(
                format!("operator: expected a name or -, found `{operator}`"),
                "write - where nobody knows",
            ));
        }
        let Some(category) = CATEGORIES.iter().find(|c| **c == category) else {
            let nearest = nearest_of(category, CATEGORIES.iter().copied());
            return Err(Problem::new(
                format!("category: expected one of the sixteen, found `{category}`"),
                nearest.map_or_else(|| CATEGORIES.join(", "), |n| format!("did you mean `{n}`?")),
            ));
        };
        let info = BotInfo {
            name: name.to_owned(),
            family: family.to_owned(),
            operator: if operator == "-" { String::new() } else { operator.to_owned() },
            category,
            methods: methods(verify)?,
        };
        let bot = self.bot_of(place, info)?;
        self.rows.push(Row {
            kind,
            token: token.to_owned(),
            bot,
            sample: sample.to_owned(),
            place: place.to_owned(),
            line,
        });
        Ok(())
    }

    /// The bot of this name; a new one if it is the first row of it.
    fn bot_of(&mut self, place: &str, info: BotInfo) -> Result<BotId, Problem> {
        let key = info.name.to_ascii_lowercase();
        if let Some(&id) = self.by_name.get(&key) {
            let known = &self.bots[id.index()];
            let overlaid = self.rows.iter().any(|r| r.bot == id && r.place != place);
            if !overlaid && *known != info {
                return Err(Problem::new(
                    format!(
                        "`{}` has another row, with another spelling, family, operator, category or verification",
                        info.name
                    ),
                    "rows of one bot differ in match, token and sample only",
                ));
            }
            return Ok(id);
        }
        let id = BotId(u32::try_from(self.bots.len()).expect("a file of rows is no 4 GB long"));
        self.bots.push(info);
        self.by_name.insert(key, id);
        Ok(id)
    }

    /// The rows, the first one with the highest priority.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The bots in the order of their first rows; [`BotId`] is the index.
    #[must_use]
    pub fn bots(&self) -> &[BotInfo] {
        &self.bots
    }

    /// The facts of a bot of this catalogue.
    ///
    /// # Panics
    ///
    /// Where `id` comes from a larger catalogue.
    #[must_use]
    pub fn info(&self, id: BotId) -> &BotInfo {
        &self.bots[id.index()]
    }

    /// The bot of that name, whatever the case.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<BotId> {
        self.by_name.get(&name.trim().to_ascii_lowercase()).copied()
    }

    /// The name that was probably meant: at most a third of the letters are wrong. Ties go to the earlier row.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest_of(name, self.bots.iter().map(|b| b.name.as_str()))
    }

    /// The rows that name this bot, in order.
    pub fn rows_of(&self, id: BotId) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |r| r.bot == id)
    }
}

/// What is wrong with a row, and what to do.
struct Problem {
    what: String,
    hint: String,
}

impl Problem {
    #[cold]
    fn new(what: String, hint: impl Into<String>) -> Self {
        Self { what, hint: hint.into() }
    }
}

/// How all regular expressions of rows are compiled: over bytes, ASCII classes and word boundaries. Unicode word
/// boundaries would throw every User-Agent with a byte above 0x7F to the slow engine.
pub(super) fn row_regex(token: &str) -> Result<regex::bytes::Regex, regex::Error> {
    regex::bytes::RegexBuilder::new(token).unicode(false).build()
}

fn last_line(e: &regex::Error) -> String {
    let text = e.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// `[A-Za-z0-9._+!-]+( [A-Za-z0-9._+!-]+)*`
fn is_key(text: &str) -> bool {
    text.split(' ').all(|w| {
        !w.is_empty()
            && w.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'+' | b'!' | b'-'))
    })
}

fn methods(field: &str) -> Result<Vec<Method>, Problem> {
    if field == "-" {
        return Ok(Vec::new());
    }
    let wrong = |item: &str| {
        Problem::new(
            format!(
                "verify: expected -, file:NAME, file:NAME+NAME, rdns:SUFFIX or reverse:SUFFIX, found `{item}`"
            ),
            "items are separated by one blank; names of files have no folder, suffixes no leading dot",
        )
    };
    let mut found = Vec::new();
    for item in field.split(' ') {
        let (method, value) = item.split_once(':').ok_or_else(|| wrong(item))?;
        found.push(match method {
            "file" => {
                let names: Vec<String> = value.split('+').map(str::to_owned).collect();
                let good = |n: &String| {
                    !n.is_empty()
                        && n.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
                };
                if !names.iter().all(good) {
                    return Err(wrong(item));
                }
                Method::Files(names)
            }
            "rdns" | "reverse" => {
                let good = value.split('.').count() > 1
                    && value.split('.').all(|label| {
                        !label.is_empty()
                            && label
                                .bytes()
                                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
                    });
                if !good {
                    return Err(wrong(item));
                }
                if method == "rdns" {
                    Method::ReverseDns(value.to_owned())
                } else {
                    Method::ReverseDnsOnly(value.to_owned())
                }
            }
            _ => return Err(wrong(item)),
        });
    }
    Ok(found)
}

/// The candidate with the smallest edit distance, if at most a third of the letters differ.
fn nearest_of<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.trim().to_ascii_lowercase();
    let limit = name.chars().count().div_ceil(3).min(4);
    candidates
        .map(|c| (edit_distance(&name, &c.to_ascii_lowercase()), c))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// Levenshtein's distance: insertions, deletions and replacements of characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
