//! Tables: rows found by number, where each kind of number has a type of its own.
//!
//! `Idx<Version>` is the number of a version, and only a table by version takes it. Rows need not
//! be of the numbered type: `Table<Version, i64>` has seconds for each version.

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The number of a `T`.
pub struct Idx<T>(u32, PhantomData<fn() -> T>);

impl<T> Idx<T> {
    pub(crate) const FIRST: Self = Self(0, PhantomData);

    pub(crate) fn new(at: usize) -> Self {
        Self(at as u32, PhantomData)
    }

    /// Its place in a list that is no table.
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1, PhantomData)
    }
}

// By hand: a number can be copied and compared, whatever it is the number of.
impl<T> Clone for Idx<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Idx<T> {}

impl<T> PartialEq for Idx<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Idx<T> {}

impl<T> PartialOrd for Idx<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Idx<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl<T> fmt::Debug for Idx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A row for each `T`, by its number.
#[derive(Debug, Clone)]
pub(crate) struct Table<T, R = T>(Vec<R>, PhantomData<fn() -> T>);

impl<T, R> Table<T, R> {
    /// A row of its own for each of as many as another table has.
    pub(crate) fn like<S>(other: &Table<T, S>, row: R) -> Self
    where
        R: Clone,
    {
        Self(vec![row; other.len()], PhantomData)
    }

    pub(crate) fn push(&mut self, row: R) -> Idx<T> {
        self.0.push(row);
        Idx::new(self.0.len() - 1)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn rows(&self) -> &[R] {
        &self.0
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, R> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, R> {
        self.0.iter_mut()
    }

    /// The numbers of all rows there are now.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = Idx<T>> + use<T, R> {
        (0..self.0.len()).map(Idx::new)
    }

    pub(crate) fn numbered(&self) -> impl Iterator<Item = (Idx<T>, &R)> {
        self.numbers().zip(&self.0)
    }
}

impl<T, R> Default for Table<T, R> {
    fn default() -> Self {
        Self(Vec::new(), PhantomData)
    }
}

impl<T, R> FromIterator<R> for Table<T, R> {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> Self {
        Self(rows.into_iter().collect(), PhantomData)
    }
}

impl<T, R> Index<Idx<T>> for Table<T, R> {
    type Output = R;

    fn index(&self, number: Idx<T>) -> &R {
        &self.0[number.at()]
    }
}

impl<T, R> IndexMut<Idx<T>> for Table<T, R> {
    fn index_mut(&mut self, number: Idx<T>) -> &mut R {
        &mut self.0[number.at()]
    }
}
