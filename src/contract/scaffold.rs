//! A complete contract from three answers: the task, the paths, the tests. Everything else is least privilege.

use crate::base::Oid;
use crate::base::Sha256Hex;
use crate::contract::ContractFile;
use crate::contract::Role;
use crate::contract::file::AcceptanceTest;
use crate::contract::file::Agent;
use crate::contract::file::Filesystem;
use crate::contract::file::Inputs;
use crate::contract::file::LogRefs;
use crate::contract::file::Network;
use crate::contract::file::RequiredOutput;
use crate::contract::file::Rollback;
use crate::contract::file::Shell;
use crate::contract::file::TimeoutRetry;
use crate::contract::file::ToolPermissions;

/// Five words say what a task is about.
const WORDS_IN_ID: usize = 5;

/// What a new contract is made from.
pub struct Scaffold {
    pub task: String,
    pub allow: Vec<String>,
    pub tests: Vec<String>,
    pub baseline_commit_id: Oid,
    /// Makes the ids of two tasks with the same words differ.
    pub created_at: String,
}

impl Scaffold {
    /// Returns the contract, with the least that the task needs.
    pub fn contract(&self) -> ContractFile {
        let task_id = self.task_id();
        let acceptance_tests = self.tests.iter().enumerate().map(|(index, cmd)| AcceptanceTest {
            name: format!("test-{}", index + 1),
            cmd: cmd.clone(),
            must_pass: true,
        });
        let agent = |role, agent_id: &str| Agent { role, agent_id: agent_id.to_owned(), codex_thread_id: None };
        ContractFile {
            task_type: Some("IMPLEMENT".to_owned()),
            parent_task_id: None,
            owner_agent: agent(Role::TechLead, "person"),
            assigned_agent: agent(Role::Worker, "agent"),
            inputs: Inputs { spec: self.task.clone(), artifacts: Vec::new() },
            required_outputs: vec![RequiredOutput {
                name: "patch".to_owned(),
                kind: "patch".to_owned(),
                acceptance: "every acceptance test passes".to_owned(),
            }],
            allowed_paths: self.allow.clone(),
            forbidden_actions: ["rm -rf", "sudo", "ssh", "curl", "wget", "edit .env"].map(str::to_owned).to_vec(),
            acceptance_tests: acceptance_tests.collect(),
            tool_permissions: ToolPermissions {
                filesystem: Filesystem::WorkspaceWrite,
                shell: Shell::Never,
                network: Network::Deny,
                mcp_tools: Vec::new(),
            },
            policy_pack: None,
            timeout_retry: TimeoutRetry { timeout_sec: 600, max_retries: 2, retry_backoff_sec: 0 },
            rollback: Rollback {
                strategy: "worktree_drop".to_owned(),
                baseline_ref: self.baseline_commit_id.to_string(),
                target_ref: None,
            },
            evidence_links: Vec::new(),
            log_refs: LogRefs { run_id: format!("run-{task_id}"), paths: serde_json::json!({}) },
            handoff_chain: None,
            mcp_tool_set: vec!["git-oracle".to_owned()],
            audit_only: None,
            browser_policy: None,
            runtime_options: None,
            role_contract: None,
            diff_policy: None,
            task_id,
        }
    }

    /// Returns an id that reads like the task and is unlike any other: its words and six hexadecimal digits.
    fn task_id(&self) -> String {
        let lower = self.task.to_lowercase();
        let words = lower.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let mut slug = words.take(WORDS_IN_ID).collect::<Vec<_>>().join("-");
        slug.truncate(60);
        let unique = Sha256Hex::of_parts(&[self.task.as_bytes(), b"\n", self.created_at.as_bytes()]);
        let suffix = &unique.as_str()[..6];
        if slug.is_empty() { format!("task-{suffix}") } else { format!("{slug}-{suffix}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::HashKind;
    use crate::contract::Registry;
    use crate::contract::Surroundings;
    use crate::contract::validate;

    fn scaffold(task: &str) -> ContractFile {
        Scaffold {
            task: task.to_owned(),
            allow: vec!["src/parser/".to_owned()],
            tests: vec!["cargo test".to_owned()],
            baseline_commit_id: Oid::null(HashKind::Sha1),
            created_at: "2026-01-01T00:00:00.000Z".to_owned(),
        }
        .contract()
    }

    #[test]
    fn a_scaffold_is_valid_without_a_warning() {
        for task in ["Make the parser accept tabs", "x", "", "日本語", "../../etc/passwd"] {
            let file = scaffold(if task.is_empty() { "!" } else { task });
            let around = Surroundings { registry: &Registry::embedded(), file: &|_| None };
            let (contract, warnings) = validate(&file.to_bytes(), &around).unwrap();
            assert_eq!(warnings, []);
            assert_eq!(contract.file, file);
        }
    }

    #[test]
    fn the_id_reads_like_the_task() {
        assert_eq!(scaffold("Make the Parser accept tabs, too!").task_id, "make-the-parser-accept-tabs-695cbb");
        assert!(scaffold("../../etc/passwd").task_id.starts_with("etc-passwd-"));
    }
}
