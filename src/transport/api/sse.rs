//! Server-sent events: `data:` lines that an empty line ends, in whatever pieces they come.

/// No event is longer.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// Puts pieces together.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The line that is not complete yet.
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last line ended with a carriage return; a line feed that follows belongs to it.
    after_return: bool,
    is_begun: bool,
}

/// Somebody sends without end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// Takes the next piece and returns the data of the events that are complete.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut done = Vec::new();
        for byte in piece {
            match byte {
                b'\n' if std::mem::take(&mut self.after_return) => continue,
                b'\n' | b'\r' => done.extend(self.end_line()),
                _ => self.line.push(*byte),
            }
            self.after_return = *byte == b'\r';
            if self.line.len() + self.data.len() > MAX_EVENT_BYTES {
                return Err(TooLong);
            }
        }
        Ok(done)
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.is_begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then_some(data);
        }
        // Comments and the other fields say nothing that is not in the data.
        if let Some(value) = line.strip_prefix(b"data").filter(|rest| rest.is_empty() || rest.starts_with(b":")) {
            let value = value.strip_prefix(b":").unwrap_or(value);
            if std::mem::replace(&mut self.has_data, true) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::any;
    use proptest::prelude::prop;
    use proptest::prop_assert_eq;
    use proptest::proptest;

    use super::*;

    fn whole(text: &[u8]) -> Vec<Vec<u8>> {
        Events::default().feed(text).unwrap()
    }

    #[test]
    fn an_event_is_its_data() {
        let cases: [(&str, &[&str]); 8] = [
            ("event: a\ndata: {\"x\":1}\n\n", &["{\"x\":1}"]),
            ("data: one\r\ndata: two\r\n\r\n", &["one\ntwo"]),
            ("\u{feff}data:a\n\ndata: b\n\n", &["a", "b"]),
            (": a comment\n\nid: 1\n\n", &[]),
            ("data\n\n", &[""]),
            ("data:  two spaces\r\r", &[" two spaces"]),
            ("database: x\n\n", &[]),
            ("data: not ended\n", &[]),
        ];
        for (text, expected) in cases {
            let expected: Vec<Vec<u8>> = expected.iter().map(|data| data.as_bytes().to_vec()).collect();
            assert_eq!(whole(text.as_bytes()), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn how_it_is_cut_makes_no_difference(
            text in prop::collection::vec(prop::sample::select(vec!["data:", " ", "x", "\n", "\r", "\r\n", ":", "é", "\n\n", "event"]), 0..60),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let text = text.concat().into_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let mut events = Events::default();
            let pieces: Vec<Vec<u8>> = at.windows(2).flat_map(|cut| events.feed(&text[cut[0]..cut[1]]).unwrap()).collect();
            prop_assert_eq!(pieces, whole(&text));
        }
    }
}
