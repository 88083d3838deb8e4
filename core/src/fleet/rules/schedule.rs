//! Schedule: a start is decided only when its time is near.

use jiff::Timestamp;

use super::StartRule;
use crate::fleet::roster::{CalendarEntry, StartQuestion};
use crate::fleet::schedule::StartBarrier;
use crate::verdict::{Code, Verdict};

static SCHEDULE: Code = Code::new(
    "Schedule",
    "its schedule ({schedule}) is closed until {until}",
    "wait for the next start, or change the schedule",
)
.with(&[("schedule", "0 9 * * 1-5"), ("until", "2026-11-16 12:00Z")]);

static SCHEDULE_NEVER_OPENS: Code = Code::new(
    "ScheduleNeverOpens",
    "its schedule ({schedule}) never opens",
    "change the schedule",
)
.with(&[("schedule", "0 0 31 2 *")]);

static EXCLUDED: Code = Code::new(
    "Excluded",
    "an exclusion ({exclusion}) covers its next start, so it may not start before {until}",
    "wait, or change the policy's exclusions",
)
.with(&[
    (
        "exclusion",
        "2026-12-20 00:00 to 2027-01-03 00:00 Europe/Berlin: holidays",
    ),
    ("until", "2027-01-04 09:00Z"),
]);

static OUTSIDE_WINDOWS: Code = Code::new(
    "OutsideMaintenance",
    "its next start is outside its maintenance windows, so it may not start before {until}",
    "wait, or change the policy's maintenance windows or its schedule",
)
.with(&[("until", "2026-11-16 21:00Z")]);

static NEVER_ALLOWED: Code = Code::new(
    "NeverAllowed",
    "its schedule ({schedule}) has no start that its maintenance windows and exclusions allow",
    "change the schedule, the maintenance windows or the exclusions",
)
.with(&[("schedule", "0 9 * * 1-5")]);

pub(super) static RULE: StartRule = StartRule::new(
    &[
        &SCHEDULE,
        &SCHEDULE_NEVER_OPENS,
        &EXCLUDED,
        &OUTSIDE_WINDOWS,
        &NEVER_ALLOWED,
    ],
    judge,
)
.holding(holds);

fn holds(q: &StartQuestion<'_>) -> bool {
    calendar(q).schedules().start(q.now).is_none()
}

fn judge(q: &StartQuestion<'_>) -> Verdict {
    match holds(q) {
        true => closed(q, calendar(q).schedules().next_of_schedule(q.now)),
        false => Verdict::recommend(),
    }
}

/// It cannot start now. `planned` is the time at which it would, if there were neither windows nor exclusions.
pub(crate) fn closed(q: &StartQuestion<'_>, planned: Option<Timestamp>) -> Verdict {
    let calendar = calendar(q);
    let schedule = calendar
        .schedule
        .as_ref()
        .map_or("none", |schedule| schedule.as_str());
    let facts = [("schedule", schedule.into())];
    let schedules = calendar.schedules();
    let obstacle = planned.and_then(|planned| schedules.obstacle(planned));
    let Some(next) = schedules.next(q.now) else {
        let code = match obstacle {
            Some(_) => &NEVER_ALLOWED,
            None => &SCHEDULE_NEVER_OPENS,
        };
        return Verdict::refuse(code.because(facts));
    };
    let reason = match obstacle {
        None => SCHEDULE.because(facts),
        Some(StartBarrier::NoWindow) => OUTSIDE_WINDOWS.alone(),
        Some(StartBarrier::Exclusion(exclusion)) => {
            EXCLUDED.because([("exclusion", exclusion.to_string().as_str().into())])
        }
    };
    Verdict::wait(reason.until(next))
}

fn calendar<'a>(q: &StartQuestion<'a>) -> &'a CalendarEntry {
    &q.roster.calendars[q.class.calendar]
}
