//! The reader of documents: what people write becomes a tree with places, and entries are taken from the tree.
//!
//! 1. [`yaml`] turns bytes into a [`Node`], within limits of bytes, values, depth and aliases. [`Node`]s know their place.
//! 2. A [`Reader`] takes records, texts, lists and numbers from nodes. Each problem becomes a finding with place, problem
//!    and remedy, and reading goes on. The caller says whether an unknown field is refused or only noted.
//!
//! There is exactly one more way in. What machines write is large and read often: releases, answers, reports, manifests.
//! It goes straight into serde types through [`json`], since a tree would cost time and nobody edits it by hand.

pub(crate) mod json;
mod record;
mod strict;
mod tree;
pub(crate) mod yaml;

pub(crate) use json::Unique;
pub(crate) use record::{Reader, Record, shown, whole};
pub(crate) use tree::{FieldName, Node, Value};
