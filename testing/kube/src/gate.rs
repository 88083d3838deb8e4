//! A door to the API server that counts writes, and can let somebody die right after one of them: the write takes effect, and its answer
//! never comes. It speaks plain HTTP, and whoever comes through it is an administrator.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request};
use kube::client::Body;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::server::KubeApi;

/// Open until it is dropped.
pub struct Gate {
    state: Arc<State>,
    task: JoinHandle<()>,
    kubeconfig: PathBuf,
}

struct State {
    admin: kube::Client,
    /// After so many more writes no answer comes. Zero: never.
    left: AtomicUsize,
    reached: Notify,
}

impl KubeApi {
    pub async fn gate(&self) -> Gate {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            admin: self.admin.clone(),
            left: AtomicUsize::new(0),
            reached: Notify::new(),
        });
        let kubeconfig = self.folder().join("gate.kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: it\n\
             clusters:\n- name: it\n  cluster: {{server: 'http://127.0.0.1:{port}'}}\n\
             users:\n- name: it\n  user: {{}}\n\
             contexts:\n- name: it\n  context: {{cluster: it, user: it}}\n"
        );
        std::fs::write(&kubeconfig, text).unwrap();
        let task = tokio::spawn(accept(listener, state.clone()));
        Gate {
            state,
            task,
            kubeconfig,
        }
    }
}

impl Gate {
    pub fn kubeconfig(&self) -> &PathBuf {
        &self.kubeconfig
    }

    /// The write of this number from now on is the last.
    pub fn last_write(&self, number: usize) {
        self.state.left.store(number, Ordering::SeqCst);
    }

    /// Waits until that write has been made.
    pub async fn reached(&self) {
        self.state.reached.notified().await;
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((client, _)) = listener.accept().await {
        let state = state.clone();
        // A client that is killed breaks its connection, and that ends this.
        tokio::spawn(async move { serve(client, &state).await });
    }
}

async fn serve(client: TcpStream, state: &State) -> std::io::Result<()> {
    let mut client = BufReader::new(client);
    while let Some(request) = read(&mut client).await? {
        let is_dry_run = request.uri().query().unwrap_or_default().contains("dryRun");
        let is_write = request.method() != Method::GET && !is_dry_run;
        let answer = state.admin.send(request).await.unwrap();
        let (head, body) = answer.into_parts();
        let body = body.collect_bytes().await.unwrap();
        if is_write && state.left.load(Ordering::SeqCst) > 0 {
            let left = state.left.fetch_sub(1, Ordering::SeqCst);
            if left == 1 {
                state.reached.notify_one();
                return std::future::pending().await;
            }
        }
        let kind = head.headers.get("content-type");
        let kind = kind.map_or("application/json", |kind| kind.to_str().unwrap());
        let (status, length) = (head.status.as_u16(), body.len());
        let head = format!(
            "HTTP/1.1 {status} it\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        );
        client.write_all(head.as_bytes()).await?;
        client.write_all(&body).await?;
        client.flush().await?;
    }
    Ok(())
}

/// The next request of a connection, if there is one.
async fn read(client: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request<Body>>> {
    let mut first = String::new();
    if client.read_line(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace();
    let mut request = Request::builder()
        .method(words.next().unwrap())
        .uri(words.next().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        client.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            name @ ("content-type" | "accept") => request = request.header(name, value.trim()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    client.read_exact(&mut body).await?;
    Ok(Some(request.body(Body::from(body)).unwrap()))
}
