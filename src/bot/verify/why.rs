//! Why a verdict is what it is, for `bots test`. Decides nothing: [`super::Verifier::verdict`] does.
//!
//! Example: `failed: 203.0.113.9 is in none of googlebot.json, common-crawlers.json`

use std::net::IpAddr;

use super::{Verifier, key};
use crate::bot::catalogue::{BotId, Catalogue, Method};
use crate::bot::who::Who;
use crate::tally::table::Verification;

impl Verifier {
    /// One sentence on the verdict of a claim, with the files and suffixes that speak for it.
    #[must_use]
    pub fn why(&self, catalogue: &Catalogue, who: &Who, client: IpAddr) -> String {
        let Who::Known(BotId(_)) = who else {
            return match who {
                Who::Declared(_) => "a bot that only declares itself has nothing to check by".to_owned(),
                _ => "no claim to be a bot, nothing to check".to_owned(),
            };
        };
        let wanted = self.wanted(catalogue, who);
        let Some(check) = self.check(who) else {
            return match wanted.as_slice() {
                [] => "the catalogue knows no way to check this bot".to_owned(),
                wanted => format!("nothing to check by was given: {}", wanted.join(", ")),
            };
        };
        let names = |files: &[usize]| -> String {
            let names: Vec<&str> = files.iter().map(|f| self.files[*f].name()).collect();
            names.join(", ")
        };
        let canonical = client.to_canonical();
        match self.verdict(who, Some(client)) {
            Verification::Verified => {
                match check.files.iter().find(|f| self.files[**f].ranges().contains(canonical)) {
                    Some(file) => format!("{canonical} is in {}", self.files[*file].name()),
                    None => {
                        format!(
                            "{canonical} has a forward-confirmed name under {}",
                            suffixes(&check.suffixes)
                        )
                    }
                }
            }
            Verification::Failed if check.complete.is_empty() => {
                format!("{canonical} has no confirmed name under {}", suffixes(&check.suffixes))
            }
            Verification::Failed => format!("{canonical} is in none of {}", names(&check.files)),
            Verification::NotCheckable if !check.files.is_empty() && check.complete.is_empty() => format!(
                "{canonical} is not in {}, and files that belong to them are missing: {}",
                names(&check.files),
                wanted.join(", ")
            ),
            Verification::NotCheckable if check.files.is_empty() => {
                format!("--rdns has no answer for {canonical} that decides")
            }
            Verification::NotCheckable => {
                format!(
                    "{} cannot hold {canonical}, or its reverse name is not confirmed",
                    names(&check.files)
                )
            }
        }
    }

    /// What could speak for the bot and was not given, as flags name it.
    fn wanted(&self, catalogue: &Catalogue, who: &Who) -> Vec<String> {
        let Who::Known(id) = who else { return Vec::new() };
        let have: Vec<String> = self.files.iter().map(|f| key(f.name())).collect();
        let mut out = Vec::new();
        for method in &catalogue.info(*id).methods {
            match method {
                Method::Files(files) => {
                    let missing = files.iter().filter(|f| !have.contains(&key(f)));
                    out.extend(missing.map(|f| format!("{f} (--ip-ranges)")));
                }
                Method::ReverseDns(suffix) | Method::ReverseDnsOnly(suffix) if self.names.is_empty() => {
                    out.push(format!("a name under {suffix} (--rdns)"));
                }
                Method::ReverseDns(_) | Method::ReverseDnsOnly(_) => {}
            }
        }
        out
    }
}

fn suffixes(suffixes: &[super::Suffix]) -> String {
    let names: Vec<&str> = suffixes.iter().map(|s| s.name.as_str()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_is_said_with_what_decided_it() {
        let catalogue = Catalogue::built_in();
        let who = Who::Known(catalogue.find("Googlebot").unwrap());
        let inside: IpAddr = "198.51.100.5".parse().unwrap();
        let outside: IpAddr = "203.0.113.9".parse().unwrap();
        let nothing = Verifier::load(&catalogue, None, None).unwrap();
        let why = nothing.why(&catalogue, &who, inside);
        assert!(
            why.contains("googlebot.json (--ip-ranges)") && why.contains("googlebot.com (--rdns)"),
            "{why}"
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("googlebot.json"), r#"["198.51.100.0/27"]"#).unwrap();
        std::fs::write(folder.path().join("common-crawlers.json"), r#"["198.51.100.32/27"]"#).unwrap();
        let verifier = Verifier::load(&catalogue, Some(folder.path()), None).unwrap();
        assert_eq!(verifier.why(&catalogue, &who, inside), "198.51.100.5 is in googlebot.json");
        assert!(verifier.why(&catalogue, &who, outside).starts_with("203.0.113.9 is in none of "));
        assert!(verifier.why(&catalogue, &Who::People, outside).contains("no claim"));
        let declared = Who::Declared("AcmeSpider".to_owned());
        assert!(verifier.why(&catalogue, &declared, outside).contains("nothing to check by"));
    }
}
