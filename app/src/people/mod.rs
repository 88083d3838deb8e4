//! Recognises people by tokens that others made, and lets them log in with the page.

mod oidc;

use std::sync::Arc;

use towpath_web::Service;

use crate::config::PeopleSettings;

/// Begins to follow whoever knows people. It waits for nobody: graphs do not depend on it.
pub(crate) fn start(settings: &PeopleSettings, service: &Arc<Service>) -> anyhow::Result<()> {
    if let Some(options) = &settings.oidc {
        let issuer = oidc::OidcPeople::start(options.clone())?;
        service.login(issuer);
    }
    Ok(())
}
