//! Questions to the person at the terminal.

use std::io;
use std::io::BufRead;
use std::io::IsTerminal;
use std::io::Write;

use crate::base::visible;
use crate::flows::Question;

/// A long list says no more than its beginning.
const SHOWN_DETAILS: usize = 10;

/// Tells whether somebody is there to answer.
pub(super) fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Puts a question; anything but a clear yes is a no. `None` when nobody is there.
pub(super) fn confirm(question: &Question) -> Option<bool> {
    if !is_attended() {
        return None;
    }
    let mut err = anstream::stderr();
    let _ = writeln!(err, "{}:", question.title);
    for detail in question.details.iter().take(SHOWN_DETAILS) {
        let _ = writeln!(err, "  {}", visible(detail));
    }
    if question.details.len() > SHOWN_DETAILS {
        let _ = writeln!(err, "  … and {} more", question.details.len() - SHOWN_DETAILS);
    }
    Some(matches!(ask_line(&format!("{} [y/N] ", question.prompt))?.trim(), "y" | "Y" | "yes" | "Yes"))
}

/// Asks for a line of text. `None` at the end of input.
pub(super) fn ask_line(prompt: &str) -> Option<String> {
    let mut err = anstream::stderr();
    let _ = write!(err, "{prompt}");
    let _ = err.flush();
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(length) if length > 0 => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
        _ => None,
    }
}
