//! Who may do what: the rights of roles, and the agents that a repository has registered.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::JsonError;
use crate::base::parse_strict;
use crate::contract::Problem;
use crate::contract::Role;
use crate::contract::file::Agent;
use crate::contract::file::Filesystem;
use crate::contract::file::Network;
use crate::contract::file::Shell;
use crate::contract::file::ToolPermissions;
use crate::contract::schema_problems;

const EMBEDDED: &str = include_str!("../../policies/agent_registry.json");
const MAX_REGISTRY_BYTES: usize = 1 << 20;

/// The rights of a role or of a registered agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Rights {
    pub filesystem: Filesystem,
    pub shell: Shell,
    pub network: Network,
}

/// The embedded rights of roles, narrowed by a repository's own registry where there is one.
#[derive(Debug, Clone)]
pub struct Registry {
    roles: BTreeMap<Role, Rights>,
    agents: Option<Vec<RegisteredAgent>>,
}

/// Why a repository's registry cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("the agent registry {0}")]
    Json(#[from] JsonError),
    #[error("the agent registry is not valid at {pointer}: {message}")]
    Invalid { pointer: String, message: String },
    #[error("the agent registry cannot be read: {0}")]
    Shape(#[from] serde_json::Error),
}

#[derive(Debug, Clone, Deserialize)]
struct RolesFile {
    roles: BTreeMap<Role, Rights>,
}

#[derive(Debug, Clone, Deserialize)]
struct AgentsFile {
    agents: Vec<RegisteredAgent>,
}

#[derive(Debug, Clone, Deserialize)]
struct RegisteredAgent {
    agent_id: String,
    role: Role,
    defaults: Defaults,
}

#[derive(Debug, Clone, Deserialize)]
struct Defaults {
    sandbox: String,
    approval_policy: Shell,
    network: Network,
}

impl Registry {
    /// Returns the registry that knows roles and no agents.
    pub fn embedded() -> Self {
        let file: RolesFile = serde_json::from_str(EMBEDDED).expect("the embedded registry is valid, a test reads it");
        Registry { roles: file.roles, agents: None }
    }

    /// Returns the registry that also holds contracts to the agents in `bytes`.
    pub fn with_agents(bytes: &[u8]) -> Result<Self, RegistryError> {
        let value = parse_strict(bytes, MAX_REGISTRY_BYTES)?;
        if let Some(problem) = schema_problems("agent_registry.v1.json", &value).into_iter().next() {
            return Err(RegistryError::Invalid { pointer: problem.pointer, message: problem.message });
        }
        let file: AgentsFile = serde_json::from_value(value)?;
        Ok(Registry { agents: Some(file.agents), ..Registry::embedded() })
    }

    /// Returns why this agent may not appear in a contract.
    pub(super) fn agent_problem(&self, pointer: &str, agent: &Agent) -> Option<Problem> {
        let agents = self.agents.as_ref()?;
        if agents.iter().any(|known| known.agent_id == agent.agent_id && known.role == agent.role) {
            return None;
        }
        let message = format!("the agent {:?} is not registered in this role", agent.agent_id);
        Some(Problem::error(pointer, message).hinted("The agents are listed in .oracle/agent_registry.json."))
    }

    /// Returns the rights of an agent: those of its role, and no more than it is registered with.
    fn rights(&self, agent: &Agent) -> Rights {
        let role = self.roles.get(&agent.role).copied();
        let role =
            role.unwrap_or(Rights { filesystem: Filesystem::ReadOnly, shell: Shell::Deny, network: Network::Deny });
        let mut agents = self.agents.iter().flatten();
        let Some(registered) = agents.find(|known| known.agent_id == agent.agent_id && known.role == agent.role) else {
            return role;
        };
        let sandbox = match registered.defaults.sandbox.as_str() {
            "read-only" => Filesystem::ReadOnly,
            _ => Filesystem::WorkspaceWrite,
        };
        // A repository may give an agent less than its role has, never more.
        Rights {
            filesystem: role.filesystem.min(sandbox),
            shell: role.shell.min(registered.defaults.approval_policy),
            network: role.network.min(registered.defaults.network),
        }
    }

    /// Returns the permissions that go beyond the rights of the agent.
    pub(super) fn permission_problems(&self, agent: &Agent, wanted: &ToolPermissions) -> Vec<Problem> {
        let rights = self.rights(agent);
        let role =
            serde_json::to_value(agent.role).ok().and_then(|role| role.as_str().map(str::to_owned)).unwrap_or_default();
        let mut problems = Vec::new();
        let mut exceed = |field: &str, exceeds: bool, allowed: String| {
            if exceeds {
                let message = format!("the role {role} does not have this right");
                let hint = format!("Write {allowed} or less, or assign the task to another role.");
                problems.push(Problem::error(format!("/tool_permissions/{field}"), message).hinted(hint));
            }
        };
        let name = |right: Result<serde_json::Value, _>| {
            right.map_or_else(|_: serde_json::Error| String::new(), |value| value.to_string())
        };
        exceed("filesystem", wanted.filesystem > rights.filesystem, name(serde_json::to_value(rights.filesystem)));
        exceed("shell", wanted.shell > rights.shell, name(serde_json::to_value(rights.shell)));
        exceed("network", wanted.network > rights.network, name(serde_json::to_value(rights.network)));
        problems
    }
}
