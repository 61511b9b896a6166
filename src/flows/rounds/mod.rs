//! Rounds: a prompt goes out, the patch in the answer is judged and tried, and where it falls short it is asked for again
//! in the same conversation, as often as may be and no more.
//!
//! - `standing`: what was agreed so far, and what an answer makes of it
//! - `shortfall`: how an answer fell short; `followup`: what is said about that
//!
//! `review` always takes rounds; `ask` does with diff automation. No text of an answer decides what is said next: only
//! what was found out about its patch does.

mod followup;
mod shortfall;
mod standing;

use serde_json::json;

use crate::base::Oid;
use crate::base::plural;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Outcome;
use crate::flows::apply::Status;
use crate::flows::apply::Trouble;
use crate::flows::apply::Work;
use crate::flows::talk::Draft;
use crate::flows::talk::Heard;
use crate::flows::talk::Prompt;
use crate::flows::talk::Talk;
use crate::git::Repository;
use crate::system;

use shortfall::Shortfall;
use shortfall::Why;
use standing::Good;
use standing::Standing;

pub(in crate::flows) use followup::Briefing;
pub(in crate::flows) use followup::FORMAT;

/// When an answer that falls short is asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::flows) enum Follows {
    Never,
    /// When there is no patch in it that can be used.
    NoPatch,
    Anything,
}

/// What every round works with.
pub(in crate::flows) struct Rounds<'a, 't> {
    pub talk: &'a mut Talk<'t>,
    pub trial: Trial<'a>,
    pub follows: Follows,
    pub briefing: &'a Briefing,
}

/// How answers are judged and tried.
#[derive(Clone, Copy)]
pub(in crate::flows) struct Trial<'a> {
    pub work: &'a Work<'a>,
    pub repository: &'a Repository,
    /// The commit that is asked about.
    pub ground: Oid,
}

/// How the rounds ended, before anything gets into the working tree.
pub(in crate::flows) struct Ended {
    good: Option<Good>,
    shortfall: Option<Shortfall>,
    mode: ApplyMode,
}

impl Rounds<'_, '_> {
    /// Asks until an answer does what is asked for or there are no turns left. What ends a talk from outside is an error.
    pub fn ask(&mut self, first: &Draft, outcome: &mut Outcome) -> Result<Ended, Trouble> {
        let heard = self.talk.say(first, outcome)?;
        self.go_on(heard, Standing::new(self.trial.ground), outcome)
    }

    fn go_on(&mut self, mut heard: Heard, mut standing: Standing, outcome: &mut Outcome) -> Result<Ended, Trouble> {
        let mut asked_back = false;
        loop {
            let turns = self.talk.turns();
            let shortfall = match self.trial.hear(turns.used, heard, &mut standing, outcome) {
                Ok(shortfall) => shortfall,
                Err(trouble) => return Err(self.trial.keep(&standing, trouble, outcome)),
            };
            let Some(shortfall) = shortfall else { return self.trial.ended(standing, None, outcome) };
            // Who asks again what was answered already has nothing more to say.
            let falls = self.follows == Follows::Anything
                || self.follows == Follows::NoPatch && matches!(shortfall.why, Why::Missing | Why::Unusable);
            let asks = falls && !(shortfall.why == Why::Questions && asked_back);
            asked_back |= shortfall.why == Why::Questions;
            if !asks || turns.used >= turns.limit {
                self.talk.hit_limit(asks && turns.limit > 1, outcome);
                return self.trial.ended(standing, Some(shortfall), outcome);
            }
            let Trial { work, .. } = self.trial;
            work.tell(&format!("asking again: {}", shortfall.trouble.message));
            let text = followup::text(&shortfall, self.briefing, outcome, work.scanner);
            let next = self
                .talk
                .draft(&Prompt { text: &text, ..Prompt::default() })
                .map_err(Trouble::from)
                .and_then(|draft| self.talk.say(&draft, outcome));
            heard = next.map_err(|trouble| self.trial.keep(&standing, trouble, outcome))?;
        }
    }
}

impl Trial<'_> {
    /// Takes the answers of these turns as far as they go, in their order. Nothing is asked.
    pub fn replay(&self, replies: Vec<(u32, Heard)>, outcome: &mut Outcome) -> Result<Ended, Trouble> {
        let mut standing = Standing::new(self.ground);
        let mut shortfall = None;
        for (turn, heard) in replies {
            shortfall = self.hear(turn, heard, &mut standing, outcome)?;
        }
        self.ended(standing, shortfall, outcome)
    }

    fn ended(&self, standing: Standing, shortfall: Option<Shortfall>, outcome: &mut Outcome) -> Result<Ended, Trouble> {
        if let Some(good) = &standing.good {
            good.restore(self.work, outcome)?;
        }
        Ok(Ended { good: standing.good, shortfall, mode: self.work.mode })
    }

    /// What was agreed before something ended the talk is not lost: it stays in the session.
    fn keep(&self, standing: &Standing, mut trouble: Trouble, outcome: &mut Outcome) -> Trouble {
        let Some(good) = &standing.good else { return trouble };
        if let Err(error) = good.restore(self.work, outcome) {
            trouble.hint(error.message);
            return trouble;
        }
        trouble.hint(format!(
            "What was agreed before is kept: git oracle apply --from-session {} --apply-mode commit",
            self.work.session.slug
        ));
        trouble
    }

    /// Takes an answer as far as it goes short of the working tree. `None` when nothing is left to ask for.
    fn hear(
        &self,
        turn: u32,
        heard: Heard,
        standing: &mut Standing,
        outcome: &mut Outcome,
    ) -> Result<Option<Shortfall>, Trouble> {
        outcome.heard.retries = u64::from(turn.saturating_sub(1));
        if let Some(trouble) = heard.trouble {
            return Err(trouble);
        }
        if system::interrupted() {
            return Err(Trouble::interrupted());
        }
        self.work.turn.set(Some(turn));
        forget(outcome);
        let shortfall = self.consider(heard.reply.unwrap_or_default().as_bytes(), standing, outcome)?;
        let rejected: Vec<_> = outcome.hunks.iter().filter(|hunk| !hunk.agreed).collect();
        let facts = json!({
            "turn": turn,
            "agreed": outcome.hunks.len() - rejected.len(),
            "rejected": rejected.iter().map(|hunk| json!({
                "file": hunk.file.to_string(), "header": hunk.header, "reasons": hunk.reasons,
            })).collect::<Vec<_>>(),
            "tests": outcome.tests,
            "shortfall": shortfall.as_ref().map(|shortfall| json!({
                "why": shortfall.why.as_str(),
                "status": shortfall.trouble.status.as_str(),
                "message": shortfall.trouble.message,
            })),
        });
        self.work.session.record("judged", facts)?;
        Ok(shortfall)
    }

    fn consider(
        &self,
        reply: &[u8],
        standing: &mut Standing,
        outcome: &mut Outcome,
    ) -> Result<Option<Shortfall>, Trouble> {
        let work = self.work;
        if outcome.heard.sidebar == Some(true) {
            outcome.diff_reason = Some("sidebar_bleed_detected");
            let message = "the page's sidebar got into the answer, so nothing in it is taken for a patch";
            let trouble = Trouble::new(Status::DiffMissing, "page_drifted", message)
                .hinted("git oracle doctor --page NAME shows what is found on the page.");
            return Ok(Some(Shortfall { why: Why::Missing, trouble }));
        }
        let law = work.law()?;
        let (proposal, at) = standing.read(reply, self.repository, work.terms)?;
        if let Err(trouble) = work.keep(&proposal, outcome) {
            return Shortfall::of(trouble, outcome).map(Some);
        }
        let chosen = match work.judge(&proposal, &law, Some(at), outcome) {
            Ok(chosen) => chosen,
            Err(trouble) => return Shortfall::of(trouble, outcome).map(Some),
        };
        let left_out = |outcome: &Outcome| outcome.hunks.iter().filter(|hunk| !hunk.agreed).count() as u64;
        if work.mode > ApplyMode::None
            && let Some(shortfall) = standing.add(self, &law, &chosen, at, outcome)?
        {
            return Ok(Some(shortfall));
        }
        Ok(match left_out(outcome) {
            0 => None,
            count => {
                let message = format!("{} not agreed", plural(count, "hunk"));
                Some(Shortfall {
                    why: Why::Rejected,
                    trouble: Trouble::new(Status::Partial, "permission_denied", message),
                })
            }
        })
    }
}

impl Ended {
    /// Tells whether everything that was proposed at the end was agreed and passed its tests; and what it makes.
    pub fn tree(&self) -> Option<Oid> {
        self.good.as_ref().filter(|_| self.shortfall.is_none()).map(|good| good.tried.tree_id)
    }

    /// Brings what was agreed into the working tree, as far as the mode says. With nothing agreed, says why.
    pub fn land(self, work: &Work<'_>, outcome: &mut Outcome) -> Result<(), Trouble> {
        let Some(good) = self.good else {
            return match self.shortfall {
                // Without a candidate, what was judged is all there is.
                Some(shortfall) if self.mode > ApplyMode::None || shortfall.why != Why::Rejected => {
                    Err(shortfall.trouble)
                }
                _ => Ok(()),
            };
        };
        if let Some(shortfall) = self.shortfall.filter(|shortfall| shortfall.why != Why::Rejected) {
            outcome.notes.push(format!("the last answer was of no use, {}", shortfall.trouble.message));
        }
        work.bring_in(&good.tried, outcome)
    }
}

/// Forgets what is known about the patch of an earlier answer.
fn forget(outcome: &mut Outcome) {
    outcome.diff_found = false;
    outcome.diff_validated = false;
    outcome.diff_reason = None;
    outcome.hunks.clear();
    outcome.apply_error = None;
    outcome.gate = None;
    outcome.tests = None;
}
