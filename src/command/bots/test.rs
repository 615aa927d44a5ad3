//! Whom a User-Agent stands for, with the rule that decided and what was passed over; and whether a client's claim holds.
//!
//! Example of an answer:
//! ```text
//! Googlebot (smartphone)
//!   built-in catalogue line 71: word `Googlebot` matches `Googlebot` at byte 146
//!   verified: 198.51.100.5 is in googlebot.json
//! ```

use std::io::{self, BufRead, BufWriter, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::as_json;
use crate::bot::verify::Verifier;
use crate::bot::{Catalogue, Explanation, Matcher, PassedOver, Rule, Who};
use crate::cli::AnswerFormat;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::format::escape::{printable, unescape};
use crate::report::Escaped;

/// The longest line that is read from standard input; more is another line. No User-Agent that a server accepts is
/// half as long.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// What was asked beside the User-Agents.
pub(super) struct Asked {
    pub(super) client: Option<IpAddr>,
    pub(super) ip_ranges: Option<PathBuf>,
    pub(super) rdns: Option<PathBuf>,
    pub(super) format: AnswerFormat,
}

/// Answers, one after another, as they are read.
pub(super) fn run(catalogue: Catalogue, user_agents: &[String], asked: &Asked) -> Result<ExitStatus, Error> {
    let verifier = Verifier::load(&catalogue, asked.ip_ranges.as_deref(), asked.rdns.as_deref())?;
    let matcher = Matcher::new(Arc::new(catalogue));
    let test = Test { matcher, verifier, asked };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut first = true;
    let mut print = |user_agent: &[u8]| -> Result<bool, Error> {
        let answer = test.answer(user_agent, !std::mem::take(&mut first))?;
        // Whoever reads gets each answer at once: this is typed by hand more often than not.
        match out.write_all(answer.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(e) => Err(Error::runtime("standard output", "cannot write").cause(e)),
        }
    };
    if let [only] = user_agents
        && only == "-"
    {
        return from_stdin(&mut print);
    }
    for user_agent in user_agents {
        if !print(user_agent.as_bytes())? {
            break;
        }
    }
    Ok(ExitStatus::Success)
}

fn from_stdin(print: &mut impl FnMut(&[u8]) -> Result<bool, Error>) -> Result<ExitStatus, Error> {
    let mut input = io::stdin().lock();
    let (mut line, mut any) = (Vec::new(), false);
    loop {
        line.clear();
        let read = io::Read::take(&mut input, MAX_LINE_BYTES).read_until(b'\n', &mut line);
        if read.map_err(|e| Error::runtime("standard input", "cannot read").cause(e))? == 0 {
            break;
        }
        any = true;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if !print(text.strip_suffix(b"\r").unwrap_or(text))? {
            break;
        }
    }
    if any {
        return Ok(ExitStatus::Success);
    }
    Err(Error::no_data("bots test", "found no User-Agent on standard input")
        .hint("one a line: cut -d '\"' -f 6 access.log | sort -u | crawl-baseline bots test -"))
}

struct Test<'a> {
    matcher: Matcher,
    verifier: Verifier,
    asked: &'a Asked,
}

impl Test<'_> {
    fn answer(&self, logged: &[u8], another: bool) -> Result<String, Error> {
        let user_agent = unescape(logged);
        let explanation = self.matcher.explain(Some(&user_agent));
        let catalogue = self.matcher.catalogue();
        let verdict = self.asked.client.map(|client| {
            let verdict = self.verifier.verdict(&explanation.who, Some(client));
            (verdict.name(), self.verifier.why(catalogue, &explanation.who, client))
        });
        if self.asked.format == AnswerFormat::Json {
            let object = object(catalogue, &user_agent, &explanation, verdict.as_ref(), self.asked.client);
            return as_json(&object).map(|text| text + "\n");
        }
        let mut text = if another { "\n".to_owned() } else { String::new() };
        for line in explanation.to_string().lines() {
            text.push_str(&Escaped(line).to_string());
            text.push('\n');
        }
        if let Some((verdict, why)) = verdict {
            text.push_str(&format!("  {verdict}: {}\n", Escaped(&why)));
        }
        Ok(text)
    }
}

fn object(
    catalogue: &Catalogue,
    user_agent: &[u8],
    explanation: &Explanation,
    verdict: Option<&(&str, String)>,
    client: Option<IpAddr>,
) -> Value {
    let who = &explanation.who;
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let roll_up = |name: &str| matches!(who, Who::Known(_) | Who::Declared(_)).then(|| name.to_owned());
    json!({
        "user_agent": printable(user_agent),
        "bot": explanation.bot,
        "family": roll_up(who.family(catalogue)),
        "operator": text(who.operator(catalogue)),
        "category": text(who.category(catalogue)),
        "variant": explanation.variant,
        "rule": rule_name(&explanation.rule),
        "because": explanation.rule.to_string(),
        "passed_over": explanation.passed_over.iter().map(passed_over).collect::<Vec<_>>(),
        "client": client,
        "verification": verdict.map(|v| v.0),
        "verification_because": verdict.map(|v| &v.1),
    })
}

fn passed_over(other: &PassedOver) -> Value {
    json!({ "bot": other.bot, "text": other.text, "at_byte": other.at, "because": other.reason.to_string() })
}

fn rule_name(rule: &Rule) -> &'static str {
    match rule {
        Rule::NotLogged => "not_logged",
        Rule::Empty => "empty",
        Rule::Row { .. } => "catalogue",
        Rule::Ending { .. } => "ending",
        Rule::Contact { .. } => "contact",
        Rule::Browser(_) => "browser",
        Rule::Nothing => "nothing",
    }
}
