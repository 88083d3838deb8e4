//! The minor versions as the built-in table has them. A test of formats holds that they are the same.

use towpath_core::version::{Minor, MinorFact, MinorRow, Minors};

/// 4.1 to 4.22 by the arithmetic that held for them; 4.23 and 5.x as they are known, and not verified.
pub fn minors() -> Minors {
    let four = (1..=22).map(|minor| (Minor::new(4, minor), of_four(minor)));
    let five = (0..=8).map(|minor| (Minor::new(5, minor), of_five(minor)));
    let unverified = [
        MinorFact::Kubernetes,
        MinorFact::KubeletSkew,
        MinorFact::HostedKubeletSkew,
    ];
    let last_four = MinorRow {
        next: [Minor::new(5, 1)].into(),
        kubernetes: Some(Minor::new(1, 36)),
        kubelet_skew: Some(1),
        hosted_kubelet_skew: Some(3),
        unverified: unverified.into(),
        ..MinorRow::default()
    };
    let last_four = [(Minor::new(4, 23), last_four)];
    Minors::new(four.chain(last_four).chain(five).collect())
}

/// The same, with everything confirmed.
pub fn confirmed_minors() -> Minors {
    let rows = minors().rows().clone().into_iter().map(|(minor, mut row)| {
        row.unverified.clear();
        (minor, row)
    });
    Minors::new(rows.collect())
}

fn of_four(minor: u64) -> MinorRow {
    let is_even = minor.is_multiple_of(2);
    let next = [Minor::new(4, minor + 1)].into_iter();
    MinorRow {
        next: next
            .chain((minor == 22).then_some(Minor::new(5, 0)))
            .collect(),
        skips: [].into(),
        // 4.3 left one out.
        kubernetes: Some(Minor::new(
            1,
            if minor < 3 { minor + 12 } else { minor + 13 },
        )),
        kubelet_skew: Some(if is_even && minor >= 8 { 2 } else { 1 }),
        hosted_kubelet_skew: (minor >= 14).then_some(3),
        is_eus: is_even && minor >= 6,
        unverified: (minor >= 14)
            .then_some(MinorFact::HostedKubeletSkew)
            .into_iter()
            .collect(),
    }
}

fn of_five(minor: u64) -> MinorRow {
    let is_known = minor <= 2;
    let mut unverified = vec![
        MinorFact::KubeletSkew,
        MinorFact::HostedKubeletSkew,
        MinorFact::Eus,
    ];
    unverified.extend(is_known.then_some(MinorFact::Kubernetes));
    unverified.extend((minor > 0).then_some(MinorFact::Next));
    unverified.extend((minor == 0).then_some(MinorFact::Skips));
    MinorRow {
        next: (minor < 8)
            .then_some(Minor::new(5, minor + 1))
            .into_iter()
            .collect(),
        skips: (minor == 0)
            .then_some(Minor::new(5, 2))
            .into_iter()
            .collect(),
        kubernetes: is_known.then_some(Minor::new(1, minor + 36)),
        kubelet_skew: u8::try_from(minor % 3 + 1).ok(),
        hosted_kubelet_skew: Some(3),
        is_eus: minor % 3 == 2,
        unverified: unverified.into_iter().collect(),
    }
}
