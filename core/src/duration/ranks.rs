//! Ranks and quantiles: what outliers hardly move.

/// The rank of each number, from 1. Equal ones share the middle of their ranks.
pub(super) fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    let mut ranks = vec![0.0; numbers.len()];
    for equal in order.chunk_by(|a, b| numbers[*a] == numbers[*b]) {
        let first = order.partition_point(|at| numbers[*at] < numbers[equal[0]]);
        let middle = first as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|at| ranks[*at] = middle);
    }
    ranks
}

/// What that share of sorted numbers does not exceed, in between by straight lines. There has to be one.
pub(super) fn sorted_quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, rest) = (place.floor(), place - place.floor());
    let at = |index: usize| sorted[index.min(sorted.len() - 1)];
    at(low as usize) * (1.0 - rest) + at(low as usize + 1) * rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(ranks(&[]), Vec::<f64>::new());
    }

    #[test]
    fn quantiles_lie_between() {
        let sorted = [1.0, 2.0, 4.0];
        assert_eq!(sorted_quantile(&sorted, 0.5), 2.0);
        assert_eq!(sorted_quantile(&sorted, 0.75), 3.0);
        assert_eq!(sorted_quantile(&sorted, 1.0), 4.0);
    }
}
