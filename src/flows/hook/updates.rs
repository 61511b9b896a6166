//! The lines that git writes to a hook.

use crate::base::Oid;
use crate::base::visible;
use crate::flows::Failure;
use crate::flows::Kind;

/// One ref that is about to move: `<old> <new> <ref>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefUpdate {
    /// All zeros when there was none, and also when whoever moves the ref did not say.
    pub old_id: Option<Oid>,
    pub new: NewValue,
    pub name: String,
}

/// Where a ref is to point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewValue {
    Object(Oid),
    /// Nowhere: the ref is deleted.
    Deleted,
    /// At another ref.
    Symbolic,
}

/// One ref of a push: `<local ref> <local id> <remote ref> <remote id>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushUpdate {
    /// `None` when the remote ref is deleted.
    pub local_id: Option<Oid>,
    pub remote_name: String,
    /// `None` when the remote has no such ref yet.
    pub remote_id: Option<Oid>,
}

/// Reads what `reference-transaction` and `pre-receive` are told.
pub fn parse_ref_updates(input: &[u8]) -> Result<Vec<RefUpdate>, Failure> {
    lines(input)
        .map(|line| {
            let update = || {
                let mut fields = line.splitn(3, ' ');
                let (old, new, name) = (fields.next()?, fields.next()?, fields.next()?);
                let new = match new.starts_with("ref:") {
                    true => NewValue::Symbolic,
                    false => object(new)?.map_or(NewValue::Deleted, NewValue::Object),
                };
                let old_id = if old.starts_with("ref:") { None } else { object(old)? };
                Some(RefUpdate { old_id, new, name: name.to_owned() }).filter(|_| !name.is_empty())
            };
            update().ok_or_else(|| misunderstood(&line))
        })
        .collect()
}

/// Reads what `pre-push` is told.
pub fn parse_push_updates(input: &[u8]) -> Result<Vec<PushUpdate>, Failure> {
    lines(input)
        .map(|line| {
            let update = || {
                // From the end: a local ref is whatever was typed, such as `:/fix the parser`.
                let mut fields = line.rsplitn(4, ' ');
                let (remote_id, remote_name, local_id) = (fields.next()?, fields.next()?, fields.next()?);
                fields.next()?;
                Some(PushUpdate {
                    local_id: object(local_id)?,
                    remote_name: remote_name.to_owned(),
                    remote_id: object(remote_id)?,
                })
            };
            update().ok_or_else(|| misunderstood(&line))
        })
        .collect()
}

fn lines(input: &[u8]) -> impl Iterator<Item = String> {
    let lines = input.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| String::from_utf8_lossy(line).into_owned())
}

/// Returns the object that an id names; `Some(None)` for all zeros.
fn object(hex: &str) -> Option<Option<Oid>> {
    Oid::from_hex(hex).map(|id| Some(id).filter(|id| !id.is_null()))
}

fn misunderstood(line: &str) -> Failure {
    Failure::new(Kind::Other, format!("git said something that is not understood: {}", visible(line)))
        .hinted("A hook is called by git. To judge by hand: git oracle gate --staged")
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    const ZERO: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn ref_updates_are_read() {
        let text =
            format!("{ZERO} {A} refs/heads/ä\n{A} {ZERO} refs/heads/x\n{ZERO} ref:refs/heads/x HEAD\n{A} {A} HEAD");
        let updates = parse_ref_updates(text.as_bytes()).unwrap();
        let a = Oid::from_hex(A).unwrap();
        let expected = [
            (None, NewValue::Object(a), "refs/heads/ä"),
            (Some(a), NewValue::Deleted, "refs/heads/x"),
            (None, NewValue::Symbolic, "HEAD"),
            (Some(a), NewValue::Object(a), "HEAD"),
        ];
        let expected = expected.map(|(old_id, new, name)| RefUpdate { old_id, new, name: name.to_owned() });
        assert_eq!(updates, expected);
        assert_eq!(parse_ref_updates(b"").unwrap(), []);
    }

    #[test]
    fn push_updates_are_read_whatever_the_local_name_is() {
        let a = Oid::from_hex(A).unwrap();
        let text = format!(":/fix the parser {A} refs/heads/x {ZERO}\n(delete) {ZERO} refs/heads/y {A}\n");
        let expected = [(Some(a), "refs/heads/x", None), (None, "refs/heads/y", Some(a))].map(
            |(local_id, remote_name, remote_id)| PushUpdate {
                local_id,
                remote_name: remote_name.to_owned(),
                remote_id,
            },
        );
        assert_eq!(parse_push_updates(text.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn anything_else_is_not_guessed_at() {
        let cases = ["x", "a b c", &format!("{A} {A}"), &format!("{A} {A} "), &format!("{A} 123 HEAD")];
        for text in cases {
            assert!(parse_ref_updates(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["x", &format!("refs/heads/x {A} refs/heads/x"), &format!("{A} refs/heads/x {A}")] {
            assert!(parse_push_updates(text.as_bytes()).is_err(), "{text}");
        }
    }
}
