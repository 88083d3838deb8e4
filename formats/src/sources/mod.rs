//! What sources deliver: images and their layers, credentials, and the copies that we keep.

pub mod copy;
pub mod docker_auth;
pub mod oci;
pub mod update_service;
