//! Which budgets count a pod. They are kept by a label that their pods have, so that a pod does not ask each of them.

use std::collections::BTreeMap;

use super::model::BudgetIdx;
use crate::cluster::health::{DisruptionBudget, Pod, Selector};
use crate::fleet::Name;

pub(super) struct BudgetCounts<'b> {
    all: &'b [DisruptionBudget],
    by_label: BTreeMap<(&'b Name, &'b Name, &'b Name), Vec<BudgetIdx>>,
    /// Those that ask for no label's value.
    others: BTreeMap<&'b Name, Vec<BudgetIdx>>,
}

impl<'b> BudgetCounts<'b> {
    pub(super) fn by(all: &'b [DisruptionBudget]) -> Self {
        let (mut by_label, mut others) =
            (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        for (number, budget) in (0..).zip(all) {
            let own = match &budget.selector {
                Selector::None => continue,
                Selector::Those { labels, .. } => labels.first_key_value(),
            };
            let of = match own {
                Some((label, value)) => by_label
                    .entry((&budget.namespace, label, value))
                    .or_default(),
                None => others.entry(&budget.namespace).or_default(),
            };
            of.push(BudgetIdx(number));
        }
        Self {
            all,
            by_label,
            others,
        }
    }

    pub(super) fn of(&self, pod: &Pod) -> Vec<BudgetIdx> {
        let of_label = |(label, value)| self.by_label.get(&(&pod.namespace, label, value));
        let labelled = pod.labels.iter().filter_map(of_label).flatten();
        let others = self.others.get(&pod.namespace).into_iter().flatten();
        let counts = |budget: &&BudgetIdx| self.all[budget.0 as usize].counts(pod);
        labelled.chain(others).filter(counts).copied().collect()
    }
}
