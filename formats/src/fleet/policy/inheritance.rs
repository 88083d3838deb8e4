//! Inherited version data: one organisation uses another's, if both say so.

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::finding::Finding;
use towpath_core::fleet::{FleetPolicy, Name};

use super::organisation::Rules;
use super::references::{Directory, PolicyReference};

/// The name of what is found here.
pub(crate) const ONE_SIDED: &str = "one-sided-inheritance";

/// Settles who inherits from which organisation. If only one side says so, it has no effect and is
/// a warning.
pub(crate) fn settle(
    policy: &mut FleetPolicy,
    rules: &BTreeMap<Name, Rules>,
    directory: &Directory,
    findings: &mut Vec<Finding>,
) {
    let inherits = InheritanceWishes::of(rules, directory, |rules| &rules.inherits);
    let publishes = InheritanceWishes::of(rules, directory, |rules| &rules.publishes);
    inherits.warn(
        &publishes,
        "is inherited from",
        "publishVersionData",
        findings,
    );
    publishes.warn(&inherits, "is published to", "inheritVersionData", findings);
    for (id, other) in inherits
        .pairs
        .iter()
        .filter(|(id, other)| id != other && publishes.has(other, id))
    {
        if let Some(organisation) = policy.organisations.get_mut(id) {
            organisation.inherits_from.insert(other.clone());
        }
    }
}

/// What organisations say of others, on one of the two sides.
struct InheritanceWishes<'r> {
    all: Vec<(&'r Name, &'r PolicyReference, Option<Name>)>,
    pairs: BTreeSet<(Name, Name)>,
}

impl<'r> InheritanceWishes<'r> {
    fn of(
        rules: &'r BTreeMap<Name, Rules>,
        directory: &Directory,
        list: fn(&Rules) -> &[PolicyReference],
    ) -> Self {
        let wishes = rules
            .iter()
            .flat_map(|(id, rules)| list(rules).iter().map(move |reference| (id, reference)));
        let all: Vec<_> = wishes
            .map(|(id, reference)| (id, reference, directory.find(reference)))
            .collect();
        let pairs = all
            .iter()
            .filter_map(|(id, _, other)| Some(((*id).clone(), other.clone()?)))
            .collect();
        Self { all, pairs }
    }

    fn has(&self, id: &Name, other: &Name) -> bool {
        self.pairs.contains(&(id.clone(), other.clone()))
    }

    /// Warns of what the other side does not say.
    fn warn(
        &self,
        answers: &InheritanceWishes<'_>,
        does: &str,
        answer: &str,
        findings: &mut Vec<Finding>,
    ) {
        for (id, reference, other) in &self.all {
            let named = reference.shown();
            let problem = match other {
                Some(other) if answers.has(other, id) => continue,
                Some(_) => format!(
                    "version data {does} {named:?}, which does not say so too; it has no effect"
                ),
                None => format!("version data {does} {named:?}, and there is no such organisation"),
            };
            let remedy = format!("add `{answer}` with {:?} there, or remove this", &***id);
            findings.push(Finding::warning(
                ONE_SIDED,
                reference.place.clone(),
                problem,
                remedy,
            ));
        }
    }
}
