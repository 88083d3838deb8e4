//! Schedule: a start is decided only when its time is near.

use super::StartRule;
use crate::fleet::roster::{CalendarEntry, StartQuestion};
use crate::verdict::{Code, Verdict};

static SCHEDULE: Code = Code::new(
    "Schedule",
    "its schedule ({schedule}) is closed until {until}",
    "wait for the next start, or change the schedule",
)
.with(&[
    ("schedule", "0 9 * * 1-5"),
    ("until", "2026-11-16T12:00:00Z"),
]);

static SCHEDULE_NEVER_OPENS: Code = Code::new(
    "ScheduleNeverOpens",
    "its schedule ({schedule}) never opens",
    "change the schedule",
)
.with(&[("schedule", "0 0 31 2 *")]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&SCHEDULE, &SCHEDULE_NEVER_OPENS], judge).holding(holds);

fn holds(q: &StartQuestion<'_>) -> bool {
    calendar(q).schedules().start(q.now).is_none()
}

fn judge(q: &StartQuestion<'_>) -> Verdict {
    match holds(q) {
        true => closed(q),
        false => Verdict::recommend(),
    }
}

/// The schedule is closed.
pub(crate) fn closed(q: &StartQuestion<'_>) -> Verdict {
    let calendar = calendar(q);
    let schedule = calendar
        .schedule
        .as_ref()
        .map_or("none", |schedule| schedule.as_str());
    let facts = [("schedule", schedule.into())];
    match calendar.schedules().next(q.now) {
        Some(next) => Verdict::wait(SCHEDULE.because(facts).until(next)),
        None => Verdict::refuse(SCHEDULE_NEVER_OPENS.because(facts)),
    }
}

fn calendar<'a>(q: &StartQuestion<'a>) -> &'a CalendarEntry {
    &q.roster.calendars[q.class.calendar]
}
