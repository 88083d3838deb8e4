//! HAProxy in front of something on this machine. It hides nothing: it never asks a second time.

use std::path::Path;
use std::process::Command;

use crate::bench::running::BackgroundProcess;
use crate::packages;

pub(super) const PACKAGE: packages::Package = ("haproxy", "haproxy");

/// What all our proxies have in common. docs/scale.md shows these settings.
const COMMON: &str = "\
global
    maxconn 4000
defaults
    timeout connect 2s
    timeout client 75s
    timeout server 75s
    timeout check 1s
    retries 0
";

/// Replicas of the service, each asked whether it is ready. The address of the client goes along.
pub(super) fn replicas(port: u16, replicas: &[u16]) -> String {
    let server = |(number, port)| format!("    server towpath{number} 127.0.0.1:{port}\n");
    let servers: String = replicas.iter().enumerate().map(server).collect();
    format!(
        "{COMMON}
frontend towpath
    mode http
    bind 127.0.0.1:{port}
    option forwardfor
    use_backend fleet if {{ path_beg /api/v1/fleet /api/v1/clusters }}
    default_backend replicas

backend replicas
    mode http
    option httpchk GET /readyz
    http-check expect status 200
    default-server check inter 500ms fall 2 rise 2
{servers}
# Questions about the fleet go to replicas that have read it.
backend fleet
    mode http
    option httpchk GET /readyz
    http-check expect status 200
    http-check expect string '\"lastPass\": \"2'
    default-server check inter 500ms fall 2 rise 2
{servers}"
    )
}

/// The leader of a PostgreSQL cluster, as Patroni's REST API tells it.
pub(super) fn leader(port: u16, nodes: &[(u16, u16)]) -> String {
    let mut text = format!(
        "{COMMON}
listen postgres
    mode tcp
    bind 127.0.0.1:{port}
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server check inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
"
    );
    for (number, (postgres, patroni)) in nodes.iter().enumerate() {
        text += &format!("    server pg{number} 127.0.0.1:{postgres} check port {patroni}\n");
    }
    text
}

/// Starts it with this configuration.
pub(super) fn start(
    folder: &Path,
    name: &'static str,
    configuration: &str,
) -> anyhow::Result<BackgroundProcess> {
    let file = folder.join(format!("{name}.cfg"));
    crate::scratch::write(&file, configuration)?;
    let mut command = Command::new(packages::program("haproxy")?);
    command.arg("-db").arg("-f").arg(&file);
    BackgroundProcess::start_again(name, &mut command, &folder.join(format!("{name}.log")))
}

/// As it names itself, without the rest.
pub(super) fn version() -> anyhow::Result<String> {
    let mut command = Command::new(packages::program("haproxy")?);
    let said = super::ground::printed(command.arg("-v"))?;
    let words: Vec<&str> = said.split_whitespace().take(3).collect();
    Ok(words.join(" "))
}
