//! Every hunk gets a verdict: agreed, or rejected with reasons.
//!
//! Paths, rules and places are judged here; what a patch is meant to do is not. A patch that reaches for an unsafe path,
//! a symlink or a submodule is not trusted in part. What has no certain place is rejected, never guessed.

use std::collections::HashMap;
use std::collections::HashSet;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::base::plural;
use crate::change::ChangeSet;
use crate::change::has_bidi;
use crate::contract::Contract;
use crate::flows::apply::Accept;
use crate::flows::apply::contents::Contents;
use crate::flows::apply::proposal::Proposal;
use crate::flows::apply::result::HunkVerdict;
use crate::flows::apply::result::Status;
use crate::flows::apply::result::Trouble;
use crate::flows::gate::change_set;
use crate::flows::secrets::note_secrets;
use crate::gate;
use crate::gate::Report;
use crate::gate::Rule;
use crate::gate::Violation;
use crate::git::Look;
use crate::git::Repository;
use crate::patch;
use crate::patch::FileKind;
use crate::patch::FilePatch;
use crate::patch::Hunk;
use crate::patch::LineKind;
use crate::patch::Patch;
use crate::patch::PatchErrorKind;
use crate::policy::Protected;
use crate::secret::Scanner;

/// Rules whose violation means that nothing of the patch is trusted.
const DISTRUST: [Rule; 7] = [
    Rule::UnsafePath,
    Rule::Symlink,
    Rule::SymlinkEscape,
    Rule::TypeChange,
    Rule::Submodule,
    Rule::NestedRepository,
    Rule::HiddenChange,
];

/// What a patch is judged by.
pub(super) struct Bench<'a> {
    /// The repository and the commit that the patch is for; without one, only the patch itself is looked at.
    pub place: Option<(&'a Repository, Oid)>,
    pub contract: Option<&'a Contract>,
    pub protected: &'a Protected,
    pub scanner: &'a Scanner,
    pub prefix: Option<&'a str>,
    pub strict: bool,
}

/// One hunk, or one file without hunks, on its way to a verdict.
struct Slot {
    file: usize,
    hunk: Option<usize>,
    verdict: HunkVerdict,
    /// How many lines of the file lie before it.
    place: usize,
    cause: Option<Cause>,
}

/// Why a slot is rejected, as far as it matters for the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Unplaced,
    Prefix,
    Rule,
    Distrust,
}

/// A patch with a verdict on each of its hunks.
pub(super) struct Judgement {
    bytes: Vec<u8>,
    patch: Patch,
    slots: Vec<Slot>,
    /// Hunks that were left out before the patch was written.
    unplaced: Vec<HunkVerdict>,
    pub report: Report,
    /// The labels of the secrets that the patch adds.
    pub secrets: Vec<String>,
}

/// What of a patch gets in.
pub(in crate::flows) struct Chosen {
    pub patch: Vec<u8>,
    /// What each path has to become; `None` inside when it has to be gone. Binary files are not listed.
    pub expected: HashMap<RepoPath, Option<Vec<u8>>>,
    /// Those whose content has to be another one.
    pub changed: Vec<RepoPath>,
    /// Every path that is touched, sorted.
    pub paths: Vec<RepoPath>,
}

/// Reads a proposal and judges each hunk of it.
pub(super) fn judge(proposal: &Proposal, bench: &Bench<'_>) -> Result<Judgement, (Trouble, &'static str)> {
    let invalid = |reason: &'static str, message: String| {
        let trouble = Trouble::new(Status::InvalidDiff, "ambiguous_goal", message);
        (trouble.hinted("Make the patch with `git diff` or `git format-patch`."), reason)
    };
    if patch::is_encoded_mail(&proposal.patch) {
        return Err(invalid("malformed", "the patch is an encoded mail, which has to be decoded first".to_owned()));
    }
    let patch = match patch::parse_patch(&proposal.patch) {
        Ok(patch) => patch,
        Err(error) if error.kind == PatchErrorKind::Empty && proposal.unplaced.is_empty() => {
            let trouble = Trouble::new(Status::DiffMissing, "ambiguous_goal", "there is no patch in it");
            return Err((trouble.hinted("A patch has lines such as `diff --git a/FILE b/FILE`."), "no_diff_block"));
        }
        Err(error) if error.kind == PatchErrorKind::Empty => Patch { files: Vec::new() },
        Err(error) if matches!(error.kind, PatchErrorKind::Absolute | PatchErrorKind::NulInName) => {
            return Err(invalid("unsafe_path", format!("failed to {error}")));
        }
        Err(error) => return Err(invalid("malformed", format!("failed to {error}"))),
    };
    if bench.strict {
        let lines: Vec<&[u8]> = proposal.patch.split(|byte| *byte == b'\n').collect();
        for file in &patch.files {
            let first = lines.get(file.line - 1).copied().unwrap_or_default();
            if !first.starts_with(b"diff --git ") || file.hunks.is_empty() {
                let name = name_of(file);
                return Err(invalid(
                    "malformed",
                    format!("with --strict-diff a file has a `diff --git` line and hunks: {name}"),
                ));
            }
        }
    }
    let set = match bench.place {
        Some((repository, _)) => {
            let contract = bench.contract;
            let in_scope = |path: &RepoPath| contract.is_none_or(|contract| contract.scope.covers(path));
            change_set(repository, &patch, &Look { in_scope: &in_scope, secrets: None }, bench.scanner)
                .map_err(|failure| (Trouble::from(failure), "malformed"))?
        }
        None => {
            let mut set = patch::to_changes(&patch, &|_| None).set;
            note_secrets(&mut set, &patch, bench.scanner);
            set
        }
    };
    Ok(Judgement::new(proposal, patch, &set, bench))
}

impl Judgement {
    fn new(proposal: &Proposal, patch: Patch, set: &ChangeSet, bench: &Bench<'_>) -> Self {
        let report = match bench.contract {
            Some(contract) => gate::judge(set, contract, bench.protected),
            None => gate::judge_without_contract(set, bench.protected),
        };
        let mut slots = slots(&patch);
        for (slot, mends) in slots.iter_mut().filter(|slot| slot.hunk.is_some()).zip(&proposal.mends) {
            slot.verdict.mends.clone_from(mends);
        }
        let unplaced = proposal.unplaced.iter().map(|unplaced| HunkVerdict {
            file: unplaced.file.clone(),
            header: unplaced.header.clone(),
            agreed: false,
            reasons: vec![format!("not_placeable: {}", unplaced.reason)],
            mends: Vec::new(),
        });
        let unplaced = unplaced.collect();
        let mut secrets: Vec<String> = set
            .steps
            .iter()
            .flat_map(|step| &step.changes)
            .flat_map(|change| &change.facts.secrets)
            .map(|secret| secret.label.clone())
            .collect();
        secrets.sort();
        secrets.dedup();
        let mut judgement = Judgement { bytes: proposal.patch.clone(), patch, slots, unplaced, report, secrets };
        judgement.ask_rules();
        judgement.ask_prefix(bench.prefix);
        judgement.find_places(bench);
        judgement.leave_out_broken_files();
        judgement
    }

    /// Returns all verdicts, in the order of the patch.
    pub fn verdicts(&self) -> Vec<HunkVerdict> {
        self.slots.iter().map(|slot| slot.verdict.clone()).chain(self.unplaced.iter().cloned()).collect()
    }

    fn ask_rules(&mut self) {
        let distrust = self.report.violations.iter().find(|violation| DISTRUST.contains(&violation.rule)).cloned();
        let mut by_path: HashMap<&RepoPath, Vec<&Violation>> = HashMap::new();
        for violation in &self.report.violations {
            by_path.entry(&violation.path).or_default().push(violation);
        }
        // What cannot be said about one path is said about the top.
        let top = RepoPath::from(".");
        for slot in &mut self.slots {
            let file = &self.patch.files[slot.file];
            let hunk = slot.hunk.map(|hunk| &file.hunks[hunk]);
            let mut paths = paths_of(file);
            paths.dedup();
            for violation in paths.iter().chain([&top]).filter_map(|path| by_path.get(path)).flatten() {
                if speaks_of(violation, hunk) {
                    slot.reject(Cause::Rule, format!("{}: {}", violation.rule, violation.message));
                }
            }
            if let Some(violation) = &distrust {
                if slot.verdict.agreed {
                    slot.reject(Cause::Distrust, format!("{}: another file of the patch is not safe", violation.rule));
                }
                slot.cause = Some(Cause::Distrust);
            }
        }
    }

    fn ask_prefix(&mut self, prefix: Option<&str>) {
        let Some(prefix) = prefix else { return };
        let normal = prefix.replace('\\', "/");
        let normal = normal.trim_end_matches('/');
        let normal = normal.strip_prefix("./").unwrap_or(normal);
        let top = if normal == "." { "" } else { normal };
        for slot in &mut self.slots {
            let file = &self.patch.files[slot.file];
            if paths_of(file).iter().any(|path| !path.is_within(top.as_bytes())) {
                slot.reject(Cause::Prefix, format!("{}: it is not in {normal}", Rule::OutOfScope));
            }
        }
    }

    /// Finds the place of each hunk in the files as they are, and rejects what has none.
    fn find_places(&mut self, bench: &Bench<'_>) {
        let Some((repository, commit_id)) = bench.place else { return };
        let mut files = Contents::of(repository, commit_id);
        for slots in self.slots.chunk_by_mut(|a, b| a.file == b.file) {
            let Some(file) = slots.first().map(|slot| &self.patch.files[slot.file]) else { continue };
            // What a rule rejects is not looked into.
            if slots.iter().any(|slot| slot.cause.is_some_and(|cause| cause >= Cause::Distrust)) {
                continue;
            }
            let content = match files.before(file) {
                Ok(content) => content,
                Err(reason) => {
                    slots.iter_mut().for_each(|slot| slot.reject(Cause::Unplaced, format!("not_placeable: {reason}")));
                    continue;
                }
            };
            let mut placed = Vec::new();
            for (number, place) in patch::place_exactly(&file.hunks, &content).into_iter().enumerate() {
                let hunk = &file.hunks[number];
                let Some(slot) = slots.get_mut(number).filter(|slot| slot.hunk == Some(number)) else { continue };
                match place {
                    Ok(place) => {
                        let named = usize::try_from(hunk.old_start).unwrap_or(usize::MAX).saturating_sub(1);
                        if hunk.old_lines > 0 && place != named {
                            let mend = format!("moved from line {} to line {}", hunk.old_start, place + 1);
                            slot.verdict.mends.push(mend);
                        }
                        slot.place = place;
                        placed.push((place, hunk));
                    }
                    Err(reason) => slot.reject(Cause::Unplaced, format!("not_placeable: {reason}")),
                }
            }
            let after = patch::patched(&content, &placed);
            if file.kind == FileKind::Delete && !file.binary && !after.is_empty() && placed.len() == file.hunks.len() {
                let reason = "not_placeable: the file has more lines than the patch deletes";
                slots.iter_mut().for_each(|slot| slot.reject(Cause::Unplaced, reason.to_owned()));
            }
            files.change(file, after);
        }
    }

    /// Leaves a file out whole where a part of it would make no sense: a hunk of it has no place, or it is added, deleted,
    /// renamed or copied, or another part of the patch builds on it.
    fn leave_out_broken_files(&mut self) {
        let mut broken: HashSet<usize> = HashSet::new();
        for slot in self.slots.iter().filter(|slot| !slot.verdict.agreed) {
            let whole = self.patch.files[slot.file].kind != FileKind::Modify || slot.cause == Some(Cause::Unplaced);
            if whole {
                broken.insert(slot.file);
            }
        }
        let lost: HashSet<&RepoPath> = self.unplaced.iter().map(|unplaced| &unplaced.file).collect();
        for (index, file) in self.patch.files.iter().enumerate() {
            if paths_of(file).iter().any(|path| lost.contains(path)) {
                broken.insert(index);
            }
        }
        let linked = linked_files(&self.patch);
        let rejected: HashSet<usize> =
            self.slots.iter().filter(|slot| !slot.verdict.agreed).map(|slot| slot.file).collect();
        // One group may break another.
        let mut known = usize::MAX;
        while known != broken.len() {
            known = broken.len();
            for group in &linked {
                if group.iter().any(|file| rejected.contains(file) || broken.contains(file)) {
                    broken.extend(group);
                }
            }
        }
        for slot in self.slots.iter_mut().filter(|slot| slot.verdict.agreed && broken.contains(&slot.file)) {
            slot.reject(Cause::Unplaced, "another hunk of this file is rejected, so the file is left out".to_owned());
        }
    }

    /// Takes agreed hunks back that a person does not want.
    pub fn pick(&mut self, mut wanted: impl FnMut(&HunkVerdict, &[u8]) -> bool) {
        for index in 0..self.slots.len() {
            if self.slots[index].verdict.agreed {
                let text = self.text_of(&self.slots[index]);
                if !wanted(&self.slots[index].verdict, &text) {
                    self.slots[index].reject(Cause::Rule, "not picked".to_owned());
                }
            }
        }
        self.leave_out_broken_files();
    }

    /// Returns the lines of a slot, for a person to look at.
    fn text_of(&self, slot: &Slot) -> Vec<u8> {
        let Some(hunk) = slot.hunk.map(|hunk| &self.patch.files[slot.file].hunks[hunk]) else { return Vec::new() };
        let mut text = Vec::new();
        for line in &hunk.lines {
            text.push(match line.kind {
                LineKind::Context => b' ',
                LineKind::Added => b'+',
                LineKind::Removed => b'-',
            });
            text.extend_from_slice(&line.text);
            text.push(b'\n');
        }
        text
    }

    /// Returns why the patch does not get in, as far as `accept` goes: something was rejected, or nothing is left.
    pub fn refusal(&self, accept: Accept) -> Option<(Trouble, Option<&'static str>)> {
        let rejected: Vec<&HunkVerdict> =
            self.slots.iter().map(|slot| &slot.verdict).chain(&self.unplaced).filter(|hunk| !hunk.agreed).collect();
        let agreed = self.slots.iter().any(|slot| slot.verdict.agreed);
        if rejected.is_empty() || accept == Accept::Agreed && agreed {
            return None;
        }
        let first = rejected[0];
        let reason = first.reasons.first().map(String::as_str).unwrap_or_default();
        let more = match rejected.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let count = plural((self.slots.len() + self.unplaced.len()) as u64, "hunk");
        let message = format!("{} of {count} rejected, {}: {reason}{more}", rejected.len(), first.file);
        let strictest = self.slots.iter().filter_map(|slot| slot.cause).max().unwrap_or(Cause::Unplaced);
        let unsafe_path = self.report.violations.iter().any(|violation| violation.rule == Rule::UnsafePath);
        let (status, kind, diff_reason) = match strictest {
            Cause::Unplaced => (Status::InvalidDiff, "ambiguous_goal", Some("not_placeable")),
            Cause::Prefix => (Status::InvalidDiff, "permission_denied", None),
            Cause::Rule if !self.secrets.is_empty() => (Status::SecretDetected, "secret_detected", None),
            Cause::Rule => (Status::GateFailed, "permission_denied", None),
            Cause::Distrust if unsafe_path => (Status::InvalidDiff, "unsafe_action", Some("unsafe_path")),
            Cause::Distrust => (Status::GateFailed, "unsafe_action", None),
        };
        let hint = match self.report.violations.first() {
            Some(violation) => violation.hint.clone(),
            None => "Make the patch against the present HEAD.".to_owned(),
        };
        let mut trouble = Trouble::new(status, kind, message).hinted(hint);
        if agreed && accept == Accept::All {
            trouble = trouble.hinted("Take the hunks that are agreed with --accept agreed.");
        }
        Some((trouble, diff_reason))
    }

    /// Returns what is agreed, as a patch of its own.
    pub fn choose(&self, bench: &Bench<'_>) -> Result<Chosen, Trouble> {
        let mut chosen: Vec<Option<Vec<Option<usize>>>> = vec![None; self.patch.files.len()];
        for slot in &self.slots {
            if slot.hunk.is_none() {
                chosen[slot.file] = slot.verdict.agreed.then(Vec::new);
            } else {
                chosen[slot.file].get_or_insert_default().push(slot.verdict.agreed.then_some(slot.place));
            }
        }
        for places in &mut chosen {
            *places = places.take().filter(|places| places.is_empty() || places.iter().any(Option::is_some));
        }
        let bytes = patch::select(&self.bytes, &self.patch, &chosen);
        let wrong = || Trouble::new(Status::Error, "unknown_failure", "the chosen hunks do not make the same patch");
        let again = patch::parse_patch(&bytes).map_err(|_| wrong())?;
        // What is applied is what was judged, read back from the very bytes.
        let kept: Vec<(&FilePatch, Vec<&Hunk>)> = self
            .patch
            .files
            .iter()
            .zip(&chosen)
            .filter_map(|(file, places)| {
                let hunks = file.hunks.iter().zip(places.as_ref()?).filter_map(|(hunk, place)| place.map(|_| hunk));
                Some((file, hunks.collect()))
            })
            .collect();
        let same = again.files.len() == kept.len()
            && again.files.iter().zip(&kept).all(|(new, (old, hunks))| {
                // An index line that is left out may have stated a mode that stays as it is.
                let same_mode = new.new_mode == old.new_mode || new.new_mode.is_none() && old.old_mode == old.new_mode;
                (&new.old_path, &new.new_path, new.kind) == (&old.old_path, &old.new_path, old.kind)
                    && same_mode
                    && new.hunks.iter().map(|hunk| &hunk.lines).eq(hunks.iter().map(|hunk| &hunk.lines))
            });
        if !same {
            return Err(wrong());
        }
        let mut paths: Vec<RepoPath> = again.files.iter().flat_map(paths_of).collect();
        paths.sort();
        paths.dedup();
        let Some((repository, commit_id)) = bench.place else {
            return Ok(Chosen { patch: bytes, expected: HashMap::new(), changed: Vec::new(), paths });
        };
        let mut files = Contents::of(repository, commit_id);
        for file in &again.files {
            let content = files.before(file).map_err(|_| wrong())?;
            let place = |hunk: &Hunk| {
                usize::try_from(hunk.old_start).unwrap_or(0).saturating_sub(usize::from(hunk.old_lines > 0))
            };
            let placed: Vec<(usize, &Hunk)> = file.hunks.iter().map(|hunk| (place(hunk), hunk)).collect();
            let after = patch::patched(&content, &placed);
            files.change(file, after);
        }
        let binary: HashSet<RepoPath> = again.files.iter().filter(|file| file.binary).flat_map(paths_of).collect();
        let expected: HashMap<_, _> = files.known.into_iter().filter(|(path, _)| !binary.contains(path)).collect();
        let differs = |path: &RepoPath, content: &Option<Vec<u8>>| files.original.get(path) != Some(content);
        let changed = expected.iter().filter(|(path, content)| differs(path, content)).map(|(path, _)| path.clone());
        Ok(Chosen { patch: bytes, changed: changed.collect(), expected, paths })
    }
}

impl Slot {
    fn reject(&mut self, cause: Cause, reason: String) {
        self.verdict.agreed = false;
        self.verdict.reasons.push(reason);
        self.cause = self.cause.max(Some(cause));
    }
}

fn slots(patch: &Patch) -> Vec<Slot> {
    let mut slots = Vec::new();
    for (index, file) in patch.files.iter().enumerate() {
        let slot = |hunk: Option<usize>, header: String| Slot {
            file: index,
            hunk,
            verdict: HunkVerdict { file: name_of(file), header, agreed: true, reasons: Vec::new(), mends: Vec::new() },
            place: 0,
            cause: None,
        };
        if file.hunks.is_empty() {
            let header = match file.kind {
                _ if file.binary => "binary",
                FileKind::Rename => "rename",
                FileKind::Copy => "copy",
                FileKind::Add => "new file",
                FileKind::Delete => "deleted file",
                FileKind::Modify => "mode change",
            };
            slots.push(slot(None, header.to_owned()));
        }
        for (number, hunk) in file.hunks.iter().enumerate() {
            let header = format!("@@ -{},{} +{},{} @@", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines);
            slots.push(slot(Some(number), header));
        }
    }
    slots
}

/// Tells whether a violation of its file is about a hunk: where a rule speaks of lines, about one of its lines.
fn speaks_of(violation: &Violation, hunk: Option<&Hunk>) -> bool {
    match (violation.rule, hunk) {
        (Rule::BidiControl, Some(hunk)) => {
            hunk.lines.iter().any(|line| line.kind == LineKind::Added && has_bidi(&line.text))
        }
        (Rule::Secret, Some(hunk)) => {
            let at = violation.line.and_then(|line| u64::try_from(line).ok());
            at.is_none_or(|line| (hunk.new_start..hunk.new_start.saturating_add(hunk.new_lines)).contains(&line))
        }
        _ => true,
    }
}

fn paths_of(file: &FilePatch) -> Vec<RepoPath> {
    [&file.old_path, &file.new_path].into_iter().flatten().map(|path| RepoPath::new(path.clone())).collect()
}

fn name_of(file: &FilePatch) -> RepoPath {
    RepoPath::new(file.new_path.as_ref().or(file.old_path.as_ref()).cloned().unwrap_or_default())
}

/// Returns the groups of files that name a path together.
fn linked_files(patch: &Patch) -> Vec<Vec<usize>> {
    let mut by_path: HashMap<RepoPath, Vec<usize>> = HashMap::new();
    for (index, file) in patch.files.iter().enumerate() {
        let mut paths = paths_of(file);
        paths.dedup();
        paths.into_iter().for_each(|path| by_path.entry(path).or_default().push(index));
    }
    by_path.into_values().filter(|group| group.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::apply::Unplaced;

    const PATCH: &str = "\
--- a/one
+++ b/one
@@ -1 +1 @@
-a
+b
--- a/two
+++ b/two
@@ -1 +1 @@
-c
+d
";

    fn judged(proposal: &Proposal) -> Judgement {
        let protected = Protected::new(None, Vec::new()).unwrap();
        let scanner = Scanner::built_in();
        let bench = Bench {
            place: None,
            contract: None,
            protected: &protected,
            scanner: &scanner,
            prefix: None,
            strict: false,
        };
        judge(proposal, &bench).map_err(|(trouble, _)| trouble.message).unwrap()
    }

    fn verdicts(judgement: &Judgement) -> Vec<(String, bool)> {
        judgement.verdicts().into_iter().map(|hunk| (hunk.file.to_string(), hunk.agreed)).collect()
    }

    fn lost(file: &str) -> Unplaced {
        Unplaced { file: file.into(), header: "@@ … @@".into(), reason: "nowhere".into() }
    }

    #[test]
    fn a_file_with_a_hunk_that_found_no_place_is_left_out_whole() {
        let proposal = Proposal { unplaced: vec![lost("two")], ..Proposal::of_patch(PATCH.into()) };
        let judgement = judged(&proposal);
        assert_eq!(verdicts(&judgement), [("one".into(), true), ("two".into(), false), ("two".into(), false)]);
        assert!(judgement.refusal(Accept::Agreed).is_none());
        let (trouble, reason) = judgement.refusal(Accept::All).unwrap();
        assert_eq!((trouble.status, reason), (Status::InvalidDiff, Some("not_placeable")));
    }

    #[test]
    fn a_reply_of_which_nothing_found_a_place_is_refused() {
        let proposal = Proposal { unplaced: vec![lost("two")], ..Proposal::default() };
        let (trouble, reason) = judged(&proposal).refusal(Accept::Agreed).unwrap();
        assert_eq!((trouble.status, reason), (Status::InvalidDiff, Some("not_placeable")));
    }

    #[test]
    fn mends_stay_with_their_hunks() {
        let mends = vec![Vec::new(), vec!["counts".to_owned()]];
        let judgement = judged(&Proposal { mends: mends.clone(), ..Proposal::of_patch(PATCH.into()) });
        assert_eq!(judgement.verdicts().into_iter().map(|hunk| hunk.mends).collect::<Vec<_>>(), mends);
    }

    #[test]
    fn a_file_that_is_named_twice_gets_in_whole_or_not_at_all() {
        let twice = format!("{PATCH}--- a/one\n+++ b/one\n@@ -1 +1 @@\n-b\n+\u{202e}\n");
        let judgement = judged(&Proposal::of_patch(twice.into_bytes()));
        assert_eq!(verdicts(&judgement), [("one".into(), false), ("two".into(), true), ("one".into(), false)]);
    }

    #[test]
    fn a_long_patch_takes_no_long_time() {
        let file = |number: usize| format!("--- a/.env/{number}\n+++ b/.env/{number}\n@@ -1 +1 @@\n-a\n+b\n");
        let text: String = (0..30_000).map(file).collect();
        let judgement = judged(&Proposal::of_patch(text.into_bytes()));
        assert!(judgement.verdicts().iter().all(|hunk| !hunk.agreed && hunk.reasons.len() == 1));
    }
}
