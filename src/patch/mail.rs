//! Patches that come as mail.

/// Encodings that leave the bytes as they are.
const PLAIN: [&str; 3] = ["7bit", "8bit", "binary"];

/// Tells whether some part of a mail is encoded: whoever decodes it sees another patch than we do.
///
/// A line of a hunk begins with a marker, so a line that begins like this header is never one.
pub fn is_encoded_mail(bytes: &[u8]) -> bool {
    const NAME: &[u8] = b"content-transfer-encoding";
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    lines.iter().enumerate().any(|(number, line)| {
        let Some(start) = line.get(..NAME.len()).filter(|start| start.eq_ignore_ascii_case(NAME)) else { return false };
        let rest = String::from_utf8_lossy(&line[start.len()..]).into_owned();
        let Some((before, value)) = rest.split_once(':') else { return false };
        // A long header goes on in the next line.
        let folded = lines.get(number + 1).filter(|next| next.starts_with(b" ") || next.starts_with(b"\t"));
        let value = format!("{value} {}", folded.map(|next| String::from_utf8_lossy(next)).unwrap_or_default());
        before.trim().is_empty() && !PLAIN.iter().any(|plain| value.trim().eq_ignore_ascii_case(plain))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_parts_are_seen_anywhere() {
        for text in [
            "Content-Transfer-Encoding: quoted-printable\n",
            "From: a\nCONTENT-transfer-encoding:base64\n\nxyz",
            "x\n--part\nContent-Transfer-Encoding :\n base64\n",
        ] {
            assert!(is_encoded_mail(text.as_bytes()), "{text}");
        }
        for text in [
            "Content-Transfer-Encoding: 8bit\n",
            "+Content-Transfer-Encoding: base64\n",
            "Content-Type: text/plain\n",
            "",
        ] {
            assert!(!is_encoded_mail(text.as_bytes()), "{text}");
        }
    }
}
