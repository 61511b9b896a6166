//! `git oracle generate`: man pages and completions, for the installer.

use std::path::Path;
use std::path::PathBuf;

use clap_complete::Shell;

use crate::cli::Exit;
use crate::flows::Failure;
use crate::flows::Kind;

/// What makes `git oracle …` complete like the program itself. zsh needs nothing: git's completion calls ours by name.
const BASH_BRIDGE: &str = include_str!("completion-bridge.bash");
const FISH_BRIDGE: &str = include_str!("completion-bridge.fish");

/// Write man pages and completions
#[derive(clap::Args, Debug)]
pub(super) struct GenerateArgs {
    /// Where man pages go
    #[arg(long, value_name = "DIR")]
    man: Option<PathBuf>,

    /// Where completions go
    #[arg(long, value_name = "DIR")]
    completions: Option<PathBuf>,
}

pub(super) fn generate(args: &GenerateArgs, command: clap::Command) -> Result<Exit, Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        Failure::new(Kind::Other, format!("failed to write {}: {error}", path.display()))
    };
    if let Some(directory) = &args.man {
        std::fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        clap_mangen::generate_to(command.clone(), directory).map_err(|error| failed(directory, error))?;
    }
    if let Some(directory) = &args.completions {
        std::fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        let scripts = [
            (Shell::Bash, "git-oracle.bash", BASH_BRIDGE),
            (Shell::Zsh, "_git-oracle", ""),
            (Shell::Fish, "git-oracle.fish", ""),
        ];
        for (shell, name, bridge) in scripts {
            let mut script = Vec::new();
            // The bash script of clap_complete 4.6 finds no subcommands of a program with a dash in its name; the
            // bridge gives its function to the right one.
            let program = if shell == Shell::Bash { "gitoracle" } else { "git-oracle" };
            clap_complete::generate(shell, &mut command.clone(), program, &mut script);
            script.extend_from_slice(bridge.as_bytes());
            let path = directory.join(name);
            std::fs::write(&path, script).map_err(|error| failed(&path, error))?;
        }
        // fish loads completions by the name of the program, and here that is git; this one it reads when it starts.
        let path = directory.join("git-oracle-start.fish");
        std::fs::write(&path, FISH_BRIDGE).map_err(|error| failed(&path, error))?;
    }
    Ok(Exit::Success)
}
