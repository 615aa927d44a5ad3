//! Compares a baseline that a run has written with the truth that the generator wrote: benches must not time a wrong
//! answer.
//!
//! Example of a difference: `bots/Googlebot/peak_rpm: 1041 generated, 1040 found`

use serde_json::Value;

/// One line per difference; empty when all agree.
pub(crate) fn differences(truth: &Value, baseline: &Value) -> Vec<String> {
    let mut pairs = Vec::new();
    for key in ["lines", "blank", "directive", "records", "bytes_sum", "bot_records"] {
        pairs.push((key.to_owned(), &truth[key], &baseline["totals"][key]));
    }
    for (reason, count) in truth["rejects"].as_object().into_iter().flatten() {
        pairs.push((format!("rejects/{reason}"), count, &baseline["totals"]["rejects"][reason]));
    }
    for (status, count) in truth["bot_status"].as_object().into_iter().flatten() {
        pairs.push((format!("bot_status/{status}"), count, &baseline["status_distribution"][status]));
    }
    for (host, load) in truth["hosts"].as_object().into_iter().flatten() {
        let found = &baseline["hosts"][host];
        pairs.push((format!("hosts/{host}/peak_rpm"), &load["peak_rpm"], &found["rpm"]["peak"]));
        for (bot, load) in load["bots"].as_object().into_iter().flatten() {
            // Groups in parentheses are no bots; ten requests are what a self-declared name needs to be listed.
            if bot.starts_with('(') || load["requests"].as_u64() < Some(10) {
                continue;
            }
            let found = &found["bots"][bot];
            pairs.push((format!("{host}/{bot}/requests"), &load["requests"], &found["requests"]));
            pairs.push((format!("{host}/{bot}/peak_rpm"), &load["peak_rpm"], &found["rpm"]["peak"]));
        }
    }
    let differ = pairs.into_iter().filter(|(_, generated, found)| generated != found);
    differ.map(|(name, generated, found)| format!("{name}: {generated} generated, {found} found")).collect()
}
