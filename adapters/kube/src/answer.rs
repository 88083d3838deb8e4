//! Requests with a time limit.

use std::time::Duration;

use crate::error::KubeError;
use crate::resource::Call;

pub(crate) async fn within<T>(
    limit: Duration,
    call: &Call<'_>,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, KubeError> {
    match tokio::time::timeout(limit, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(KubeError::of(call, error)),
        Err(_) => Err(KubeError::too_slow(call, limit.as_secs())),
    }
}
