//! Soak that another system has counted.
//!
//! A later import of the same organisation, workload and version replaces the earlier one, so importing twice credits nothing twice.

use jiff::Timestamp;
use sqlx::Row;
use sqlx::any::AnyRow;
use towpath_core::fleet::SoakSum;

use crate::rows::{self, checked, nanoseconds};
use crate::{Result, Store, bounded};

impl Store {
    /// Keeps these sums, all or none of them.
    pub async fn import_soak(&self, sums: &[SoakSum], at: Timestamp) -> Result<()> {
        let at = nanoseconds(at)?;
        bounded(async {
            let mut tx = self.write().await?;
            let text = "INSERT INTO imported_soak (organisation, workload, version, seconds, at) VALUES ($1, $2, $3, $4, $5) \
                        ON CONFLICT (organisation, workload, version) DO UPDATE SET seconds = excluded.seconds, at = excluded.at";
            for sum in sums {
                let query = sqlx::query(text)
                    .bind(checked(&sum.organisation)?)
                    .bind(checked(&sum.workload)?)
                    .bind(sum.version.to_string())
                    .bind(sum.seconds)
                    .bind(at);
                query.execute(tx.on()).await?;
            }
            tx.commit().await
        })
        .await
    }

    /// All imported sums, by organisation, workload and version.
    pub async fn imported_soak(&self) -> Result<Vec<SoakSum>> {
        let text = "SELECT organisation, workload, version, seconds FROM imported_soak ORDER BY organisation, workload, version";
        let found = sqlx::query(text).fetch_all(&self.inner.reader).await?;
        let sum = |row: &AnyRow| {
            Ok(SoakSum {
                organisation: rows::text(row, 0)?.into(),
                workload: rows::text(row, 1)?.into(),
                version: rows::version(&rows::text(row, 2)?)?,
                seconds: row.try_get(3)?,
            })
        };
        found.iter().map(sum).collect()
    }
}
