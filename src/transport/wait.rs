//! Waiting for something, but not for ever, and not when somebody asks us to stop.

use std::future::Future;
use std::time::Duration;
use std::time::Instant;

use tokio::runtime::Runtime;

use crate::system;

/// How soon somebody who asks us to stop is heard.
const LISTEN: Duration = Duration::from_millis(50);

/// Why something was not waited for to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unanswered {
    TooLate,
    Interrupted,
}

/// Returns what futures run on: one thread, which works while somebody waits.
pub(super) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()
}

/// Runs a future to its end, if that comes within the limit.
pub(super) fn bounded<T>(runtime: &Runtime, limit: Duration, future: impl Future<Output = T>) -> Result<T, Unanswered> {
    let deadline = Instant::now() + limit;
    runtime.block_on(async {
        let mut future = std::pin::pin!(future);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Ok(done) = tokio::time::timeout(left.min(LISTEN), &mut future).await {
                return Ok(done);
            }
            if system::interrupted() {
                return Err(Unanswered::Interrupted);
            }
            if left.is_zero() {
                return Err(Unanswered::TooLate);
            }
        }
    })
}
