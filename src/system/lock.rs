//! One process at a time.

use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::time::Duration;
use std::time::Instant;

/// How long a process waits for another one.
const WAIT: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(5);

/// Locks a file until it is closed. `Ok(false)` when another process held it all the time.
pub fn lock(file: &File) -> io::Result<bool> {
    let deadline = Instant::now() + WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(POLL),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}
