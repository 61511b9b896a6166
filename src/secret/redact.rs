//! A text without its secrets.

use crate::secret::Finding;
use crate::secret::Scanner;

/// What stands in the place of a secret.
pub const REDACTED: &[u8] = b"***REDACTED***";

impl Scanner {
    /// Returns the bytes with each secret replaced and every other byte as it was, and what was found.
    pub fn redact(&self, bytes: &[u8]) -> (Vec<u8>, Vec<Finding>) {
        let findings = self.scan(bytes);
        let mut redacted = Vec::with_capacity(bytes.len());
        let mut kept = 0;
        for finding in &findings {
            redacted.extend_from_slice(&bytes[kept..finding.range.start]);
            redacted.extend(marker(bytes, finding));
            kept = finding.range.end;
        }
        redacted.extend_from_slice(&bytes[kept..]);
        (redacted, findings)
    }
}

/// Returns the marker in the encoding of what it replaces.
pub(super) fn marker(bytes: &[u8], finding: &Finding) -> Vec<u8> {
    let secret = &bytes[finding.range.clone()];
    // In UTF-16 every second byte of a secret is NUL, the first ones when the big end comes first.
    match secret {
        [0, second, 0, ..] if *second != 0 => REDACTED.iter().flat_map(|byte| [0, *byte]).collect(),
        [first, 0, _, 0, ..] if *first != 0 => REDACTED.iter().flat_map(|byte| [*byte, 0]).collect(),
        _ => REDACTED.to_vec(),
    }
}
