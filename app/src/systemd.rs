//! Tells systemd how the service is (`Type=notify`): ready once there is a graph, and stopping.
//!
//! That is one datagram to the socket that `NOTIFY_SOCKET` names. Without the variable, nobody wants to know.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use towpath_web::Service;

/// How often the service is asked whether it is ready.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Whoever wants to know how the service is, if anybody.
#[derive(Debug, Clone)]
pub(crate) struct Systemd {
    socket: Option<OsString>,
}

impl Systemd {
    pub(crate) fn of_environment() -> Self {
        let socket = std::env::var_os("NOTIFY_SOCKET");
        Self {
            socket: socket.filter(|name| !name.is_empty()),
        }
    }

    /// Tells it that the service is ready, as soon as it is.
    pub(crate) async fn tell_when_ready(self, service: Arc<Service>) {
        if self.socket.is_none() {
            return;
        }
        self.tell("STATUS=not ready: there is no graph yet");
        let mut looks = tokio::time::interval(LOOK_EVERY);
        while service.snapshot().is_none() {
            looks.tick().await;
        }
        self.tell("READY=1\nSTATUS=ready");
    }

    pub(crate) fn tell_stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=draining");
    }

    fn tell(&self, state: &str) {
        let Some(name) = &self.socket else { return };
        if let Err(error) = send(name.as_bytes(), state) {
            tracing::warn!(%error, "systemd cannot be told ({}); see NOTIFY_SOCKET", state.replace('\n', ", "));
        }
    }
}

/// A name that begins with @ has no file.
fn send(name: &[u8], state: &str) -> io::Result<()> {
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(std::path::Path::new(std::ffi::OsStr::from_bytes(name)))?,
    };
    let socket = UnixDatagram::unbound()?;
    // The loop of the service must not wait for it.
    socket.set_nonblocking(true)?;
    socket.send_to_addr(state.as_bytes(), &address).map(drop)
}
