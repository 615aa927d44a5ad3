//! What a crawler that keeps to its bucket can never be accused of.

use std::time::Duration;

use proptest::prelude::{prop, prop_assert_eq, proptest};

use super::{Check, Given, Inputs, Level, Outcome, run};
use crate::simulate::{HostSettings, Pace, Page, Settings, simulate};
use crate::throttle::{Limits, Rate};

proptest! {
    /// A plan under a ceiling and a burst passes that ceiling in all three windows, however its pages are.
    #[test]
    fn a_plan_that_keeps_to_its_ceiling_never_breaks_it(
        rpm in 1_u64..200, burst in 1_u64..12, pages in 1_usize..400, minutes in 1_u64..4,
        ttls in prop::collection::vec(0_u64..200, 1..5),
    ) {
        let pages: Vec<Page> = (0..pages).map(|i| Page {
            ttl: Some(Duration::from_secs(ttls[i % ttls.len()])),
            fetched_at: Some(Duration::ZERO),
            ..Page::new(&format!("https://h/{i:04}"), "h", 1.0)
        }).collect();
        let pace = Some(Pace { rate: Rate::per_minute(rpm).unwrap(), burst });
        let settings = Settings {
            minutes,
            limits: Limits { host_per_minute: Some(rpm), ..Limits::default() },
            other_hosts: HostSettings { pace, ..HostSettings::default() },
            ..Settings::default()
        };
        let report = Given { place: "r.json".to_owned(), value: simulate(&pages, &settings).unwrap() };
        let inputs = Inputs { report: Some(&report), max_rpm: Some(rpm), ..Inputs::default() };
        let verdict = run(&inputs, &[Check::RpmCeiling], Level::Note);
        prop_assert_eq!(verdict.breaches(), 0, "{:?}", verdict.outcomes);
        if rpm > 1 && report.value.hosts["h"].rpm_peak == rpm {
            let below = Inputs { max_rpm: Some(rpm - 1), ..inputs };
            prop_assert_eq!(run(&below, &[], Level::Error).word(), "breach");
        }
    }
}

#[test]
fn a_gate_without_input_skips_every_check_and_has_not_passed() {
    let verdict = run(&Inputs::default(), &[], Level::Error);
    assert_eq!(verdict.outcomes.len(), Check::ALL.len());
    assert!(verdict.outcomes.iter().all(|(_, outcome)| matches!(outcome, Outcome::Skipped(_))));
    assert_eq!((verdict.status().code(), verdict.word()), (3, "no_data"));
}
