//! The last list of clusters, without the clusters: its gates, soak and lowest versions. They count while no list is named.

use jiff::Timestamp;
use sqlx::Row;

use crate::rows::{checked, nanoseconds};
use crate::{Lease, Result, Store, bounded};

/// There is one list.
const NAME: &str = "clusters";

impl Store {
    /// Keeps a list instead of the one before.
    pub async fn keep_list(&self, lease: &Lease, body: &str, at: Timestamp) -> Result<()> {
        let (body, at) = (checked(body)?, nanoseconds(at)?);
        bounded(async {
            let mut tx = self.act(lease).await?;
            let text = "INSERT INTO kept_lists (name, body, at) VALUES ($1, $2, $3) \
                        ON CONFLICT (name) DO UPDATE SET body = excluded.body, at = excluded.at";
            let query = sqlx::query(text).bind(NAME).bind(body).bind(at);
            query.execute(tx.on()).await?;
            tx.commit().await
        })
        .await
    }

    /// The list that was kept last.
    pub async fn kept_list(&self) -> Result<Option<String>> {
        let query = sqlx::query("SELECT body FROM kept_lists WHERE name = $1").bind(NAME);
        let row = query.fetch_optional(&self.inner.reader).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }
}
