//! Everything that is known of one bot.
//!
//! Example of a line: `  row      word Googlebot/2 (built-in catalogue line 71)`

use std::fmt::Write as _;

use super::list::object;
use super::{as_json, methods};
use crate::bot::{BotId, Catalogue};
use crate::cli::AnswerFormat;
use crate::error::Error;
use crate::report::Escaped;

/// The answer, with a line feed at its end.
pub(super) fn text(catalogue: &Catalogue, id: BotId, format: AnswerFormat) -> Result<String, Error> {
    if format == AnswerFormat::Json {
        let mut text = as_json(&object(catalogue, id))?;
        text.push('\n');
        return Ok(text);
    }
    let bot = catalogue.info(id);
    let mut text = String::new();
    // A string takes every text.
    let _ = writeln!(text, "{}", Escaped(&bot.name));
    let mut line = |what: &str, value: &str| {
        let _ = writeln!(text, "  {what:<9}{}", Escaped(value));
    };
    line("family", &bot.family);
    line("operator", if bot.operator.is_empty() { "-" } else { &bot.operator });
    line("category", bot.category);
    match methods(catalogue, id).as_slice() {
        [] => line("verify", "no way known"),
        methods => methods.iter().for_each(|method| line("verify", method)),
    }
    for row in catalogue.rows_of(id) {
        line("row", &format!("{} {} ({} line {})", row.kind.name(), row.token, row.place, row.line));
        line("sample", &row.sample);
    }
    let mut relatives: Vec<&str> = catalogue
        .bots()
        .iter()
        .filter(|b| b.family == bot.family && b.name != bot.name)
        .map(|b| b.name.as_str())
        .collect();
    relatives.sort_unstable();
    if !relatives.is_empty() {
        line("others", &format!("of the family: {}", relatives.join(", ")));
    }
    Ok(text)
}
