//! A reply as text: where the patch is in it, and what the words around it say.
//!
//! [`extract`] finds the blocks that hold a patch (fenced, bare, Begin-Patch), scores them, and leaves out what the reply
//! itself says is not to be applied. It never looks at a file: whether a block fits is for `place`.

mod begin;
mod block;
mod markdown;
mod rejoin;
mod section;
mod unified;
mod words;

use std::ops::Range;

pub use begin::read_begin_patch;
use block::Content;
use block::Parsed;
use block::read_block;
pub use markdown::Blocks;
pub use markdown::Fence;
pub use markdown::find_fences;
pub use section::LooseHunk;
pub use section::LooseLine;
pub use section::Moved;
pub use section::Name;
pub use section::Op;
pub use section::Operation;
pub use section::Section;
pub use section::Style;
pub use unified::Place;
pub use unified::read_unified;
pub use words::Lead;

use crate::patch::place::Mend;
use words::Role;

/// Why a reply gives no patch. The words are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    NoFencedBlocks,
    PartialFence,
    SidebarBleed,
    Questions,
    NoDiffBlock,
    ConflictingBlocks,
    NotPlaceable,
    UnsafePath,
    Malformed,
}

impl Reason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::NoFencedBlocks => "no_fenced_blocks",
            Reason::PartialFence => "partial_fence",
            Reason::SidebarBleed => "sidebar_bleed_detected",
            Reason::Questions => "questions",
            Reason::NoDiffBlock => "no_diff_block",
            Reason::ConflictingBlocks => "conflicting_blocks",
            Reason::NotPlaceable => "not_placeable",
            Reason::UnsafePath => "unsafe_path",
            Reason::Malformed => "malformed",
        }
    }

    /// Tells whether there was no patch at all, as against one that cannot be used.
    pub const fn is_missing(self) -> bool {
        matches!(self, Reason::NoFencedBlocks | Reason::Questions | Reason::NoDiffBlock)
    }
}

/// A refusal: its reason, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub reason: Reason,
    pub message: String,
}

impl Refusal {
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Refusal { reason, message: message.into() }
    }
}

/// How a block that may be a patch stands in the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateKind {
    Fence,
    Bare,
    BeginPatch,
}

impl CandidateKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            CandidateKind::Fence => "fence",
            CandidateKind::Bare => "bare",
            CandidateKind::BeginPatch => "begin_patch",
        }
    }
}

/// A block that was looked at, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub kind: CandidateKind,
    /// 1-based line of the reply
    pub line: usize,
    pub label: String,
    pub score: u32,
    pub taken: bool,
    pub why: String,
}

/// A block that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchBlock {
    /// Which candidate it is
    pub candidate: usize,
    pub lead: Lead,
    /// The words before it say that it replaces what came earlier
    pub supersedes: bool,
    /// Words before it that may name its file, the nearest first
    pub paths: Vec<String>,
    pub mends: Vec<Mend>,
    pub sections: Vec<Section>,
}

/// What was found in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    pub candidates: Vec<Candidate>,
    pub blocks: Vec<PatchBlock>,
    pub refusal: Option<Refusal>,
}

impl Extraction {
    /// Returns the best score of a block that counts.
    pub fn score(&self) -> Option<u32> {
        self.candidates.iter().filter(|candidate| candidate.taken).map(|candidate| candidate.score).max()
    }
}

/// Finds the patch in a reply.
pub fn extract(reply: &[u8]) -> Extraction {
    let mut finder = Finder { reply, candidates: Vec::new(), blocks: Vec::new(), refusal: None, counted: (0, 1) };
    match find_fences(reply) {
        Ok(fences) => finder.read(&fences),
        Err(long) => {
            let line = finder.line_at(long.offset);
            finder.refuse(Reason::Malformed, format!("the list or quote at line {line} is too long to be read"));
        }
    }
    let Finder { candidates, mut blocks, refusal, .. } = finder;
    if refusal.is_some() {
        blocks.clear();
    }
    Extraction { candidates, blocks, refusal }
}

struct Finder<'a> {
    reply: &'a [u8],
    candidates: Vec<Candidate>,
    blocks: Vec<PatchBlock>,
    refusal: Option<Refusal>,
    /// An offset and its line, so that lines are counted once
    counted: (usize, usize),
}

/// Where the words before a block are.
struct Around {
    start: usize,
    prose: Range<usize>,
}

impl Finder<'_> {
    fn refuse(&mut self, reason: Reason, message: String) {
        self.refusal.get_or_insert(Refusal { reason, message });
    }

    fn line_at(&mut self, offset: usize) -> usize {
        let (from, line) = if self.counted.0 <= offset { self.counted } else { (0, 1) };
        let line = line + memchr::memchr_iter(b'\n', &self.reply[from..offset]).count();
        self.counted = (offset, line);
        line
    }

    fn read(&mut self, blocks: &Blocks) {
        let prose = || blocks.prose(self.reply.len());
        let spoken = self.last_answer(prose());
        if self.has_frame(prose()) {
            let message = "the reply holds the navigation of the page, so it is not the answer alone";
            self.refuse(Reason::SidebarBleed, message.into());
        }
        let mut fences = blocks.fences.iter().peekable();
        for range in blocks.prose(self.reply.len()) {
            let end = self.read_prose(range.clone(), &spoken);
            while let Some(fence) = fences.next_if(|fence| fence.range.start <= range.end) {
                let around = Around { start: fence.range.start, prose: end.min(fence.range.start)..fence.range.start };
                self.read_fence(fence, &around, &spoken);
            }
        }
        if self.refusal.is_none() && self.blocks.is_empty() {
            let (reason, message) = match () {
                () if words::asks(self.reply) && self.candidates.is_empty() && blocks.is_empty() => {
                    (Reason::Questions, "the reply asks questions and has no patch")
                }
                () if blocks.is_empty() && self.candidates.is_empty() => {
                    (Reason::NoFencedBlocks, "the reply has no code block and no patch")
                }
                () => (Reason::NoDiffBlock, "no block of the reply is a patch to apply"),
            };
            self.refuse(reason, message.into());
        }
    }

    /// Returns the part of the reply that is the last answer, if the reply is a copy of a conversation.
    fn last_answer(&self, prose: impl Iterator<Item = Range<usize>>) -> Range<usize> {
        let mut answer = 0..self.reply.len();
        let mut asked = false;
        for range in prose {
            let mut at = range.start;
            for line in self.reply[range.clone()].split_inclusive(|byte| *byte == b'\n') {
                match words::role_of(line) {
                    Some(Role::Person) => {
                        asked = true;
                        answer.end = at;
                    }
                    Some(Role::Assistant) if asked => answer = at..self.reply.len(),
                    _ => {}
                }
                at += line.len();
            }
        }
        answer
    }

    fn has_frame(&self, prose: impl Iterator<Item = Range<usize>>) -> bool {
        // The frame comes before or after the answer.
        let edge = 16 << 10;
        let near = |range: &Range<usize>| range.start < edge || range.end + edge > self.reply.len();
        let text: Vec<String> = prose
            .filter(near)
            .map(|range| {
                let text = &self.reply[range.clone()];
                let (head, tail) = (&text[..text.len().min(edge)], &text[text.len().saturating_sub(edge)..]);
                format!("{}\n{}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail))
            })
            .collect();
        words::frame_words(&text.join("\n")) >= 3
    }

    fn read_fence(&mut self, fence: &Fence, around: &Around, spoken: &Range<usize>) {
        let lines: Vec<&[u8]> = fence.lines.iter().map(|range| &self.reply[range.clone()]).collect();
        let content = read_block(&lines, Place::Fence, markdown::is_patch_label(&fence.info));
        let announced =
            markdown::is_patch_label(&fence.info) || lines.iter().any(|line| line.starts_with(b"diff --git "));
        if matches!(content, Content::Nothing(_)) && (fence.closed || !announced) {
            return;
        }
        let label = String::from_utf8_lossy(&fence.info).into_owned();
        let size = fence.lines.iter().map(|range| range.len() + 1).sum();
        if !spoken.contains(&fence.range.start) {
            self.note(CandidateKind::Fence, around, label, 0, "it belongs to an earlier turn of the conversation");
            return;
        }
        if !fence.closed || fence.cut {
            let line = self.line_at(fence.range.start);
            self.note(CandidateKind::Fence, around, label, 0, "the block has no end, or was cut by a fence inside it");
            let message = format!("the patch block at line {line} has no closing fence, or a fence inside it cut it");
            self.refuse(if fence.closed { Reason::Malformed } else { Reason::PartialFence }, message);
            return;
        }
        let paths = words::path_words(&fence.info);
        self.take(content, CandidateKind::Fence, around, label, size, paths);
        if fence.joined
            && let Some(block) = self.blocks.last_mut()
        {
            block.mends.push(Mend::Rejoined);
        }
    }

    /// Finds patches without a fence, and returns where the last one ended.
    fn read_prose(&mut self, range: Range<usize>, spoken: &Range<usize>) -> usize {
        let mut from = range.start;
        let mut at = range.start;
        while at < range.end && self.refusal.is_none() {
            let end = markdown::line_end(self.reply, at).min(range.end);
            let Some(inside) = self.bare_start(at..end, range.end) else {
                at = end;
                continue;
            };
            // What a list or a quote puts before the first line stands before all of them.
            let lead = &self.reply[at..inside];
            let prefix = if lead.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'>')) { lead } else { b"" };
            let text = &self.reply[inside..range.end];
            let (content, taken) = read_bare(text, prefix);
            let size: usize = text.split_inclusive(|byte| *byte == b'\n').take(taken).map(<[u8]>::len).sum();
            let around = Around { start: at, prose: from..at };
            at = inside + size;
            if !spoken.contains(&around.start) {
                continue;
            }
            let kind = CandidateKind::Bare;
            match content {
                Content::Nothing(_) => {}
                Content::Partial => {
                    let line = self.line_at(around.start);
                    self.note(kind, &around, String::new(), 0, "it has no end");
                    self.refuse(Reason::PartialFence, format!("the patch at line {line} has no end"));
                }
                Content::Patch(ref parsed) if parsed.sections.iter().any(|s| s.hunks.iter().any(|hunk| hunk.short)) => {
                    let line = self.line_at(around.start);
                    self.note(kind, &around, String::new(), 0, "a hunk ends before its counts are met");
                    self.refuse(Reason::PartialFence, format!("the patch at line {line} ends inside a hunk"));
                }
                Content::Patch(ref parsed)
                    if !parsed.begin_patch && has_open_end(parsed, &self.reply[at..range.end]) =>
                {
                    let line = self.line_at(around.start);
                    self.note(kind, &around, String::new(), 0, "nothing says where it ends");
                    self.refuse(Reason::PartialFence, format!("nothing says where the patch at line {line} ends"));
                }
                content => {
                    self.take(content, kind, &around, String::new(), size, Vec::new());
                    from = at;
                }
            }
        }
        from
    }

    /// Tells where a patch starts in a line, if one does.
    fn bare_start(&self, line: Range<usize>, end: usize) -> Option<usize> {
        let text = &self.reply[line.clone()];
        let indent = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'>')).count();
        let rest = &text[indent..];
        if let Some(unglued) = block::unglue(rest) {
            return Some(line.end - unglued.len());
        }
        let next = || {
            let next = &self.reply[line.end..end];
            let next = next.get(indent..).filter(|_| next.starts_with(&text[..indent])).unwrap_or(next);
            next.starts_with(b"+++ ")
        };
        let starts = rest.starts_with(b"diff --git ")
            || rest.trim_ascii_end() == b"*** Begin Patch"
            || rest.starts_with(b"--- ") && next();
        starts.then_some(line.start + indent)
    }

    fn note(&mut self, kind: CandidateKind, around: &Around, label: String, score: u32, why: &str) {
        let line = self.line_at(around.start);
        self.candidates.push(Candidate { kind, line, label, score, taken: false, why: why.to_owned() });
    }

    fn take(
        &mut self,
        content: Content,
        kind: CandidateKind,
        around: &Around,
        label: String,
        size: usize,
        mut paths: Vec<String>,
    ) {
        let line = self.line_at(around.start);
        let parsed = match content {
            Content::Patch(parsed) => parsed,
            Content::Partial => {
                self.note(kind, around, label, 0, "it has no end");
                self.refuse(Reason::PartialFence, format!("the patch at line {line} has no `*** End Patch`"));
                return;
            }
            Content::Malformed(message) => {
                self.note(kind, around, label, 0, &message);
                self.refuse(Reason::Malformed, format!("the patch at line {line} cannot be read: {message}"));
                return;
            }
            Content::Nothing(_) => return,
        };
        let kind = if parsed.begin_patch { CandidateKind::BeginPatch } else { kind };
        let score = score(&parsed, size);
        let prose = &self.reply[around.prose.clone()];
        let lead = words::judge_lead(&words::last_paragraph(prose));
        if lead == Lead::Excluded {
            self.note(kind, around, label, score, "the words before it say that it is not to be applied");
            return;
        }
        let recent = String::from_utf8_lossy(&prose[prose.len().saturating_sub(4000)..]).into_owned();
        if words::is_choice(&recent) && !self.blocks.is_empty() {
            self.refuse(
                Reason::ConflictingBlocks,
                format!("the reply offers the patch at line {line} as one of several"),
            );
        }
        let supersedes = words::supersedes(&recent);
        paths.extend(words::path_words(prose));
        let candidate = self.candidates.len();
        self.candidates.push(Candidate {
            kind,
            line,
            label,
            score,
            taken: true,
            why: "it is part of the patch".into(),
        });
        self.blocks.push(PatchBlock {
            candidate,
            lead,
            supersedes,
            paths,
            mends: parsed.mends,
            sections: parsed.sections,
        });
    }
}

/// Tells whether the last hunk of a patch without a fence has no counts, and the text ends with it.
fn has_open_end(parsed: &Parsed, rest: &[u8]) -> bool {
    let last = parsed.sections.last().and_then(|section| section.hunks.last());
    last.is_some_and(|hunk| hunk.counts.is_none()) && rest.trim_ascii().is_empty()
}

/// Reads a patch at the beginning of a text, without looking at much more of the text than that.
fn read_bare(text: &[u8], prefix: &[u8]) -> (Content, usize) {
    let mut most = 64;
    loop {
        let lines: Vec<&[u8]> = text
            .split_inclusive(|byte| *byte == b'\n')
            .enumerate()
            .map(|(number, line)| (number, line.strip_suffix(b"\n").unwrap_or(line)))
            .map(|(number, line)| match line.strip_prefix(prefix) {
                Some(rest) if number > 0 => rest,
                None if number > 0 && line.trim_ascii_end() == prefix.trim_ascii_end() => b"",
                _ => line,
            })
            .take(most)
            .collect();
        let content = read_block(&lines, Place::Prose, false);
        let taken = match &content {
            Content::Patch(parsed) => parsed.taken.max(1),
            Content::Nothing(taken) => (*taken).max(1),
            Content::Partial | Content::Malformed(_) => lines.len(),
        };
        if lines.len() < most || taken + 4 < lines.len() || most > block::MAX_LINES {
            return (content, taken);
        }
        most *= 8;
    }
}

/// Scores a block: what looks most like a patch that git made gets most.
fn score(parsed: &Parsed, size: usize) -> u32 {
    let sections = &parsed.sections;
    let hunks = || sections.iter().flat_map(|section| &section.hunks);
    let mut score = 0;
    score += if parsed.begin_patch || sections.iter().any(|section| section.git.is_some()) { 40 } else { 0 };
    score += if hunks().any(|hunk| hunk.old_start.is_some()) { 30 } else { 0 };
    score += if parsed.begin_patch || sections.first().is_some_and(|section| section.git.is_some()) { 20 } else { 0 };
    score + if size > 200 { 10 } else { 0 }
}
