//! The whole catalogue, one bot a row.
//!
//! Example of a row as CSV: `Googlebot,Googlebot,Google,search-engine,file:googlebot.json rdns:googlebot.com,2`

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use super::{as_json, methods};
use crate::bot::{BotId, BotInfo, Catalogue};
use crate::cli::ListFormat;
use crate::error::Error;
use crate::report::Escaped;

/// The list in the form that was asked for, with a line feed at its end.
pub(super) fn text(
    catalogue: &Catalogue,
    format: ListFormat,
    category: Option<&str>,
) -> Result<String, Error> {
    let bots: Vec<(BotId, &BotInfo)> = (0..)
        .map(BotId)
        .zip(catalogue.bots())
        .filter(|(_, bot)| category.is_none_or(|c| bot.category == c))
        .collect();
    Ok(match format {
        ListFormat::Table => table(catalogue, &bots),
        ListFormat::Csv => csv(catalogue, &bots),
        ListFormat::Json => {
            let all: Vec<Value> = bots.iter().map(|(id, _)| object(catalogue, *id)).collect();
            let mut text = as_json(&all)?;
            text.push('\n');
            text
        }
    })
}

/// One bot as JSON; `operator` is null where nobody knows.
pub(super) fn object(catalogue: &Catalogue, id: BotId) -> Value {
    let bot = catalogue.info(id);
    let rows: Vec<Value> = catalogue
        .rows_of(id)
        .map(|row| {
            json!({ "match": row.kind.name(), "token": row.token, "sample": row.sample, "place": row.place, "line": row.line })
        })
        .collect();
    json!({
        "name": bot.name,
        "family": bot.family,
        "operator": (!bot.operator.is_empty()).then_some(&bot.operator),
        "category": bot.category,
        "verify": methods(catalogue, id),
        "rows": rows,
    })
}

fn table(catalogue: &Catalogue, bots: &[(BotId, &BotInfo)]) -> String {
    let mut table = Table::new();
    table.force_no_tty().load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled).set_header([
        "Bot",
        "Family",
        "Operator",
        "Category",
        "Verified by",
    ]);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    for (id, bot) in bots {
        let verify = methods(catalogue, *id).join(" ");
        let cells = [&bot.name, &bot.family, &bot.operator, bot.category, &verify];
        table.add_row(cells.map(|cell| match cell {
            "" => "-".to_owned(),
            text => Escaped(text).to_string(),
        }));
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

fn csv(catalogue: &Catalogue, bots: &[(BotId, &BotInfo)]) -> String {
    let mut text = "name,family,operator,category,verify,rows\n".to_owned();
    for (id, bot) in bots {
        let verify = methods(catalogue, *id).join(" ");
        let rows = catalogue.rows_of(*id).count().to_string();
        let fields = [&bot.name, &bot.family, &bot.operator, bot.category, &verify, &rows];
        text.push_str(&fields.map(field).join(","));
        text.push('\n');
    }
    text
}

/// One field of CSV (RFC 4180). What a spreadsheet would take for a formula begins with an apostrophe instead: the
/// texts may come from a file that somebody else wrote.
fn field(text: &str) -> String {
    let harmless = match text.as_bytes().first() {
        Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r') => format!("'{text}"),
        _ => text.to_owned(),
    };
    if harmless.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", harmless.replace('"', "\"\""));
    }
    harmless
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be_and_are_no_formulas() {
        assert_eq!(field("Google"), "Google");
        assert_eq!(field("Acme, \"Inc\""), "\"Acme, \"\"Inc\"\"\"");
        assert_eq!(field("=1+2"), "'=1+2");
        assert_eq!(field(""), "");
    }

    #[test]
    fn every_form_has_every_bot_once() {
        let catalogue = Catalogue::built_in();
        let n = catalogue.bots().len();
        let lines = |format| text(&catalogue, format, None).unwrap().lines().count();
        assert_eq!((lines(ListFormat::Table), lines(ListFormat::Csv)), (n + 1, n + 1));
        let all: Vec<Value> =
            serde_json::from_str(&text(&catalogue, ListFormat::Json, None).unwrap()).unwrap();
        assert_eq!(all.len(), n);
        let rows: usize = all.iter().map(|b| b["rows"].as_array().unwrap().len()).sum();
        assert_eq!(rows, catalogue.rows().len());
        let seo: Vec<Value> =
            serde_json::from_str(&text(&catalogue, ListFormat::Json, Some("seo")).unwrap()).unwrap();
        assert!(!seo.is_empty() && seo.iter().all(|b| b["category"] == "seo"));
    }
}
