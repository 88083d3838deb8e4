//! Maintenance windows in a policy file: when they open, how long they last, and their time zone.

use jiff::SignedDuration;
use towpath_core::fleet::{MaintenanceWindow, Schedule, Zone};

use crate::read::{Node, Reader, Record, shown};
use crate::timespan::TimeSpan;

/// Reads a window. Which schedules it may have is the caller's.
pub(crate) fn window(
    reader: &mut Reader,
    node: &Node,
    schedule: &mut dyn FnMut(&str) -> Result<Schedule, String>,
) -> Option<MaintenanceWindow> {
    let record = reader.record(
        node,
        "a maintenance window",
        &["start", "duration", "timeZone"],
    )?;
    let begins = reader
        .required(
            record,
            "start",
            "add `start: \"0 22 * * 1-5\"`, or the like",
        )
        .and_then(|node| {
            let text = reader.text(node, "the start of a window")?;
            let begins = schedule(text).map_err(|why| {
                let problem = format!("{:?} is not a schedule: {why}", shown(text));
                let remedy = "write minute, hour, day of month, month, day of week: `0 22 * * 1-5`";
                reader.error("bad-window", node, problem, remedy);
            });
            begins.ok()
        });
    let lasts = reader
        .required(record, "duration", "add `duration: PT4H`, or the like")
        .and_then(|node| {
            let text = reader.text(node, "the duration of a window")?;
            let lasts = length(text).map_err(|problem| {
                let hours = MaintenanceWindow::LONGEST.as_hours();
                reader.error(
                    "bad-window",
                    node,
                    problem,
                    &format!("write it as in 4h or PT4H, at most {hours}h"),
                );
            });
            lasts.ok()
        });
    let time_zone = time_zone(reader, record);
    Some(MaintenanceWindow {
        begins: begins?,
        lasts: lasts?,
        time_zone: time_zone?,
    })
}

/// How long a window lasts.
fn length(text: &str) -> Result<SignedDuration, String> {
    let fits = |lasts: &SignedDuration| {
        *lasts > SignedDuration::ZERO && *lasts <= MaintenanceWindow::LONGEST
    };
    text.parse::<TimeSpan>()
        .ok()
        .map(TimeSpan::signed)
        .filter(fits)
        .ok_or_else(|| format!("{:?} is not a length of a maintenance window", shown(text)))
}

/// The zone that an entry names; UTC if it names none.
pub(crate) fn time_zone(reader: &mut Reader, record: Record<'_>) -> Option<Zone> {
    let Some(node) = record.get("timeZone") else {
        return "UTC".parse().ok();
    };
    let zone = reader.text(node, "a time zone")?.parse::<Zone>();
    if let Err(why) = &zone {
        reader.error(
            "bad-time-zone",
            node,
            why.to_string(),
            "write its name: UTC, Europe/Berlin, America/New_York",
        );
    }
    zone.ok()
}
