//! What a watch last said about each release, and which halts it has proposed: so that nothing is written down or proposed twice.

use jiff::Timestamp;
use sqlx::Row;
use towpath_core::version::Version;

use crate::rows::{self, checked, nanoseconds, time};
use crate::{Lease, Result, Store, bounded};

/// The last answer about a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    pub release: Version,
    /// As the caller writes it.
    pub body: String,
    pub at: Timestamp,
}

impl Store {
    /// All answers that are kept, by release.
    pub async fn watch_answers(&self) -> Result<Vec<KeptAnswer>> {
        let text = "SELECT release, body, at FROM watch_answers ORDER BY release";
        let rows = sqlx::query(text).fetch_all(&self.inner.reader).await?;
        let answer = |row: &sqlx::any::AnyRow| {
            Ok(KeptAnswer {
                release: rows::version(&rows::text(row, 0)?)?,
                body: rows::text(row, 1)?,
                at: time(row.try_get(2)?),
            })
        };
        rows.iter().map(answer).collect()
    }

    /// Keeps an answer instead of the one before about that release.
    pub async fn keep_watch_answer(&self, lease: &Lease, answer: &KeptAnswer) -> Result<()> {
        let (body, at) = (checked(&answer.body)?, nanoseconds(answer.at)?);
        bounded(async {
            let mut tx = self.act(lease).await?;
            let text = "INSERT INTO watch_answers (release, body, at) VALUES ($1, $2, $3) \
                        ON CONFLICT (release) DO UPDATE SET body = excluded.body, at = excluded.at";
            let query = sqlx::query(text).bind(answer.release.to_string());
            query.bind(body).bind(at).execute(tx.on()).await?;
            tx.commit().await
        })
        .await
    }

    /// Forgets the answer about a release that is no longer watched.
    pub async fn forget_watch_answer(&self, lease: &Lease, release: &Version) -> Result<()> {
        bounded(async {
            let mut tx = self.act(lease).await?;
            let query = sqlx::query("DELETE FROM watch_answers WHERE release = $1");
            query.bind(release.to_string()).execute(tx.on()).await?;
            tx.commit().await
        })
        .await
    }
}
