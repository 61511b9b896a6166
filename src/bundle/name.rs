//! Names that do not get into a package: unsafe to unpack, or of files that hold secrets.

use crate::base::RepoPath;
use crate::base::is_dotgit;
use crate::base::visible;
use crate::bundle::Reason;

/// A longer path cannot be unpacked anywhere.
const MAX_PATH_BYTES: usize = 4096;
const MAX_COMPONENT_BYTES: usize = 255;

/// Templates that carry no secret, although their names begin like the files that do.
const ENV_TEMPLATES: [&str; 4] = [".env.example", ".env.sample", ".env.template", ".env.dist"];

/// Names of files that hold keys, passwords and tokens, whatever they look like inside; in lower case.
const SECRET_NAMES: [&str; 24] = [
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".dockercfg",
    ".s3cfg",
    ".boto",
    ".vault-token",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "credentials.json",
    "client_secret.json",
    "service-account.json",
    "service_account.json",
    "secrets.json",
    "master.key",
];

/// How the names of such files end.
const SECRET_ENDINGS: [&str; 17] = [
    ".pem",
    ".key",
    ".p8",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".bks",
    ".ppk",
    ".kdb",
    ".kdbx",
    ".ovpn",
    ".keychain",
    ".tfstate",
    ".tfstate.backup",
    ".tfvars",
    ".gpg",
];

/// Directories in which everything is private.
const SECRET_DIRECTORIES: [&str; 6] = [".ssh", ".gnupg", ".aws", ".azure", ".kube", ".gcloud"];

/// Files that hold secrets only where they lie.
const SECRET_PATHS: [&str; 4] =
    [".docker/config.json", ".config/gcloud", ".config/gh/hosts.yml", ".cargo/credentials.toml"];

/// Returns why a path does not get into a package, whatever the file holds.
pub fn name_problem(path: &RepoPath) -> Option<Reason> {
    match path.to_str() {
        Some(text) if is_safe(text) => is_secret(text).then_some(Reason::SecretPath),
        _ => Some(Reason::UnsafeName),
    }
}

/// Tells whether every program unpacks the name to the same place below the directory it was told.
fn is_safe(path: &str) -> bool {
    let has_drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    let is_plain = |component: &str| {
        // Windows drops dots and spaces at the end: `.. ` leads up there.
        !component.trim_end_matches(['.', ' ']).is_empty()
            && component.len() <= MAX_COMPONENT_BYTES
            && !is_dotgit(component.as_bytes())
    };
    path.len() <= MAX_PATH_BYTES
        && !has_drive
        && !path.contains(['\\', '\n', '\t'])
        && visible(path) == path
        && path.split('/').all(is_plain)
}

fn is_secret(path: &str) -> bool {
    let folded = path.to_ascii_lowercase();
    let is_env = |component: &str| {
        component.strip_prefix(".env").is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_', 'r']))
            && !ENV_TEMPLATES.contains(&component)
    };
    let mut components = folded.split('/');
    let name = components.next_back().unwrap_or_default();
    let lies_in = |place: &str| {
        folded.match_indices(place).any(|(at, _)| {
            let end = at + place.len();
            (at == 0 || folded.as_bytes()[at - 1] == b'/') && matches!(folded.as_bytes().get(end), None | Some(b'/'))
        })
    };
    is_env(name)
        || components.any(|component| is_env(component) || SECRET_DIRECTORIES.contains(&component))
        || SECRET_NAMES.contains(&name)
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || SECRET_PATHS.iter().any(|place| lies_in(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_names_are_known() {
        let long = "a".repeat(256);
        let deep = "a/".repeat(2048) + "abc";
        let unsafe_names: [&[u8]; 25] = [
            b"",
            b"/etc/passwd",
            b"//server/share",
            b"..",
            b"../x",
            b"a/../b",
            b"a/..",
            b"./a",
            b"a//b",
            b"a/.. /b",
            b"...",
            b"a/",
            b"a\\b",
            b"..\\x",
            b"C:/x",
            b"c:x",
            b"a\nb",
            b"a\tb",
            b"a\x1b[2Jb",
            b"a\xffb",
            "a\u{202e}b".as_bytes(),
            b"x/.git/config",
            b".GIT/hooks/pre-commit",
            long.as_bytes(),
            deep.as_bytes(),
        ];
        for name in unsafe_names {
            assert_eq!(name_problem(&RepoPath::new(name)), Some(Reason::UnsafeName), "{}", name.escape_ascii());
        }
        for name in ["a", "a b/ü/日本.rs", "a/[id].tsx", "ab:y", "..a", ".gitignore", ".github/x.yml", "`a`", "-rf"]
        {
            assert_eq!(name_problem(&name.into()), None, "{name}");
        }
    }

    #[test]
    fn names_of_secrets_are_known() {
        for name in [
            ".env",
            "a/.ENV",
            ".env.local",
            ".envrc",
            ".env/x",
            "deploy/server.pem",
            "Server.KEY",
            "a/id_rsa",
            ".ssh/config",
            "home/.aws/credentials",
            ".npmrc",
            "infra/terraform.tfstate",
            ".docker/config.json",
            "x/.config/gh/hosts.yml",
        ] {
            assert_eq!(name_problem(&name.into()), Some(Reason::SecretPath), "{name}");
        }
        for name in [
            ".env.example",
            ".ENV.SAMPLE",
            "environment.ts",
            "id_rsa.pub",
            "monkey.rs",
            "docker/config.json",
            "x.docker/config.json",
            ".environment",
            "src/keys.rs",
            "credentials.rs",
        ] {
            assert_eq!(name_problem(&name.into()), None, "{name}");
        }
    }
}
