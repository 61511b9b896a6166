//! A patch text as plain data.
//!
//! [`parse_patch`] turns the bytes of a unified or git patch into a [`Patch`]: one [`FilePatch`] for each file header,
//! in order, with its [`Hunk`]s. It reads what `git apply -p1` reads and is stricter wherever git guesses, ignores or
//! lets a later line win: a patch that two readers could understand differently is a [`PatchError`]. The promise to the
//! gate is that `git apply -p1`, run at the top of the repository on the same bytes, touches no path that is missing here.
//!
//! A reply of an assistant takes another way: [`reply`] finds what is meant to be a patch in it, [`place`] places that in
//! the files it is given and writes it as git would.
//!
//! The strict reader never looks at a repository, never mends a patch and never judges or normalises a path: `..`, `.git`, `//`
//! (which git takes for `/`) and a leading `/` reach the caller as they are. Two file patches may name the same path.
//!
//! - `file`, `hunk`: the data, and how a hunk is read
//! - `parse`: finds the file headers between prose
//! - `header`, `name`, `stamp`: what the header lines of one file say together, and what one of them names
//! - `changes`: a patch as a change set; `mail`: patches that nobody may read before decoding
//! - `exact`: where hunks stand in a file, to the letter, and what becomes of it; `select`: a patch with some of its hunks
//! - `blend`: two changes of one text joined
//! - `binary`: skips the body of a binary patch
//! - `lines`, `error`: where we are in the text, and what was wrong there

mod binary;
mod blend;
mod changes;
mod error;
mod exact;
mod file;
mod header;
mod hunk;
mod lines;
mod mail;
mod name;
mod parse;
pub mod place;
pub mod reply;
mod select;
mod stamp;
#[cfg(test)]
mod tests;

pub use blend::blend;
pub use changes::PatchChanges;
pub use changes::to_changes;
pub use error::PatchError;
pub use error::PatchErrorKind;
pub use exact::Misplaced;
pub use exact::patched;
pub use exact::place_exactly;
pub use file::FileKind;
pub use file::FilePatch;
pub use file::Patch;
pub use hunk::Hunk;
pub use hunk::Line;
pub use hunk::LineKind;
pub use mail::is_encoded_mail;
pub use parse::parse_patch;
pub use select::select;
