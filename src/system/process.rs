//! Running another program and waiting for it.

use std::process::Command;
use std::process::Stdio;

/// A program could not be started.
#[derive(Debug, thiserror::Error)]
#[error("failed to run {program}")]
pub struct ProcessError {
    pub program: String,
    pub source: std::io::Error,
}

/// What a program that ended left behind.
#[derive(Debug, Clone)]
pub struct Finished {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Finished {
    pub fn succeeded(&self) -> bool {
        self.code == Some(0)
    }
}

/// Runs `command` to its end with `input` on its standard input.
pub fn run(mut command: Command, input: &[u8]) -> Result<Finished, ProcessError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |source| ProcessError { program: program.clone(), source };
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    tracing::debug!(?command, "run");
    let mut child = command.spawn().map_err(failed)?;
    let output = match child.stdin.take() {
        None => child.wait_with_output(),
        // Fed from a second thread, because a program may write before it has read everything.
        Some(mut pipe) => std::thread::scope(|scope| {
            scope.spawn(move || std::io::Write::write_all(&mut pipe, input));
            child.wait_with_output()
        }),
    }
    .map_err(failed)?;
    Ok(Finished {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
