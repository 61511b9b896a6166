//! Going on without a terminal.

use std::fs::File;
use std::io;

/// Leaves the terminal: from now on nothing is read from it or written to it, and its end is not ours.
pub fn leave_terminal() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::process::setsid()?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    Ok(())
}
