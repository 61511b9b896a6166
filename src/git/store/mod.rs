//! An object directory as git lays it out, read with no more work than an answer needs.
//!
//! A hook looks up a handful of objects in a store that may hold millions, and a range walks through thousands. So an
//! index is never read as a whole, a pack is mapped and not loaded, and what packed objects are made from is kept.
//!
//! The store finds an object or it does not. What is missing, damaged or laid out in another way (alternates, an index
//! of the first version) it has not found, and [`Objects`](crate::git::objects::Objects) asks gix, which knows every
//! layout and can say what is wrong. As with git, an object is not hashed again to see whether it is what it says.

mod delta;
mod loose;
mod names;
mod pack;

use std::cell::Cell;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::OnceLock;

use gix::objs::Kind;
use libdeflater::Decompressor;

use crate::base::HashKind;
use crate::base::Oid;
use crate::change::BIDI_LEAD;
use crate::git::store::delta::apply_delta;
use crate::git::store::delta::inserted_hints;
use crate::git::store::loose::read_loose;
use crate::git::store::pack::Bases;
use crate::git::store::pack::Form;
use crate::git::store::pack::Pack;

/// No single object larger than this is loaded: its size comes from whoever made it.
pub const MAX_OBJECT_BYTES: usize = 1 << 30;

/// git makes no longer chains; a chain of references can also be a ring.
const MAX_CHAIN: usize = 4096;

/// What an object is, and its content.
pub type Object = (Kind, Arc<Vec<u8>>);

/// A handle to one object directory. Cloning it gives another thread its own caches.
pub struct Store {
    layout: Arc<Layout>,
    bases: RefCell<Bases>,
    hints: RefCell<HashMap<(usize, u64), Hints>>,
    inflate: RefCell<Decompressor>,
    /// What was inflated last.
    scratch: RefCell<Vec<u8>>,
    /// The pack in which something was found last: its neighbours are likely there too.
    recent: Cell<usize>,
}

/// What is shared by all handles.
struct Layout {
    directory: PathBuf,
    hash: HashKind,
    packs: OnceLock<Vec<Pack>>,
}

impl Clone for Store {
    fn clone(&self) -> Self {
        Store::with_layout(self.layout.clone())
    }
}

impl Store {
    /// Names a directory of objects; nothing is opened before something is looked up.
    pub fn new(directory: &Path, hash: HashKind) -> Self {
        Self::with_layout(Arc::new(Layout { directory: directory.to_owned(), hash, packs: OnceLock::new() }))
    }

    fn with_layout(layout: Arc<Layout>) -> Self {
        Store {
            layout,
            bases: RefCell::default(),
            hints: RefCell::default(),
            inflate: RefCell::new(Decompressor::new()),
            scratch: RefCell::default(),
            recent: Cell::new(0),
        }
    }

    /// Returns an object; `None` when it is not here or cannot be read in this way.
    pub fn find(&self, id: &Oid) -> Option<Object> {
        match self.find_packed(id) {
            Some((number, offset)) => self.read_packed(number, offset),
            None => read_loose(&self.layout.directory, id, &mut self.inflate.borrow_mut()),
        }
    }

    /// Returns in which pack an object is, and where.
    fn find_packed(&self, id: &Oid) -> Option<(usize, u64)> {
        let packs = self.packs();
        let recent = self.recent.get();
        let others = (0..packs.len()).filter(|number| *number != recent);
        let (number, offset) = std::iter::once(recent)
            .filter(|number| *number < packs.len())
            .chain(others)
            .find_map(|number| Some((number, packs[number].offset_of(id)?)))?;
        self.recent.set(number);
        Some((number, offset))
    }

    fn packs(&self) -> &[Pack] {
        let layout = &self.layout;
        layout.packs.get_or_init(|| pack::open_all(&layout.directory, layout.hash))
    }

    fn read_packed(&self, number: usize, offset: u64) -> Option<Object> {
        let pack = &self.packs()[number];
        // The deltas to apply, last one first, one after the other in one buffer.
        let mut waiting: Vec<(u64, Range<usize>)> = Vec::new();
        let mut offset = offset;
        let mut scratch = self.scratch.borrow_mut();
        let mut used = 0;
        let (kind, mut content) = loop {
            if let Some(kept) = self.bases.borrow().get(number, offset) {
                break kept;
            }
            let (form, size, data) = pack.entry(offset)?;
            let inflated = self.inflate(data, size, &mut scratch, used)?;
            let base = match form {
                Form::Whole(kind) => {
                    let content = Arc::new(scratch[inflated].to_vec());
                    self.bases.borrow_mut().keep(number, offset, kind, &content);
                    break (kind, content);
                }
                Form::At(base) => base,
                Form::Named(id) => pack.offset_of(&id)?,
            };
            used = inflated.end;
            if waiting.len() == MAX_CHAIN || used > MAX_OBJECT_BYTES {
                return None;
            }
            waiting.push((offset, inflated));
            offset = base;
        };
        while let Some((offset, delta)) = waiting.pop() {
            content = Arc::new(apply_delta(&content, &scratch[delta])?);
            self.bases.borrow_mut().keep(number, offset, kind, &content);
        }
        Some((kind, content))
    }

    /// Returns what a packed blob can have in it, without putting it together.
    ///
    /// A delta makes a content of parts of another and of new bytes: what neither has, the content has not.
    pub fn blob_hints(&self, id: &Oid) -> Option<Hints> {
        let (number, mut offset) = self.find_packed(id)?;
        let pack = &self.packs()[number];
        let mut scratch = self.scratch.borrow_mut();
        let mut known = self.hints.borrow_mut();
        let mut waiting: Vec<(u64, Hints)> = Vec::new();
        let mut hints = loop {
            if let Some(hints) = known.get(&(number, offset)) {
                break *hints;
            }
            // What others were made from has been inflated before.
            if let Some((Kind::Blob, content)) = self.bases.borrow().get(number, offset) {
                break Hints::of(&content);
            }
            let (form, size, data) = pack.entry(offset)?;
            let inflated = self.inflate(data, size, &mut scratch, 0)?;
            let inflated = &scratch[inflated];
            let base = match form {
                Form::Whole(Kind::Blob) => {
                    let hints = Hints::of(inflated);
                    known.insert((number, offset), hints);
                    break hints;
                }
                Form::Whole(_) => return None,
                Form::At(base) => base,
                Form::Named(id) => pack.offset_of(&id)?,
            };
            if waiting.len() == MAX_CHAIN {
                return None;
            }
            waiting.push((offset, inserted_hints(inflated)?));
            offset = base;
        };
        while let Some((offset, inserted)) = waiting.pop() {
            hints = hints.or(inserted);
            known.insert((number, offset), hints);
        }
        Some(hints)
    }

    /// Inflates `size` bytes into the buffer from `start` on; returns where they are.
    fn inflate(&self, data: &[u8], size: usize, buffer: &mut Vec<u8>, start: usize) -> Option<Range<usize>> {
        if size > MAX_OBJECT_BYTES {
            return None;
        }
        let range = start..start + size;
        if buffer.len() < range.end {
            buffer.resize(range.end, 0);
        }
        let inflated = self.inflate.borrow_mut().zlib_decompress(data, &mut buffer[range.clone()]).ok()?;
        (inflated == size).then_some(range)
    }
}

/// What may be in a content, without a promise that it is: enough to say that most files are plain text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    pub nul: bool,
    /// The byte with which every bidirectional control begins.
    pub lead: bool,
}

impl Hints {
    pub fn of(bytes: &[u8]) -> Self {
        Hints { nul: memchr::memchr(0, bytes).is_some(), lead: memchr::memchr(BIDI_LEAD, bytes).is_some() }
    }

    const fn or(self, other: Self) -> Self {
        Hints { nul: self.nul || other.nul, lead: self.lead || other.lead }
    }
}

#[cfg(test)]
mod tests;
