//! Waiting for an answer, and bringing it home.

use std::time::Duration;
use std::time::Instant;

use serde::Serialize;
use serde_json::json;

use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::RequestId;
use crate::transport::conversation::Broken;
use crate::transport::conversation::Clocks;
use crate::transport::conversation::Conversation;
use crate::transport::conversation::Follow;
use crate::transport::conversation::Phase;
use crate::transport::conversation::Step;
use crate::transport::conversation::Whereabouts;
use crate::transport::conversation::fault;
use crate::transport::page::Capture;
use crate::transport::page::Captured;
use crate::transport::page::CompletionPath;
use crate::transport::page::Job;
use crate::transport::page::Proof;
use crate::transport::page::Signals;
use crate::transport::page::Watch;
use crate::transport::page::WatchState;
use crate::transport::page::within;
use crate::transport::profile::Element;

/// One wait in the page. Longer ones die on a grid; between two there is room for everything else.
const SLICE: Duration = Duration::from_secs(20);
/// The same in a remote browser, whose session can be ended only between two.
const SLICE_AFAR: Duration = Duration::from_secs(2);
/// How often progress is told at most.
const NEWS: Duration = Duration::from_secs(1);
/// How often what there is so far is brought home.
const KEEP: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(300);
/// Slices in a row that may be cut off by a dialog or a broken script.
const CUT_OFF: usize = 3;

/// How long the parts of a turn took, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// From the start to a page that can be used.
    pub ready_ms: u64,
    /// Attachments included.
    pub type_ms: u64,
    /// From the send to the first text.
    pub first_ms: u64,
    /// From the first text to the last.
    pub stream_ms: u64,
    /// How long the answer was still before it was taken.
    pub quiet_ms: u64,
    pub capture_ms: u64,
}

/// An answer, and how it was come by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Markdown.
    pub text: String,
    pub capture: Capture,
    pub path: CompletionPath,
    pub proof: Proof,
    /// The request id is somewhere in it.
    pub id_seen: bool,
    /// The request id is alone on its first and last line: it is this answer, and it is whole.
    pub sealed: bool,
    /// The page shows a block of it only in part, and no other way was found to it.
    pub clipped: bool,
    /// The page's sidebar got into it.
    pub sidebar: bool,
    pub signals: Signals,
    pub mutations: u64,
    pub timing: Timing,
}

/// What is known about an answer while it is waited for.
struct Waiting<'a> {
    id: &'a RequestId,
    sent: Instant,
    typed: Duration,
    last: Option<Watch>,
    /// What was there when the page was last asked for it.
    kept: Option<String>,
    snapshot_due: Option<Instant>,
    lost_since: Option<Instant>,
    has_returned: bool,
    cut_off: usize,
}

impl Conversation {
    /// Looks for a prompt that was sent before and brings its answer home. Nothing is sent.
    pub fn resume(
        &mut self,
        url: &str,
        request_id: &RequestId,
        clocks: &Clocks,
        follow: &mut Follow<'_>,
    ) -> Result<Answer, Broken> {
        let unclear = || Broken::at(Whereabouts::Unclear);
        let ready = self.go(url, follow).map_err(unclear())?;
        self.note_address(&ready.url, follow).map_err(unclear())?;
        let begun = Instant::now();
        self.answer(request_id, clocks, begun, Duration::ZERO, follow)
    }

    /// Watches the answer to its end and takes it.
    pub(super) fn answer(
        &mut self,
        id: &RequestId,
        clocks: &Clocks,
        sent: Instant,
        typed: Duration,
        follow: &mut Follow<'_>,
    ) -> Result<Answer, Broken> {
        let snapshot_due = self.snapshots.map(|_| Instant::now());
        let mut waiting = Waiting {
            id,
            sent,
            typed,
            last: None,
            kept: None,
            snapshot_due,
            lost_since: None,
            has_returned: false,
            cut_off: 0,
        };
        let ended = self.watch(&mut waiting, clocks, follow).and_then(|path| {
            let answer = self.capture(&waiting, path, true)?;
            let message = "the answer is over, but no text of it is found on the page";
            answer.ok_or_else(|| fault::drifted(&self.profile, Element::Body, message))
        });
        match ended {
            Ok(answer) => {
                let step = Step::Captured { capture: answer.capture, bytes: answer.text.len() };
                match follow(&step) {
                    Ok(()) => Ok(answer),
                    Err(fault) => {
                        Err(Broken { fault, whereabouts: Whereabouts::Sent, partial: Some(Box::new(answer)) })
                    }
                }
            }
            Err(fault) => {
                let is_alive = !matches!(fault.kind, FaultKind::BrowserCrashed | FaultKind::Interrupted);
                let path = CompletionPath::TimeoutPartial;
                let partial = is_alive.then(|| self.capture(&waiting, path, false).ok().flatten()).flatten();
                let partial = partial.or_else(|| self.kept(&mut waiting, path)).map(Box::new);
                Err(Broken { fault, whereabouts: Whereabouts::Sent, partial })
            }
        }
    }

    fn watch(
        &mut self,
        waiting: &mut Waiting<'_>,
        clocks: &Clocks,
        follow: &mut Follow<'_>,
    ) -> Result<CompletionPath, Fault> {
        loop {
            let left = clocks.answer.saturating_sub(waiting.sent.elapsed());
            let mut slice = if self.browser.is_remote() { SLICE_AFAR } else { SLICE }.min(left);
            if let (Some(every), Some(due)) = (self.snapshots, waiting.snapshot_due) {
                if due <= Instant::now() {
                    let html = self.snapshot()?;
                    follow(&Step::Snapshot { bytes: html.len(), html })?;
                    waiting.snapshot_due = Some(Instant::now() + every);
                }
                slice = slice.min(every);
            }
            let input = json!({
                "requestId": waiting.id.as_str(),
                "news_ms": NEWS.as_millis() as u64,
                "keep_ms": KEEP.as_millis() as u64,
                "stall_ms": clocks.stall.as_millis() as u64,
            });
            let watch = match self.page.wait::<Watch>(&self.browser, Job::Watch, within(slice, input), slice) {
                Ok(mut watch) => {
                    if let Some(text) = watch.partial.take() {
                        follow(&Step::Partial { bytes: text.len(), text: text.clone() })?;
                        waiting.kept = Some(text);
                    }
                    watch
                }
                Err(fault) => {
                    self.bear(fault, waiting)?;
                    continue;
                }
            };
            waiting.cut_off = 0;
            self.note_address(&watch.url, follow)?;
            let path = self.judge(&watch, waiting, clocks, follow)?;
            let characters = watch.chars;
            waiting.last = Some(watch);
            if let Some(path) = path {
                follow(&Step::Finished { path, characters })?;
                return Ok(path);
            }
        }
    }

    /// Makes of what was seen: an end, a fault, or more waiting.
    fn judge(
        &mut self,
        watch: &Watch,
        waiting: &mut Waiting<'_>,
        clocks: &Clocks,
        follow: &mut Follow<'_>,
    ) -> Result<Option<CompletionPath>, Fault> {
        let notice = watch.notice.as_ref();
        let elapsed = waiting.sent.elapsed();
        let phase = match watch.state {
            WatchState::Done => return Ok(Some(watch.path.unwrap_or(CompletionPath::InactivityFallback))),
            WatchState::Failed => return Err(fault::refused(&self.profile, notice)),
            WatchState::RateLimited => return Err(fault::rate_limited(&self.profile, notice)),
            WatchState::Challenge => return Err(fault::challenged(&self.profile)),
            WatchState::SignedOut => return Err(fault::signed_out(&self.profile)),
            WatchState::Lost => Phase::Lost,
            WatchState::Waiting => Phase::Waiting,
            WatchState::Thinking => Phase::Thinking,
            WatchState::Streaming => Phase::Streaming,
        };
        let elapsed_ms = elapsed.as_millis() as u64;
        follow(&Step::Watching { phase, characters: watch.chars, elapsed_ms, idle_ms: watch.idle })?;
        if elapsed >= clocks.answer {
            // It repeats its id at its end: it is whole, whatever the page still shows.
            if watch.signals.ended {
                return Ok(Some(CompletionPath::ForcedTimeout));
            }
            return Err(fault::too_late(clocks.answer.as_secs(), &state_of(watch)));
        }
        if phase == Phase::Lost {
            return self.look_for(watch, waiting, follow).map(|()| None);
        }
        waiting.lost_since = None;
        if Duration::from_millis(watch.idle) >= clocks.stall {
            let why = format!("{}, and nothing has moved for {} seconds", state_of(watch), clocks.stall.as_secs());
            return Err(fault::too_late(elapsed.as_secs(), &why));
        }
        Ok(None)
    }

    /// Our question is gone from the page: waits for it, and goes back to the conversation once.
    fn look_for(&mut self, watch: &Watch, waiting: &mut Waiting<'_>, follow: &mut Follow<'_>) -> Result<(), Fault> {
        if watch.left {
            return Err(fault::signed_out(&self.profile));
        }
        let since = *waiting.lost_since.get_or_insert_with(Instant::now);
        let address = self.address.clone().filter(|address| *address != watch.url);
        match address {
            Some(address) if !waiting.has_returned => {
                waiting.has_returned = true;
                follow(&Step::Returning { url: address.clone() })?;
                self.go(&address, follow).map(drop)
            }
            _ if since.elapsed() < self.profile.ready_limit() => {
                std::thread::sleep(PAUSE);
                Ok(())
            }
            _ if self.address.as_deref() == Some(watch.url.as_str()) => Err(fault::unclear(
                &self.profile,
                &format!("the conversation holds no prompt with the id {}", waiting.id),
            )),
            _ => Err(fault::elsewhere(&self.profile, &watch.url)),
        }
    }

    /// Goes on after what only cut off one wait; everything else is the end.
    fn bear(&self, fault: Fault, waiting: &mut Waiting<'_>) -> Result<(), Fault> {
        waiting.cut_off += 1;
        let may_pass = match fault.kind {
            // A page on its way: it is there again soon, or it is lost.
            FaultKind::NavigationLost => waiting.cut_off <= 10 * CUT_OFF,
            // A dialog of the browser answers in our place.
            FaultKind::PageDrifted => waiting.cut_off <= CUT_OFF,
            _ => false,
        };
        if may_pass {
            std::thread::sleep(PAUSE);
            return Ok(());
        }
        Err(fault)
    }

    /// Takes what there is of the answer; `None` when there is nothing.
    fn capture(&self, waiting: &Waiting<'_>, path: CompletionPath, is_whole: bool) -> Result<Option<Answer>, Fault> {
        let begun = Instant::now();
        let input = json!({"requestId": waiting.id.as_str(), "copy": is_whole});
        let captured: Captured = self.page.run(&self.browser, Job::Capture, input)?;
        let Captured { text: Some(text), capture: Some(capture), proof: Some(proof), .. } = captured else {
            return Ok(None);
        };
        let marks = Marks {
            seen: captured.seen,
            sealed: captured.sealed,
            clipped: captured.clipped,
            sidebar: captured.sidebar,
        };
        Ok(self.told(waiting, text, (capture, proof, path), marks, begun.elapsed()))
    }

    /// Returns what there was of the answer when the page was last asked for it.
    fn kept(&self, waiting: &mut Waiting<'_>, path: CompletionPath) -> Option<Answer> {
        let text = waiting.kept.take()?;
        let proof = waiting.last.as_ref()?.signals.question?;
        let marks = Marks { seen: text.contains(waiting.id.as_str()), ..Marks::default() };
        self.told(waiting, text, (Capture::Dom, proof, path), marks, Duration::ZERO)
    }

    fn told(
        &self,
        waiting: &Waiting<'_>,
        text: String,
        (capture, proof, path): (Capture, Proof, CompletionPath),
        marks: Marks,
        taken: Duration,
    ) -> Option<Answer> {
        let watch = waiting.last.as_ref()?;
        let capture_ms = taken.as_millis() as u64;
        let elapsed = waiting.sent.elapsed().as_millis() as u64;
        // Told by the page as "so long ago" when it was last looked at.
        let since_first = watch.first.unwrap_or_default() + capture_ms;
        Some(Answer {
            text,
            capture,
            path,
            proof,
            id_seen: marks.seen,
            sealed: marks.sealed,
            clipped: marks.clipped,
            sidebar: marks.sidebar,
            signals: watch.signals.clone(),
            mutations: watch.mutations,
            timing: Timing {
                ready_ms: self.ready_after.as_millis() as u64,
                type_ms: waiting.typed.as_millis() as u64,
                first_ms: elapsed.saturating_sub(since_first),
                stream_ms: since_first.saturating_sub(watch.quiet + capture_ms),
                quiet_ms: watch.quiet,
                capture_ms,
            },
        })
    }
}

/// What is to be known about a text.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    seen: bool,
    sealed: bool,
    clipped: bool,
    sidebar: bool,
}

fn state_of(watch: &Watch) -> String {
    match (watch.state, watch.chars) {
        (WatchState::Thinking, 0) => "it is still thinking".to_owned(),
        (_, 0) => "nothing has arrived".to_owned(),
        (_, characters) => format!("{characters} characters have arrived"),
    }
}
