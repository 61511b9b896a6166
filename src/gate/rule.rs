//! The names of the rules.

use std::fmt;

/// One reason for which a change is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    OutOfScope,
    RenameSource,
    CopySource,
    Submodule,
    NestedRepository,
    Symlink,
    SymlinkEscape,
    Binary,
    ModeChange,
    TypeChange,
    ProtectedPath,
    ProtectedTest,
    UnsafePath,
    HiddenChange,
    BidiControl,
    Secret,
    ContractMissing,
    ContractInvalid,
    ContractChanged,
    ReadOnly,
    ReviewMissing,
    Unreadable,
}

impl Rule {
    /// Every rule, in the order in which the documentation lists them.
    pub const ALL: [Rule; 22] = [
        Rule::OutOfScope,
        Rule::RenameSource,
        Rule::CopySource,
        Rule::Submodule,
        Rule::NestedRepository,
        Rule::Symlink,
        Rule::SymlinkEscape,
        Rule::Binary,
        Rule::ModeChange,
        Rule::TypeChange,
        Rule::ProtectedPath,
        Rule::ProtectedTest,
        Rule::UnsafePath,
        Rule::HiddenChange,
        Rule::BidiControl,
        Rule::Secret,
        Rule::ContractMissing,
        Rule::ContractInvalid,
        Rule::ContractChanged,
        Rule::ReadOnly,
        Rule::ReviewMissing,
        Rule::Unreadable,
    ];

    /// Returns the id that reports carry. It never changes.
    pub const fn id(self) -> &'static str {
        match self {
            Rule::OutOfScope => "out_of_scope",
            Rule::RenameSource => "rename_source",
            Rule::CopySource => "copy_source",
            Rule::Submodule => "submodule",
            Rule::NestedRepository => "nested_repository",
            Rule::Symlink => "symlink",
            Rule::SymlinkEscape => "symlink_escape",
            Rule::Binary => "binary",
            Rule::ModeChange => "mode_change",
            Rule::TypeChange => "type_change",
            Rule::ProtectedPath => "protected_path",
            Rule::ProtectedTest => "protected_test",
            Rule::UnsafePath => "unsafe_path",
            Rule::HiddenChange => "hidden_change",
            Rule::BidiControl => "bidi_control",
            Rule::Secret => "secret",
            Rule::ContractMissing => "contract_missing",
            Rule::ContractInvalid => "contract_invalid",
            Rule::ContractChanged => "contract_changed",
            Rule::ReadOnly => "read_only",
            Rule::ReviewMissing => "review_missing",
            Rule::Unreadable => "unreadable",
        }
    }

    /// Returns what the rule refuses, in one sentence.
    pub const fn summary(self) -> &'static str {
        match self {
            Rule::OutOfScope => "A path outside the contract's allowed_paths changed.",
            Rule::RenameSource => "A file came into the scope from a path outside it.",
            Rule::CopySource => "A new file in the scope is a copy of a file outside it.",
            Rule::Submodule => "A submodule was added, moved to another commit or removed.",
            Rule::NestedRepository => "A git repository inside the working tree hides its files.",
            Rule::Symlink => "A symlink was added, changed or removed.",
            Rule::SymlinkEscape => "An allowed symlink leads out of the scope.",
            Rule::Binary => "A file with binary content was added, changed or removed.",
            Rule::ModeChange => "A file became executable or stopped being so, and the contract denies that.",
            Rule::TypeChange => "A path turned from one sort of thing into another.",
            Rule::ProtectedPath => "A control file or an agent's settings changed.",
            Rule::ProtectedTest => "A test, fixture, snapshot or eval changed that the contract does not name.",
            Rule::UnsafePath => "A path or tree is malformed or reaches for the git directory.",
            Rule::HiddenChange => "What would be committed is not what the index shows.",
            Rule::BidiControl => "An added line has characters that change the order in which it reads.",
            Rule::Secret => "What is added has a secret in it.",
            Rule::ContractMissing => "There is no active contract.",
            Rule::ContractInvalid => "The contract is not valid.",
            Rule::ContractChanged => "The contract is not the one that was activated.",
            Rule::ReadOnly => "The contract allows reading only.",
            Rule::ReviewMissing => "A branch would be pushed whose tree did not come out of a review.",
            Rule::Unreadable => "Something could not be read, so nothing can be said about it.",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
