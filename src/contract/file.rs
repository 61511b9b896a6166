//! The task contract, field by field, as `schemas/task_contract.v1.json` has it.

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::base::Sha256Hex;
use crate::contract::Scope;

/// A contract that was checked. Only [`validate`](crate::contract::validate) makes one from foreign bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    pub file: ContractFile,
    pub scope: Scope,
    /// Of the exact bytes that were checked.
    pub sha256: Sha256Hex,
}

impl Contract {
    pub(super) fn new(file: ContractFile, bytes: &[u8]) -> Self {
        Contract { scope: Scope::new(&file.allowed_paths), file, sha256: Sha256Hex::of(bytes) }
    }

    /// Reads a contract that was checked before: its bytes are the ones that a pin names.
    pub fn from_pinned(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(Contract::new(serde_json::from_slice(bytes)?, bytes))
    }
}

/// A contract as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContractFile {
    pub task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
    pub owner_agent: Agent,
    pub assigned_agent: Agent,
    pub inputs: Inputs,
    pub required_outputs: Vec<RequiredOutput>,
    pub allowed_paths: Vec<String>,
    pub forbidden_actions: Vec<String>,
    pub acceptance_tests: Vec<AcceptanceTest>,
    pub tool_permissions: ToolPermissions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_pack: Option<String>,
    pub timeout_retry: TimeoutRetry,
    pub rollback: Rollback,
    pub evidence_links: Vec<String>,
    pub log_refs: LogRefs,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff_chain: Option<Value>,
    pub mcp_tool_set: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_policy: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role_contract: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_policy: Option<DiffPolicy>,
}

impl ContractFile {
    /// Returns the contract as a file: pretty JSON with a newline at the end.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("a contract has only string keys and finite numbers");
        bytes.push(b'\n');
        bytes
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub role: Role,
    pub agent_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codex_thread_id: Option<String>,
}

/// What an agent is there for; its rights follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Role {
    Pm,
    TechLead,
    Worker,
    Reviewer,
    TestRunner,
    Searcher,
    Researcher,
    UiUx,
    Frontend,
    Backend,
    Ai,
    Security,
    Infra,
    Test,
    Ops,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    pub spec: String,
    pub artifacts: Vec<Artifact>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    pub name: String,
    pub uri: String,
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredOutput {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub acceptance: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptanceTest {
    pub name: String,
    pub cmd: String,
    pub must_pass: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPermissions {
    pub filesystem: Filesystem,
    pub shell: Shell,
    pub network: Network,
    pub mcp_tools: Vec<String>,
}

/// Ordered by what it allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filesystem {
    ReadOnly,
    WorkspaceWrite,
}

/// How a request to run a command is met; ordered by what gets run without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shell {
    /// There is no shell: every request is a violation.
    Deny,
    /// What needs approval is rejected.
    Never,
    /// Every command needs approval.
    Untrusted,
    /// Commands that ask for approval need it.
    OnRequest,
}

impl Shell {
    /// Returns the approval policy that an agent program is started with; `None` where it gets no shell tool at all.
    pub const fn approval_policy(self) -> Option<&'static str> {
        match self {
            Shell::Deny => None,
            Shell::Never => Some("never"),
            Shell::Untrusted => Some("untrusted"),
            Shell::OnRequest => Some("on-request"),
        }
    }
}

/// Ordered by what it allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    Deny,
    OnRequest,
    Allow,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeoutRetry {
    pub timeout_sec: u64,
    pub max_retries: u64,
    pub retry_backoff_sec: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    pub strategy: String,
    pub baseline_ref: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRefs {
    pub run_id: String,
    pub paths: Value,
}

/// What the diff gate lets through beyond plain text files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffPolicy {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<Permit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symlink: Option<Permit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submodule: Option<Permit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_change: Option<Permit>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected_extra: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locks: Option<Locks>,
}

/// Everywhere, nowhere, or at these paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Permit {
    Word(PermitWord),
    Paths(Vec<String>),
}

impl Permit {
    pub const DENY: Permit = Permit::Word(PermitWord::Deny);
    pub const ALLOW: Permit = Permit::Word(PermitWord::Allow);

    /// Tells whether the permit holds at `path`.
    pub fn covers(&self, path: &crate::base::RepoPath) -> bool {
        match self {
            Permit::Word(PermitWord::Allow) => true,
            Permit::Word(PermitWord::Deny) => false,
            Permit::Paths(paths) => Scope::new(paths).covers(path),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermitWord {
    Deny,
    Allow,
}

/// Whether two tasks may work on the same paths at once; ordered by what it allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Locks {
    Exclusive,
    Shared,
}
