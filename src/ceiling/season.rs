//! Hours of the week in local time, and what people leave of a host in each of them.
//!
//! Not the ceilings of the slots (see [`super::entry`]). Example: 29469600 in Europe/Berlin is Monday, hour 01: `1-01`.

use std::collections::BTreeMap;

use super::minute::DAY;
use super::policy::Policy;
use super::rank::surely_not_passed;
use super::site::Zone;

/// How finely the week is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotKind {
    HourOfWeek,
    WeekdayHour,
    HourOfDay,
    All,
}

impl SlotKind {
    /// From fine to coarse, with the dates that every slot needs.
    const LADDER: [(Self, usize); 4] =
        [(Self::HourOfWeek, 3), (Self::WeekdayHour, 2), (Self::HourOfDay, 2), (Self::All, 0)];

    /// 168, 48, 24 or 1.
    pub(super) fn slots(self) -> usize {
        match self {
            Self::HourOfWeek => 168,
            Self::WeekdayHour => 48,
            Self::HourOfDay => 24,
            Self::All => 1,
        }
    }

    /// The slot of a minute of local time. Slots are numbered in the order of their names.
    pub(super) fn slot_of(self, local: i64) -> usize {
        let hour = local.rem_euclid(DAY) / 60;
        let weekday = (local.div_euclid(DAY) + 3).rem_euclid(7); // 1970-01-01 was a Thursday; Monday = 0
        let slot = match self {
            Self::HourOfWeek => weekday * 24 + hour,
            Self::WeekdayHour => i64::from(weekday >= 5) * 24 + hour,
            Self::HourOfDay => hour,
            Self::All => 0,
        };
        usize::try_from(slot).unwrap_or(0)
    }

    /// `1-00` to `7-23` (ISO weekday), `weekday-00`, `weekend-00`, `00`, or `all`.
    pub(super) fn name(self, slot: usize) -> String {
        let (day, hour) = (slot / 24, slot % 24);
        match self {
            Self::HourOfWeek => format!("{}-{hour:02}", day + 1),
            Self::WeekdayHour => format!("{}-{hour:02}", if day == 1 { "weekend" } else { "weekday" }),
            Self::HourOfDay => format!("{hour:02}"),
            Self::All => "all".to_owned(),
        }
    }
}

/// Local time of the clean window, looked up once.
#[derive(Debug, Clone)]
pub(super) struct Calendar {
    zone: Zone,
    from: i64,
    offsets: Vec<i64>,
    /// Length in minutes of the local dates that are not 1440 minutes long.
    odd_days: BTreeMap<i64, i64>,
}

impl Calendar {
    /// Of the minutes `from..=to`.
    pub(super) fn new(zone: Zone, from: i64, to: i64) -> Self {
        let mut out = Self { zone, from, offsets: Vec::new(), odd_days: BTreeMap::new() };
        if let Zone::Fixed(_) = zone {
            return out;
        }
        out.offsets = (from..=to).map(|m| zone.offset_minutes(m)).collect();
        for date in out.date_of(from)..=out.date_of(to) {
            // Offsets change at whole quarters of an hour; only then is it worth to count every minute.
            let around = (date - 1) * DAY..(date + 2) * DAY;
            let first = zone.offset_minutes(around.start);
            if around.clone().step_by(15).any(|m| zone.offset_minutes(m) != first) {
                let of_date = around.filter(|m| (m + zone.offset_minutes(*m)).div_euclid(DAY) == date);
                out.odd_days.insert(date, i64::try_from(of_date.count()).unwrap_or(DAY));
            }
        }
        out
    }

    /// The minute in local time.
    pub(super) fn local(&self, minute: i64) -> i64 {
        let at = usize::try_from(minute - self.from).unwrap_or(usize::MAX);
        minute + self.offsets.get(at).copied().unwrap_or_else(|| self.zone.offset_minutes(minute))
    }

    /// The local date of a UTC minute, days since 1970-01-01.
    pub(super) fn date_of(&self, minute: i64) -> i64 {
        self.local(minute).div_euclid(DAY)
    }

    /// Minutes of a local date of the window: 1380 and 1500 where clocks change.
    pub(super) fn day_minutes(&self, date: i64) -> u64 {
        u64::try_from(self.odd_days.get(&date).copied().unwrap_or(DAY).max(1)).unwrap_or(1)
    }
}

/// The slots of a host whose capacity is known.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    pub(super) kind: SlotKind,
    /// By slot: what people surely do not pass, requests per minute.
    pub(super) people: Vec<u64>,
}

impl Slots {
    /// From (covered minute, requests of everybody but the bots), ascending: the finest division of which every slot
    /// has enough dates.
    pub(super) fn of(people: &[(i64, u64)], calendar: &Calendar, policy: &Policy) -> Self {
        for (kind, dates_needed) in SlotKind::LADDER {
            let mut loads = vec![Vec::new(); kind.slots()];
            let mut dates = vec![Vec::new(); kind.slots()];
            for (minute, n) in people {
                let local = calendar.local(*minute);
                let (slot, date) = (kind.slot_of(local), local.div_euclid(DAY));
                loads[slot].push(*n);
                if dates[slot].last() != Some(&date) {
                    dates[slot].push(date);
                }
            }
            let enough = dates.iter_mut().all(|d| {
                d.sort_unstable();
                d.dedup();
                !d.is_empty() && d.len() >= dates_needed
            });
            if enough {
                let people = loads.into_iter().map(|l| surely_not_passed(l, policy).unwrap_or(0)).collect();
                return Self { kind, people };
            }
        }
        Self { kind: SlotKind::All, people: vec![0] }
    }

    /// Values by slot under their names.
    pub(super) fn named(&self, values: &[u64]) -> BTreeMap<String, u64> {
        values.iter().enumerate().map(|(slot, v)| (self.kind.name(slot), *v)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_numbered_in_the_order_of_their_names() {
        for (kind, _) in SlotKind::LADDER {
            let names: Vec<String> = (0..kind.slots()).map(|s| kind.name(s)).collect();
            assert!(names.is_sorted(), "{kind:?}");
        }
        assert_eq!(SlotKind::HourOfWeek.name(SlotKind::HourOfWeek.slot_of(0)), "4-00");
        assert_eq!(SlotKind::WeekdayHour.name(SlotKind::WeekdayHour.slot_of(2 * DAY + 61)), "weekend-01");
    }

    #[test]
    fn the_day_on_which_clocks_go_back_has_25_hours() {
        let date = 20_454 + 297; // 2026-10-25
        let berlin =
            Calendar::new(Zone::Named(chrono_tz::Europe::Berlin), (date - 2) * DAY, (date + 2) * DAY);
        assert_eq!([date - 1, date, date + 1].map(|d| berlin.day_minutes(d)), [1440, 1500, 1440]);
        assert_eq!(berlin.local(date * DAY) - date * DAY, 120);
        assert_eq!(berlin.local(date * DAY + 60) - date * DAY, 120);
    }
}
