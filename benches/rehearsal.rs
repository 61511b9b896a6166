//! The rehearsal page on its own, for `benches/transport.sh`: it follows the script on the command line, prints its
//! address, and when its input ends, what it was sent.
#![expect(clippy::print_stdout, reason = "whoever measures reads it")]

use std::io::Read;

use git_oracle::transport::rehearsal::Rehearsal;
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = std::env::args().nth(1).unwrap_or_else(|| "{}".to_owned());
    let page = Rehearsal::start(serde_json::from_str(&script)?)?;
    println!("{}", page.url());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let record = page.record();
    let prompts: Vec<_> = record.prompts.iter().map(|prompt| &prompt.text).collect();
    println!("{}", json!({"events": record.events, "prompts": prompts}));
    Ok(())
}
