//! An update service for the simulated operator. It serves the last graph that it was given, over plain HTTP on loopback.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A service that runs until it is dropped.
#[derive(Debug)]
pub struct Upstream {
    url: String,
    graph: Arc<Mutex<Option<Value>>>,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Upstream {
    /// Starts it without a graph: it answers 503.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/graph", listener.local_addr().unwrap());
        let (graph, asked) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(Vec::new())));
        let task = tokio::spawn(serve(listener, graph.clone(), asked.clone()));
        Self {
            url,
            graph,
            asked,
            task,
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sets its answer; none for 503.
    pub fn set_graph(&self, graph: Option<Value>) {
        *self.graph.lock().unwrap_or_else(PoisonError::into_inner) = graph;
    }

    /// The targets of all requests so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    listener: TcpListener,
    graph: Arc<Mutex<Option<Value>>>,
    asked: Arc<Mutex<Vec<String>>>,
) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut head = Vec::new();
        // One request a connection, of at most 64 KiB.
        while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < 64 << 10 {
            match stream.read_buf(&mut head).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
        asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(target);
        let (status, body) = match &*graph.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(graph) => ("200 OK", graph.to_string()),
            None => ("503 Service Unavailable", String::new()),
        };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}
