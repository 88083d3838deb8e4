//! Who may do what, as files, text and JSON.

pub mod policy;
pub mod revoked;
pub mod table;
