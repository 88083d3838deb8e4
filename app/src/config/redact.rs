//! Prints the configuration in force as a file that would produce it, without secrets.

use std::fmt;
use std::path::Path;

use jiff::SignedDuration;
use towpath_formats::timespan;
use towpath_kube::Access;
use towpath_ocm::Login;
use towpath_web::Reads;

use super::{AddressLimit, FleetSettings, HandsSettings, LogFormat, OcmSettings, Settings};

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "listen: \"{}\"", self.listen)?;
        write!(f, "{}", self.sources)?;
        if let Some(minors) = &self.minors {
            writeln!(f, "minors: {:?}", minors.display().to_string())?;
        }
        if let Some(fleet) = &self.fleet {
            writeln!(f, "{fleet}")?;
        }
        for (name, file) in [
            ("tokenKeys", &self.token_keys),
            ("peopleKeys", &self.people_keys),
            ("access", &self.access),
            ("revokedTokens", &self.revoked_tokens),
        ] {
            file.iter()
                .try_for_each(|file| writeln!(f, "{name}: {:?}", file.display().to_string()))?;
        }
        write!(f, "{}", self.people)?;
        if let Some(until) = self.unbound_until {
            writeln!(f, "acceptUnboundTokensUntil: \"{until}\"")?;
        }
        writeln!(f, "pollEvery: {}", written(self.intervals.local))?;
        writeln!(f, "refreshEvery: {}", written(self.intervals.remote))?;
        writeln!(f, "maxConnections: {}", self.limits.connections)?;
        match self.for_one_address {
            AddressLimit::Half => writeln!(f, "# maxConnectionsPerAddress: half of all places")?,
            AddressLimit::AtMost(most) => writeln!(f, "maxConnectionsPerAddress: {most}")?,
            AddressLimit::NoLimit => writeln!(f, "maxConnectionsPerAddress: 0")?,
        }
        if let Some(tls) = &self.tls {
            for (flag, path) in tls.files() {
                let name = super::camel_case(&flag[2..].replace('-', "_"));
                writeln!(f, "{name}: {:?}", path.display().to_string())?;
            }
        }
        writeln!(f, "insecureHttp: {}", self.insecure_http)?;
        self.trusted_proxies
            .iter()
            .try_for_each(|proxies| writeln!(f, "trustedProxies: {proxies:?}"))?;
        match (&self.allowed_hosts, self.listen.ip().is_loopback()) {
            (Some(hosts), _) => writeln!(f, "allowedHosts: {hosts:?}")?,
            (None, true) => writeln!(f, "# allowedHosts: localhost and IP addresses, on loopback")?,
            (None, false) => writeln!(f, "# allowedHosts: any")?,
        }
        let texts = [
            ("pathPrefix", &self.path_prefix),
            ("mandatoryParams", &self.mandatory_params),
        ];
        for (name, text) in texts {
            text.iter()
                .try_for_each(|text| writeln!(f, "{name}: {text:?}"))?;
        }
        writeln!(f, "drainFor: {}", written(self.limits.drain))?;
        writeln!(f, "reportsPerMinute: {}", self.reports_per_minute)?;
        writeln!(f, "requestsPerMinute: {}", self.requests_per_minute)?;
        writeln!(f, "clientTimeout: {}", written(self.limits.head_timeout))?;
        writeln!(f, "log: {:?}", self.log)?;
        let format = if self.log_format == LogFormat::Json {
            "json"
        } else {
            "text"
        };
        writeln!(f, "logFormat: {format}")?;
        self.now.map_or(Ok(()), |now| writeln!(f, "now: \"{now}\""))
    }
}

impl fmt::Display for FleetSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path| format!("{:?}", path.display().to_string());
        writeln!(f, "fleet: {}", path(&self.policy))?;
        self.clusters
            .iter()
            .try_for_each(|clusters| writeln!(f, "clusters: {}", path(clusters)))?;
        // An address may hold a password.
        match self
            .store
            .as_deref()
            .map(|store| (store, store.starts_with("sqlite:")))
        {
            Some((store, true)) => writeln!(f, "store: {store:?}")?,
            Some((_, false)) => writeln!(f, "# store: given, and not shown")?,
            None => writeln!(f, "# store: not given")?,
        }
        self.store_password_file
            .iter()
            .try_for_each(|file| writeln!(f, "storePasswordFile: {}", path(file)))?;
        self.feedback
            .iter()
            .try_for_each(|file| writeln!(f, "feedback: {}", path(file)))?;
        self.halts_to
            .iter()
            .try_for_each(|folder| writeln!(f, "haltsTo: {}", path(folder)))?;
        if let Some(signing) = &self.log_signing {
            writeln!(f, "logKey: {:?}", signing.key.display().to_string())?;
            writeln!(f, "logSignEvery: {}", written(signing.every))?;
        }
        writeln!(f, "keepFor: {}", written(self.keep_for.unwrap_or_default()))?;
        writeln!(f, "openReads: {}", self.reads == Reads::Open)?;
        writeln!(f, "passEvery: {}", written(self.pass_every))?;
        if let Some(HandsSettings::Acm(acm)) = &self.hands {
            let (kubeconfig, context) = match &acm.access {
                Access::InCluster => (None, None),
                Access::Kubeconfig { path, context } => (path.as_deref(), context.as_ref()),
            };
            let kubeconfig = kubeconfig.map_or_else(|| "\"in-cluster\"".to_owned(), path);
            writeln!(f, "acm: {kubeconfig}")?;
            context.map_or(Ok(()), |context| writeln!(f, "acmContext: {context:?}"))?;
        }
        if let Some(HandsSettings::Ocm(OcmSettings { url, login })) = &self.hands {
            writeln!(f, "ocm: {url:?}")?;
            let file = path(login.file());
            match login {
                Login::Bearer(_) => writeln!(f, "ocmToken: {file}")?,
                Login::OfflineToken { token_url, .. } => {
                    writeln!(
                        f,
                        "ocmOfflineToken: {file}\nocmTokenUrl: {:?}",
                        without_secrets(token_url)
                    )?;
                }
                Login::ClientCredentials {
                    token_url,
                    client_id,
                    ..
                } => writeln!(
                    f,
                    "ocmClientId: {client_id:?}\nocmClientSecret: {file}\nocmTokenUrl: {:?}",
                    without_secrets(token_url)
                )?,
            }
        }
        write!(f, "{}", self.outcomes)?;
        writeln!(f, "ausMetrics: {}", self.aus_metrics)?;
        write!(f, "reportAllowance: {}", written(self.allowance))
    }
}

/// A length of time, as a file has it.
pub(crate) fn written(length: impl TryInto<SignedDuration>) -> String {
    timespan::written(length.try_into().unwrap_or(SignedDuration::MAX))
}

/// An address without what may be a password in it.
pub(super) fn without_secrets(url: &str) -> &str {
    match url.contains(['@', '?', '#']) {
        true => "(hidden)",
        false => url,
    }
}
