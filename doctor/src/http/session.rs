//! Requests one after the other, on as few connections as the server allows.

use std::sync::Arc;

use super::{Answer, Ask, Connection, Connector, Trouble};

/// A client that keeps its connection as long as the server does, and opens another as libcurl does: also when the
/// server closed the old one while the request was on its way.
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

    /// How many connections were needed.
    pub(crate) fn connections(&self) -> usize {
        self.connections
    }

    /// Whether these bytes came among the first of the connection.
    pub(crate) fn began_with(&self, bytes: &[u8]) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.began_with(bytes))
    }

    /// Sends a request and reads its answer, `limit` bytes of the body at most.
    pub(crate) async fn ask(&mut self, ask: &Ask, limit: usize) -> Result<Answer, Trouble> {
        if let Some(connection) = self.connection.as_mut().filter(|connection| connection.is_open()) {
            match connection.ask(ask, limit).await {
                Err(Trouble::Closed) => {}
                asked => return asked,
            }
        }
        self.connections += 1;
        let connection = self.connection.insert(self.connector.connect().await?);
        connection.ask(ask, limit).await
    }
}
