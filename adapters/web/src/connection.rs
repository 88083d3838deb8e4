//! A connection that does not wait for ever, and does not copy what the page cache holds.
//!
//! A peer that takes nothing for too long is cut off. When the server ends, a connection that is idle ends as if its client had closed it: only once
//! everything that the client has sent is read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendFlags};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::ending::Talk;
use crate::page_cache::PageCache;

/// A stream whose writes must make progress.
pub(crate) struct Patient {
    stream: TcpStream,
    page_cache: Arc<PageCache>,
    patience: Duration,
    talk: Arc<Talk>,
    last: Last,
    /// Runs while a write waits.
    deadline: Option<Pin<Box<Sleep>>>,
}

/// What happened last on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Read,
    Written,
}

impl Patient {
    pub(crate) fn new(stream: TcpStream, page_cache: Arc<PageCache>, patience: Duration, talk: Arc<Talk>) -> Self {
        Self { stream, page_cache, patience, talk, last: Last::Nothing, deadline: None }
    }

    /// Writes what comes before the first mirrored part, or that part from its file, or all of it.
    fn poll_write_parts(&mut self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let mirrored = parts.iter().enumerate().find_map(|(at, part)| Some((at, self.page_cache.find(part)?)));
        match mirrored {
            None => Pin::new(&mut self.stream).poll_write_vectored(cx, parts),
            Some((0, (file, offset))) => {
                self.poll_io(cx, |stream| rustix::fs::sendfile(stream, &file, Some(&mut { offset }), parts[0].len()))
            }
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
        loop {
            ready!(self.stream.poll_write_ready(cx))?;
            match self.stream.try_io(Interest::WRITABLE, || Ok(io(&self.stream)?)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    /// Passes on what a write came to; one that waits gets a deadline, one that moves loses it.
    fn watch<T>(&mut self, cx: &mut Context<'_>, progress: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.last = Last::Written;
            self.deadline = None;
            return progress;
        }
        let patience = self.patience;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + patience)));
        match deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let progress = Pin::new(&mut self.stream).poll_read(cx, buf);
        match (&progress, self.last) {
            (Poll::Ready(_), _) if buf.filled().len() > before => self.last = Last::Read,
            // To hyper, this is the client that will ask no more.
            (Poll::Pending, Last::Written) if self.talk.is_over() => return Poll::Ready(Ok(())),
            _ => {}
        }
        progress
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch(cx, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = self.poll_write_parts(cx, bufs);
        self.watch(cx, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
