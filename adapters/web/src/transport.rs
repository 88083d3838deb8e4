//! The bytes of a connection: as they are, or within TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::tls::{PeerCertificate, Tls};

/// How long a client may take to agree on keys.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Agrees on keys with the client, and takes its certificate if it shows one. The error is the label of a metric.
pub(crate) async fn secured(
    stream: TcpStream,
    tls: &Tls,
    within: Duration,
) -> Result<(Transport, Option<Arc<PeerCertificate>>), &'static str> {
    let stream = match tokio::time::timeout(within, tls.acceptor().accept(stream)).await {
        Err(_) => return Err("timeout"),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a client and we did not agree on keys");
            return Err("tls");
        }
        Ok(Ok(stream)) => stream,
    };
    let certificate = PeerCertificate::of(stream.get_ref().1.peer_certificates());
    Ok((Transport::Tls(Box::new(stream)), certificate.map(Arc::new)))
}

impl Transport {
    pub(crate) fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }

    /// Whether bytes go out as they are handed over.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            // Many clients just close. HTTP itself says where a request ends, so nothing can be cut off unnoticed.
            Self::Tls(stream) => match Pin::new(stream).poll_read(cx, buf) {
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Poll::Ready(Ok(()))
                }
                read => read,
            },
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
