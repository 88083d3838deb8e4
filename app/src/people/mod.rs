//! Recognises people by tokens that others made, and lets them log in with the page.

mod kubernetes;
mod oidc;

use std::sync::Arc;

use towpath_web::{Authenticator, Service};

use crate::config::PeopleSettings;

/// Begins to follow whoever knows people. It waits for nobody: graphs do not depend on it.
pub(crate) async fn start(settings: &PeopleSettings, service: &Arc<Service>) -> anyhow::Result<()> {
    let mut authenticators: Vec<Arc<dyn Authenticator>> = Vec::new();
    let issuer = settings.oidc.as_ref().map(|oidc| oidc.issuer.clone());
    // Service accounts come first: whoever is left is of the issuer, which says what is wrong with a token.
    if let Some(options) = &settings.kubernetes {
        authenticators.push(Arc::new(
            kubernetes::Accounts::connect(options, issuer).await?,
        ));
    }
    if let Some(options) = &settings.oidc {
        let people = oidc::OidcPeople::start(options.clone())?;
        service.login(people.clone());
        authenticators.push(people);
    }
    service.set_authenticators(authenticators);
    Ok(())
}
