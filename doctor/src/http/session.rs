//! Sends requests one after the other, on as few connections as the server allows.

use std::sync::Arc;

use super::answer::Answer;
use super::connection::Connection;
use super::connector::Connector;
use super::error::RequestError;
use super::request::Request;

/// A client that keeps its connection as long as the server does. Like libcurl, it opens another one if the server
/// closes the connection, even while a request is on its way, as long as no answer has begun.
#[derive(Debug)]
pub(crate) struct Session {
    connector: Arc<Connector>,
    connection: Option<Connection>,
    connections: usize,
}

impl Session {
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        Self { connector, connection: None, connections: 0 }
    }

    /// How many connections were opened.
    pub(crate) fn connections(&self) -> usize {
        self.connections
    }

    /// Whether these bytes were among the first that arrived on the connection.
    pub(crate) fn began_with(&self, bytes: &[u8]) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.began_with(bytes))
    }

    /// Sends a request and reads its answer, with at most `limit` bytes of the body.
    pub(crate) async fn send(&mut self, request: &Request, limit: usize) -> Result<Answer, RequestError> {
        if let Some(connection) = self.connection.as_mut().filter(|connection| connection.is_open()) {
            match connection.send(request, limit).await {
                Err(RequestError::Closed) => {}
                sent => return sent,
            }
        }
        self.connections += 1;
        let connection = self.connection.insert(self.connector.connect().await?);
        connection.send(request, limit).await
    }
}
