//! How a window's share of the fleet grows: `ramp`, or from schema 2.1.0 on `stages`.

use towpath_core::graph::{Ramp, Stages};

use crate::read::{Node, Reader, Record, Value, shown};

/// The ramp of a rule or of a ring in it, or the usual one. None if it cannot be read.
pub(super) fn read(reader: &mut Reader, record: Record<'_>, usual: Ramp) -> Option<Ramp> {
    let ramp = reader.given_text(record, "ramp");
    match (record.given("stages"), ramp) {
        (Some(_), Some((node, _))) => {
            let problem = "`ramp` and `stages` both say how the share grows";
            reader.error("bad-ramp", node, problem, "remove one of them");
            None
        }
        (Some(stages), None) => self::stages(reader, stages),
        (None, Some((_, "linear"))) => Some(Ramp::Linear),
        (None, Some((_, "exponential"))) => Some(Ramp::Exponential),
        (None, Some((node, other))) => {
            let problem = format!("{:?} is not a ramp", shown(other));
            let remedy = "use linear or exponential, or `stages`";
            reader.error("bad-ramp", node, problem, remedy);
            None
        }
        (None, None) => Some(usual),
    }
}

fn stages(reader: &mut Reader, node: &Node) -> Option<Ramp> {
    let is_list = matches!(&node.value, Value::List(items) if items.len() <= Stages::MAX);
    let items = reader.list(node, "stages", Stages::MAX);
    if !is_list {
        return None;
    }
    let shares: Vec<Option<u16>> = items.iter().map(|item| share(reader, item)).collect();
    let shares = shares.into_iter().collect::<Option<Vec<u16>>>()?;
    let stages = Stages::new(&shares);
    if stages.is_none() {
        let problem = "the shares of `stages` do not rise from one to the next";
        let remedy = "write 1 to 12 shares, each larger than the one before, as in [0.5%, 5%, 40%]; everybody follows at the end by itself";
        reader.error("bad-ramp", node, problem, remedy);
    }
    stages.map(Ramp::Stages)
}

/// A share, in hundredths of a percent.
fn share(reader: &mut Reader, node: &Node) -> Option<u16> {
    let text = reader.text(node, "a share of `stages`")?;
    let share = hundredths(text).filter(|share| (1..Stages::WHOLE).contains(share));
    if share.is_none() {
        let problem = format!("{:?} is not a share of the fleet", shown(text));
        let remedy = "write a percentage from 0.01% to 99.99%, with at most two places, as in 0.5%";
        reader.error("bad-ramp", node, problem, remedy);
    }
    share
}

/// `12.5%` and `12.5 %` are 1250.
fn hundredths(text: &str) -> Option<u16> {
    let number = text.strip_suffix('%')?.trim_end_matches(' ');
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str, most: usize| {
        let fits = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| text.parse::<u16>().ok()).flatten()
    };
    let part = digits(part, 2)? * if part.len() == 1 { 10 } else { 1 };
    Some(digits(whole, 2)? * 100 + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_at_most_two_places() {
        let read = ["0.5%", "12.5 %", "5%", "0.05%", "99.99%", "05%"].map(hundredths);
        assert_eq!(read, [50, 1250, 500, 5, 9999, 500].map(Some));
        for wrong in [
            "", "%", "5", "100%", "0.125%", ".5%", "5.%", "-5%", "1e1%", "5%%", "٥%",
        ] {
            assert_eq!(hundredths(wrong), None, "{wrong}");
        }
    }
}
