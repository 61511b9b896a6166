//! `events`: the log of hooks and contracts.

use serde_json::Value;

use crate::evidence::EventLog;
use crate::flows::Failure;
use crate::flows::Flows;

pub use crate::evidence::ChainState;

/// The events, and what the chain of their hashes says.
pub struct Events {
    pub events: Vec<Value>,
    /// `None` when there is no log yet.
    pub chain: Option<ChainState>,
}

/// Reads the log.
pub fn run(flows: &Flows) -> Result<Events, Failure> {
    let (events, chain) = EventLog::of(&flows.repository()?.common_dir).examine()?;
    Ok(Events { events, chain })
}

/// A reader that goes on where it stopped.
pub struct Follower {
    log: EventLog,
    offset: u64,
}

impl Follower {
    /// Returns a reader at the beginning of the log.
    pub fn start(flows: &Flows) -> Result<Self, Failure> {
        Ok(Follower { log: EventLog::of(&flows.repository()?.common_dir), offset: 0 })
    }

    /// Returns what came since the last call.
    pub fn more(&mut self) -> Result<Vec<Value>, Failure> {
        let (events, offset) = self.log.events_after(self.offset)?;
        self.offset = offset;
        Ok(events)
    }
}
