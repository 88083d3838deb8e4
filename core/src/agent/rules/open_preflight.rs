//! Open preflight: the agent asks for no preflight while somebody else's is open.

use super::{OfferQuestion, OfferRule};
use crate::verdict::{Code, Value, Verdict};

static OPEN_PREFLIGHT: Code = Code::new(
    "OpenPreflight",
    "somebody has asked for a preflight of {to}",
    "let it end, or clear it: `oc adm upgrade --clear`",
)
.with(&[("to", "4.21.0")]);

pub(super) static RULE: OfferRule = OfferRule::new(&[&OPEN_PREFLIGHT], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    match &q.at.standing.preflight {
        Some(open) => Verdict::wait(OPEN_PREFLIGHT.because([("to", Value::text(open))])),
        None => Verdict::recommend(),
    }
}
