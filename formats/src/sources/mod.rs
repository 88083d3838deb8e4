//! What comes from sources: images and their layers, credentials, copies that are kept.

pub mod copy;
pub mod docker_auth;
pub mod oci;
