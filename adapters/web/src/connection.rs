//! A connection with write timeouts, which sends mirrored memory without copying.
//!
//! A peer that reads nothing for too long is cut off. When the server stops, an idle connection ends as if its client had
//! closed it, after everything that the client has sent was read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendFlags};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::ending::ConnectionState;
use crate::page_cache::PageCache;
use crate::transport::Transport;

/// How often a long request checks whether its client is still there.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The client of a connection. During an answer nobody reads from the connection, so that a client may close its side and
/// still get the answer. For long requests, this notices that the client has gone.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    is_asked_for: AtomicBool,
    has_left: AtomicBool,
}

impl Peer {
    /// Ends when the client has closed the connection or its side of it. It looks that often.
    pub(crate) async fn left(&self, look_every: Duration) {
        let mut looks = tokio::time::interval(look_every);
        while !self.has_left.load(Ordering::Relaxed) {
            // The stream looks when it is flushed next: after each time that this is woken.
            self.is_asked_for.store(true, Ordering::Relaxed);
            looks.tick().await;
        }
    }

    fn look(&self, stream: &TcpStream) {
        if self.is_asked_for.swap(false, Ordering::Relaxed) {
            let closed = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
            let mut looked_at = [PollFd::new(stream, closed)];
            // If the system cannot say, the client counts as there.
            let found = poll(&mut looked_at, Some(&Timespec::default())).unwrap_or(0);
            self.has_left.store(
                found > 0 && looked_at[0].revents().intersects(closed),
                Ordering::Relaxed,
            );
        }
    }
}

/// A stream whose writes must make progress.
pub(crate) struct TimeoutStream {
    stream: Transport,
    page_cache: Arc<PageCache>,
    patience: Duration,
    talk: Arc<ConnectionState>,
    last: LastTransfer,
    peer: Arc<Peer>,
    /// Set while a write waits.
    deadline: Option<Pin<Box<Sleep>>>,
}

/// The last transfer on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastTransfer {
    Nothing,
    Read,
    Written,
}

impl TimeoutStream {
    pub(crate) fn new(
        stream: Transport,
        page_cache: Arc<PageCache>,
        patience: Duration,
        talk: Arc<ConnectionState>,
        peer: Arc<Peer>,
    ) -> Self {
        Self {
            stream,
            page_cache,
            patience,
            talk,
            last: LastTransfer::Nothing,
            peer,
            deadline: None,
        }
    }

    /// Writes the part before the first mirrored piece, or that piece from its file, or everything.
    fn poll_write_parts(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // What is encrypted first is not sent from a file.
        let mirrored = parts
            .iter()
            .filter(|_| self.stream.is_plain())
            .enumerate()
            .find_map(|(at, part)| Some((at, self.page_cache.find(part)?)));
        match mirrored {
            None => Pin::new(&mut self.stream).poll_write_vectored(cx, parts),
            Some((0, (file, offset))) => self.poll_io(cx, |stream| {
                rustix::fs::sendfile(stream, &file, Some(&mut { offset }), parts[0].len())
            }),
            // More follows at once: one packet less than if this went alone.
            Some((at, _)) => self.poll_io(cx, |stream| {
                rustix::net::sendmsg(
                    stream,
                    &parts[..at],
                    &mut SendAncillaryBuffer::default(),
                    SendFlags::MORE | SendFlags::NOSIGNAL,
                )
            }),
        }
    }

    fn poll_io(
        &self,
        cx: &mut Context<'_>,
        io: impl Fn(&TcpStream) -> rustix::io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let stream = self.stream.tcp();
        loop {
            ready!(stream.poll_write_ready(cx))?;
            match stream.try_io(Interest::WRITABLE, || Ok(io(stream)?)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn wrote(
        &mut self,
        cx: &mut Context<'_>,
        progress: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if progress.is_ready() {
            self.last = LastTransfer::Written;
        }
        self.watch(cx, progress)
    }

    /// Sets a deadline while a write waits, and clears it on progress.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        progress: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.deadline = None;
            return progress;
        }
        let patience = self.patience;
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + patience)));
        match deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client does not read",
            ))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for TimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let progress = Pin::new(&mut self.stream).poll_read(cx, buf);
        match (&progress, self.last) {
            (Poll::Ready(_), _) if buf.filled().len() > before => self.last = LastTransfer::Read,
            // To hyper, this is the client that will ask no more.
            (Poll::Pending, LastTransfer::Written) if self.talk.is_over() => {
                return Poll::Ready(Ok(()));
            }
            _ => {}
        }
        progress
    }
}

impl AsyncWrite for TimeoutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.wrote(cx, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = self.poll_write_parts(cx, bufs);
        self.wrote(cx, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.peer.look(self.stream.tcp());
        // TLS holds back what the client does not take.
        let progress = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(cx, progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watch(cx, progress)
    }
}
