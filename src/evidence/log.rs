//! The event log on disk: one writer at a time, append only.

use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::base::Sha256Hex;
use crate::evidence::ChainState;
use crate::evidence::chain;
use crate::evidence::chain::Head;
use crate::evidence::check_chain;
use crate::system;
use crate::system::FileError;

/// What happens in hooks and to contracts belongs to no run of its own.
const HOOKS_RUN: &str = "hooks";

/// A longer log is not read in one piece.
const MAX_LOG_BYTES: u64 = 1 << 30;

/// Lines are far shorter; a longer tail is read in full.
const TAIL_BYTES: u64 = 64 << 10;

/// Why an event could not be recorded or read.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    #[error("failed to {action} the event log {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("the event log {} is locked by another process", path.display())]
    Locked { path: PathBuf },
    #[error("the last event in {} is damaged", path.display())]
    Damaged { path: PathBuf },
    #[error(transparent)]
    File(#[from] FileError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Info,
    Warn,
}

/// Something that happened.
pub struct Event<'a> {
    pub level: Level,
    pub event_type: &'a str,
    pub task_id: Option<&'a str>,
    pub payload: Value,
}

/// The log of hooks and contracts, shared by all worktrees of a repository.
pub struct EventLog {
    path: PathBuf,
}

impl EventLog {
    /// Returns the log of the repository with this common git directory.
    pub fn of(common_dir: &Path) -> Self {
        EventLog { path: common_dir.join("oracle").join("events.jsonl") }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an event and returns when it is durable.
    pub fn append(&self, event: &Event<'_>) -> Result<(), EvidenceError> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        system::create_private_dir(directory)?;
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)
            .map_err(self.failed("open"))?;
        self.lock(&file)?;
        let (head, torn) = self.read_head(&mut file)?;
        let head = match torn {
            Some(torn) => self.set_aside(&mut file, &torn, &head)?,
            None => head,
        };
        let (line, _) = chain::seal(fields(event), &head);
        self.write_line(&mut file, &line)?;
        if head.next_seq == 0 {
            // The file may be new: without this its name could be lost with the power.
            File::open(directory).and_then(|directory| directory.sync_all()).map_err(self.failed("record"))?;
        }
        Ok(())
    }

    /// Checks the whole log; `None` when there is none.
    pub fn check(&self) -> Result<Option<ChainState>, EvidenceError> {
        Ok(self.read()?.map(|bytes| check_chain(&bytes, HOOKS_RUN)))
    }

    /// Returns the events that can be read, oldest first.
    pub fn events(&self) -> Result<Vec<Value>, EvidenceError> {
        Ok(parse_lines(&self.read()?.unwrap_or_default()))
    }

    /// Returns the events that can be read, oldest first, and the state of the log as of the same moment.
    pub fn examine(&self) -> Result<(Vec<Value>, Option<ChainState>), EvidenceError> {
        let Some(bytes) = self.read()? else { return Ok((Vec::new(), None)) };
        Ok((parse_lines(&bytes), Some(check_chain(&bytes, HOOKS_RUN))))
    }

    /// Returns the whole events after an offset, and the offset to go on from. A log that has become shorter is read from
    /// its beginning: it is another one.
    pub fn events_after(&self, offset: u64) -> Result<(Vec<Value>, u64), EvidenceError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(self.failed("read")(error)),
        };
        let size = file.metadata().map_err(self.failed("read"))?.len();
        let start = if size < offset { 0 } else { offset };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start)).map_err(self.failed("read"))?;
        file.take(MAX_LOG_BYTES).read_to_end(&mut bytes).map_err(self.failed("read"))?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        Ok((parse_lines(&bytes[..whole]), start + whole as u64))
    }

    fn read(&self) -> Result<Option<Vec<u8>>, EvidenceError> {
        match system::read_limited(&self.path, MAX_LOG_BYTES) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> EvidenceError + use<> {
        let path = self.path.clone();
        move |source| EvidenceError::Io { action, path, source }
    }

    fn lock(&self, file: &File) -> Result<(), EvidenceError> {
        match system::lock(file) {
            Ok(true) => Ok(()),
            Ok(false) => Err(EvidenceError::Locked { path: self.path.clone() }),
            Err(error) => Err(self.failed("lock")(error)),
        }
    }

    fn write_line(&self, file: &mut File, line: &str) -> Result<(), EvidenceError> {
        // One write, so that a crash leaves at most one cut line. After a failed sync nothing is tried again: the
        // system may have dropped the data already.
        file.write_all(format!("{line}\n").as_bytes()).map_err(self.failed("write"))?;
        file.sync_data().map_err(self.failed("record"))
    }

    /// Returns the end of the chain, and what follows the last whole line.
    fn read_head(&self, file: &mut File) -> Result<(Head, Option<Vec<u8>>), EvidenceError> {
        let size = file.metadata().map_err(self.failed("read"))?.len();
        let mut window = TAIL_BYTES.min(size);
        loop {
            let mut tail = Vec::new();
            file.seek(SeekFrom::Start(size - window)).map_err(self.failed("read"))?;
            file.read_to_end(&mut tail).map_err(self.failed("read"))?;
            let end = tail.iter().rposition(|byte| *byte == b'\n');
            let start = end.and_then(|end| tail[..end].iter().rposition(|byte| *byte == b'\n')).map(|at| at + 1);
            // The last whole line must lie in the window with its beginning.
            if window < size && start.is_none() {
                window = size.min(window * 4);
                continue;
            }
            let torn = tail[end.map_or(0, |end| end + 1)..].to_vec();
            let head = match end {
                None => chain::start(HOOKS_RUN),
                Some(end) => chain::head_after(&tail[start.unwrap_or(0)..end])
                    .ok_or_else(|| EvidenceError::Damaged { path: self.path.clone() })?,
            };
            return Ok((head, Some(torn).filter(|torn| !torn.is_empty())));
        }
    }

    /// Moves a cut line out of the log and records that.
    fn set_aside(&self, file: &mut File, torn: &[u8], head: &Head) -> Result<Head, EvidenceError> {
        let aside = self.path.with_file_name(format!("events.torn-{}", head.next_seq));
        system::write_private(&aside, torn)?;
        let size = file.metadata().map_err(self.failed("read"))?.len();
        file.set_len(size - torn.len() as u64).map_err(self.failed("mend"))?;
        file.sync_all().map_err(self.failed("mend"))?;
        let recovered = Event {
            level: Level::Warn,
            event_type: "LOG_RECOVERED",
            task_id: None,
            payload: json!({"bytes": torn.len(), "sha256": Sha256Hex::of(torn)}),
        };
        let (line, head) = chain::seal(fields(&recovered), head);
        self.write_line(file, &line)?;
        Ok(head)
    }
}

fn parse_lines(bytes: &[u8]) -> Vec<Value> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn fields(event: &Event<'_>) -> Map<String, Value> {
    let ts = system::now();
    let mut fields = Map::new();
    fields.insert("attempt".into(), Value::Null);
    fields.insert("event_type".into(), json!(event.event_type));
    fields.insert("level".into(), json!(if event.level == Level::Warn { "WARN" } else { "INFO" }));
    fields.insert("payload".into(), event.payload.clone());
    fields.insert("run_id".into(), json!(HOOKS_RUN));
    fields.insert("task_id".into(), json!(event.task_id));
    fields.insert("trace_id".into(), json!(trace_id(&ts)));
    fields.insert("ts".into(), json!(ts));
    fields
}

/// Returns an id that no other event has: two processes differ, and one process has a clock that moves on.
fn trace_id(ts: &str) -> String {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let seed = format!("{ts} {} {nanos}", std::process::id());
    Sha256Hex::of(seed.as_bytes()).as_str()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u64) -> Event<'static> {
        Event { level: Level::Info, event_type: "TEST", task_id: Some("task"), payload: json!({"number": number}) }
    }

    #[test]
    fn events_are_chained_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let log = EventLog::of(dir.path());
        assert_eq!(log.check().unwrap(), None);
        for number in 0..3 {
            log.append(&event(number)).unwrap();
        }
        assert_eq!(log.check().unwrap(), Some(ChainState::Intact { events: 3 }));
        assert_eq!(std::fs::metadata(log.path()).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_cut_line_is_set_aside_and_the_chain_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let log = EventLog::of(dir.path());
        log.append(&event(0)).unwrap();
        OpenOptions::new().append(true).open(log.path()).unwrap().write_all(b"{\"cut").unwrap();
        assert_eq!(log.check().unwrap(), Some(ChainState::Torn { events: 1, bytes: 5 }));
        log.append(&event(1)).unwrap();
        assert_eq!(log.check().unwrap(), Some(ChainState::Intact { events: 3 }));
        assert_eq!(std::fs::read(log.path().with_file_name("events.torn-1")).unwrap(), b"{\"cut");
    }

    #[test]
    fn a_damaged_last_line_is_not_built_upon() {
        let dir = tempfile::tempdir().unwrap();
        let log = EventLog::of(dir.path());
        log.append(&event(0)).unwrap();
        OpenOptions::new().append(true).open(log.path()).unwrap().write_all(b"nonsense\n").unwrap();
        assert!(matches!(log.append(&event(1)), Err(EvidenceError::Damaged { .. })));
    }

    #[test]
    fn only_whole_lines_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let log = EventLog::of(dir.path());
        assert_eq!(log.events_after(0).unwrap(), (Vec::new(), 0));
        log.append(&event(0)).unwrap();
        let (events, offset) = log.events_after(0).unwrap();
        assert_eq!((events.len(), offset), (1, std::fs::metadata(log.path()).unwrap().len()));
        OpenOptions::new().append(true).open(log.path()).unwrap().write_all(b"{\"cut").unwrap();
        assert_eq!(log.events_after(offset).unwrap(), (Vec::new(), offset));
        log.append(&event(1)).unwrap();
        assert_eq!(log.events_after(offset).unwrap().0.len(), 2);
        assert_eq!(log.events_after(offset * 100).unwrap().0.len(), 3);
    }

    #[test]
    fn many_writers_make_one_chain() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10).for_each(|number| EventLog::of(dir.path()).append(&event(number)).unwrap()));
            }
        });
        assert_eq!(EventLog::of(dir.path()).check().unwrap(), Some(ChainState::Intact { events: 40 }));
    }

    #[test]
    fn an_event_longer_than_the_window_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let log = EventLog::of(dir.path());
        let long = Event { payload: json!({"text": "x".repeat(200_000)}), ..event(0) };
        log.append(&event(0)).unwrap();
        log.append(&long).unwrap();
        log.append(&event(1)).unwrap();
        assert_eq!(log.check().unwrap(), Some(ChainState::Intact { events: 3 }));
    }
}
