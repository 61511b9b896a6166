//! `extract`: find the patch in a reply and place it in the files of the repository.

use crate::base::RepoPath;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::secrets::added_secrets;
use crate::git::AtPath;
use crate::git::Snapshot;
use crate::patch::place;
use crate::patch::place::ApplyPlan;
use crate::patch::place::Files;
use crate::patch::place::Found;
use crate::patch::reply;
use crate::patch::reply::Extraction;
use crate::patch::reply::Reason;
use crate::patch::reply::Refusal;
use crate::secret::Scanner;

/// What to look for, and where.
pub struct Request {
    pub reply: Vec<u8>,
    /// The files of this commit, instead of the index.
    pub at: Option<String>,
    /// The commit that the reply was asked about.
    pub base: Option<String>,
    pub strict: bool,
    pub restrict: Option<String>,
}

/// What was found.
pub struct Outcome {
    pub extraction: Extraction,
    /// How far the patch could be placed, unless the whole reply was refused before that.
    pub plan: Option<ApplyPlan>,
    /// The canonical patch, or why there is none.
    pub patch: Result<Vec<u8>, Refusal>,
    /// The labels of the secrets that the patch would add.
    pub secrets: Vec<String>,
}

/// Finds the patch in a reply.
pub fn run(flows: &Flows, request: &Request) -> Result<Outcome, Failure> {
    let repository = flows.repository().map_err(|failure| {
        failure.hinted("A patch is placed in files: run this in the repository that the reply is about.")
    })?;
    let files = match &request.at {
        Some(revision) => repository.commit_files(Some(&repository.resolve(revision)?))?,
        None if repository.work_tree.is_some() => repository.index_files()?,
        None => repository.commit_files(repository.head()?.as_ref())?,
    };
    let base = match &request.base {
        Some(revision) => Some(repository.commit_files(Some(&repository.resolve(revision)?))?),
        None => None,
    };
    let terms = Terms { strict: request.strict, restrict: request.restrict.as_deref() };
    let (extraction, plan) = place_reply(&request.reply, &Placing { files, base });
    let (plan, patch) = match plan {
        Ok(plan) => {
            let refusal = plan.trouble().or_else(|| check(&plan, &extraction, &terms));
            let patch = refusal.map_or_else(|| Ok(plan.canonical(&|_, _| true)), Err);
            (Some(plan), patch)
        }
        Err(refusal) => (None, Err(refusal)),
    };
    let secrets = patch.as_ref().map_or_else(|_| Vec::new(), |patch| added_secrets(patch, &Scanner::built_in()));
    Ok(Outcome { extraction, plan, patch, secrets })
}

/// What a patch has to keep to, besides what always holds.
pub(super) struct Terms<'a> {
    pub strict: bool,
    pub restrict: Option<&'a str>,
}

/// Finds the patch in a reply and places it, hunk by hunk. A refusal is about the whole reply.
pub(super) fn place_reply(reply: &[u8], files: &Placing<'_>) -> (Extraction, Result<ApplyPlan, Refusal>) {
    let extraction = reply::extract(reply);
    let plan = place::plan(&extraction, files);
    (extraction, plan)
}

/// Reads the reply of a request with these bytes; more is not a reply.
pub const MAX_REPLY_BYTES: u64 = 256 << 20;

impl Outcome {
    /// Returns the failure of a reply without a usable patch.
    pub fn failure(&self) -> Option<Failure> {
        let secret = self.secrets.first().map(|label| {
            Failure::new(Kind::SecretDetected, format!("the patch adds a secret ({label}), so it is not printed"))
                .hinted("git oracle apply --accept agreed takes the other hunks of it.")
        });
        self.patch.as_ref().err().map(Failure::from).or(secret)
    }
}

/// Returns the rule that always holds, or a flag, that a plan breaks.
pub(super) fn check(plan: &ApplyPlan, extraction: &Extraction, terms: &Terms<'_>) -> Option<Refusal> {
    let malformed = |message: String| Some(Refusal::new(Reason::Malformed, message));
    for file in &plan.files {
        if let Some(special) = file.special.first() {
            let path = file.path().map(ToString::to_string).unwrap_or_default();
            return malformed(format!(
                "the patch has to do with a {}, which is not plain text in a plain file: {path}",
                special.as_str()
            ));
        }
    }
    if let Some(prefix) = terms.restrict
        && let Some(path) = place::restrict(plan.paths(), prefix)
    {
        return Some(Refusal::new(Reason::UnsafePath, format!("the patch leaves {prefix}: {path}")));
    }
    if terms.strict {
        return strict(extraction);
    }
    None
}

/// What `--strict-diff` asks for besides.
fn strict(extraction: &Extraction) -> Option<Refusal> {
    let malformed = |message: &str| Some(Refusal::new(Reason::Malformed, format!("--strict-diff: {message}")));
    for section in extraction.blocks.iter().flat_map(|block| &block.sections) {
        let begin_patch = section.style == reply::Style::BeginPatch;
        if section.hunks.is_empty() && !begin_patch {
            return malformed("a file has no hunk");
        }
        if section.style == reply::Style::Headless {
            return malformed("a hunk has no file header");
        }
        if section.hunks.iter().any(|hunk| hunk.old_start.is_none()) && !begin_patch {
            return malformed("a hunk header has no line numbers");
        }
    }
    None
}

/// The files that a patch is placed in.
pub(super) struct Placing<'r> {
    pub files: Snapshot<'r>,
    /// The files that the reply was asked about, where they are known.
    pub base: Option<Snapshot<'r>>,
}

impl Files for Placing<'_> {
    fn look(&self, path: &RepoPath) -> Result<Found, String> {
        Ok(match self.files.look(path)? {
            AtPath::Absent => Found::Absent,
            AtPath::Directory => Found::Directory,
            AtPath::File(mode, bytes) => Found::File(mode, bytes),
        })
    }

    fn old_content(&self, id: &str) -> Option<Vec<u8>> {
        self.files.blob(id)
    }

    fn base(&self, path: &RepoPath) -> Option<Vec<u8>> {
        match self.base.as_ref()?.look(path) {
            Ok(AtPath::File(_, bytes)) => Some(bytes.to_vec()),
            _ => None,
        }
    }
}
