//! Names: nothing starts on a cluster that shares its name. Policies, approvals and people know
//! clusters by name.

use super::StartRule;
use crate::fleet::NameClash;
use crate::fleet::roster::StartQuestion;
use crate::verdict::{Code, Verdict};

/// Other clusters have its name, and nobody can tell which of them is meant.
static NAME_DISPUTED: Code = Code::new(
    "NameDisputed",
    "{others|other cluster is|other clusters are} called {name} too ({other}), and nobody can tell which is meant",
    "`towpath fleet forget` the cluster that is gone, or give each a name of its own",
)
.with(&[("name", "shop"), ("other", "0f3a"), ("others", "1")]);

/// Its name is that of a cluster that is bound, and it is not.
static NAME_TAKEN: Code = Code::new(
    "NameTaken",
    "{name} is the name of cluster {by}; this cluster only says that it is called so",
    "give the cluster a name of its own and a token for it (`towpath fleet token`), or list it",
)
.with(&[("name", "shop"), ("by", "0f3a")]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&NAME_DISPUTED, &NAME_TAKEN], judge).holding(|q| q.member.clash.is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let name = &q.member.state.name;
    let refuse = |clash: &NameClash| match clash {
        NameClash::Disputed { other, others } => Verdict::refuse(NAME_DISPUTED.because([
            ("name", name.into()),
            ("other", other.as_str().into()),
            ("others", (*others).into()),
        ])),
        NameClash::Taken { by } => {
            Verdict::refuse(NAME_TAKEN.because([("name", name.into()), ("by", by.as_str().into())]))
        }
    };
    q.member.clash.iter().map(refuse).collect()
}
