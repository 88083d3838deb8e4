//! The reader of documents: turns what people write into a tree with places, and takes entries
//! from the tree.
//!
//! 1. [`yaml`] turns bytes into a [`Node`], within limits of bytes, values, depth and aliases.
//!    Each [`Node`] knows its place.
//! 2. A [`Reader`] takes records, texts, lists and numbers from nodes. Each problem becomes a
//!    finding with place, problem and remedy, and reading goes on. The caller says whether an
//!    unknown field is refused or only noted.
//!
//! There is exactly one more way in. Machines write large files that are read often: releases,
//! answers, reports, manifests. They go straight into serde types through [`json`], because a tree
//! would cost time and nobody edits them by hand.

pub(crate) mod json;
mod record;
mod strict;
mod tree;
pub(crate) mod yaml;

pub(crate) use json::Unique;
pub(crate) use record::{Reader, Record, shown, too_large, whole};
pub(crate) use tree::{FieldName, Node, Value};
