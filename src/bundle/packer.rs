//! Contents become a package: each is looked at, packed and counted.

use std::io;
use std::io::Write;

use crate::base::RepoPath;
use crate::base::Sha256Hex;
use crate::bundle::Exclusion;
use crate::bundle::FileEntry;
use crate::bundle::Filters;
use crate::bundle::Format;
use crate::bundle::Manifest;
use crate::bundle::Reason;
use crate::bundle::manifest::CONTEXT_PACKAGE;
use crate::bundle::manifest::ExcludedFiles;
use crate::bundle::name_problem;
use crate::bundle::text;
use crate::bundle::zip;
use crate::bundle::zip::Archive;
use crate::bundle::zip::Deflater;
use crate::secret::Scanner;

/// A package holds no more files: with its own documents this is what a plain zip archive can hold.
pub const MAX_FILES: usize = 65_000;

/// The folder that everything in an archive lies in.
const FOLDER: &str = "oracle-context-package";

/// How large a package may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub file: u64,
    pub total: u64,
}

impl Limits {
    /// What is taken where nobody says otherwise.
    pub const DEFAULT: Limits = Limits { file: 1 << 20, total: 20 << 20 };

    /// What can be asked for. A package is made in memory.
    pub const MAX: Limits = Limits { file: 1 << 30, total: 1 << 30 };
}

/// Nothing that large can be packed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("more than {MAX_FILES} files are selected")]
pub struct TooManyFiles;

/// Looks at contents and packs them. Each thread has its own.
pub struct Preparer<'s> {
    scanner: &'s Scanner,
    deflater: Option<Deflater>,
}

/// A file that may get into the package.
pub struct Prepared {
    entry: FileEntry,
    content: Content,
}

enum Content {
    Text(Vec<u8>),
    Zip(zip::Packed),
}

/// Why a file does not get in, with more about it.
pub type Refused = (Reason, Option<String>);

impl<'s> Preparer<'s> {
    pub fn new(format: Format, scanner: &'s Scanner) -> Self {
        Preparer { scanner, deflater: (format == Format::Zip).then(Deflater::new) }
    }

    /// Packs a file, or says why not.
    pub fn prepare(&mut self, path: &RepoPath, content: Vec<u8>) -> Result<Prepared, Refused> {
        // Once more, so that no caller can forget it.
        let name = match (path.to_str(), name_problem(path)) {
            (Some(name), None) => name,
            (_, problem) => return Err((problem.unwrap_or(Reason::UnsafeName), None)),
        };
        if memchr::memchr(0, &content).is_some() {
            return Err((Reason::Binary, None));
        }
        if std::str::from_utf8(&content).is_err() {
            return Err((Reason::NotUtf8, None));
        }
        if self.scanner.finds(path.as_bytes()) {
            return Err((Reason::Secret, Some("in its path".to_owned())));
        }
        if let Some(first) = self.scanner.scan(&content).first() {
            return Err((Reason::Secret, Some(format!("{} in line {}", first.label, first.line))));
        }
        let entry = FileEntry { path: name.to_owned(), bytes: content.len() as u64, sha256: Sha256Hex::of(&content) };
        let content = match &mut self.deflater {
            None => Content::Text(content),
            Some(deflater) => {
                let packed = deflater.pack(&content).map_err(|error| (Reason::TooLarge, Some(error.to_string())))?;
                Content::Zip(packed)
            }
        };
        Ok(Prepared { entry, content })
    }
}

/// A package that is being made. Files come in the order of their paths.
pub struct Packer<'s> {
    scanner: &'s Scanner,
    format: Format,
    limits: Limits,
    entries: Vec<FileEntry>,
    contents: Vec<Content>,
    exclusions: Vec<Exclusion>,
    total: u64,
}

impl<'s> Packer<'s> {
    pub const fn new(format: Format, limits: Limits, scanner: &'s Scanner) -> Self {
        Packer { scanner, format, limits, entries: Vec::new(), contents: Vec::new(), exclusions: Vec::new(), total: 0 }
    }

    /// Returns why a file of this size does not get in, whatever is in it.
    pub fn refuses(&self, size: u64) -> Option<Refused> {
        if size > self.limits.file {
            let detail = format!("{size} bytes, more than {}", self.limits.file);
            return Some((Reason::TooLarge, Some(detail)));
        }
        (size > self.limits.total - self.total).then(|| (Reason::TotalSize, Some(format!("{size} bytes"))))
    }

    /// Takes a file in, unless there is no room for it any more.
    pub fn add(&mut self, path: &RepoPath, prepared: Prepared) -> Result<(), TooManyFiles> {
        if let Some(refused) = self.refuses(prepared.entry.bytes) {
            self.exclude(path.clone(), refused);
            return Ok(());
        }
        if self.entries.len() == MAX_FILES {
            return Err(TooManyFiles);
        }
        self.total += prepared.entry.bytes;
        self.entries.push(prepared.entry);
        self.contents.push(prepared.content);
        Ok(())
    }

    /// Leaves a file out. A secret in its path is not told with it.
    pub fn exclude(&mut self, path: RepoPath, (reason, detail): Refused) {
        let path = match self.scanner.finds(path.as_bytes()) {
            true => RepoPath::new(self.scanner.redact(path.as_bytes()).0),
            false => path,
        };
        self.exclusions.push(Exclusion { path, reason, detail });
    }

    /// Returns the package.
    pub fn finish(mut self, mut filters: Filters) -> Package {
        for pattern in filters.include.iter_mut().chain(&mut filters.exclude) {
            if self.scanner.finds(pattern.as_bytes()) {
                *pattern = String::from_utf8_lossy(&self.scanner.redact(pattern.as_bytes()).0).into_owned();
            }
        }
        self.exclusions.sort_by(|a, b| a.path.cmp(&b.path));
        let manifest = Manifest::new(self.format, filters, self.entries);
        Package { format: self.format, manifest, exclusions: self.exclusions, contents: self.contents }
    }
}

/// A finished package, ready to be written.
pub struct Package {
    pub format: Format,
    pub manifest: Manifest,
    pub exclusions: Vec<Exclusion>,
    contents: Vec<Content>,
}

impl Package {
    /// Writes the package. The same package always gives the same bytes.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            Format::Text => {
                let contents = self.contents.iter().map(|content| match content {
                    Content::Text(bytes) => bytes.as_slice(),
                    Content::Zip(_) => &[],
                });
                let files = self.manifest.files.iter().zip(contents);
                text::write(out, self.manifest.total_bytes, files, &self.exclusions)
            }
            Format::Zip => self.write_archive(out),
        }
    }

    fn write_archive(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut archive = Archive::new(out);
        let mut deflater = Deflater::new();
        let documents = [
            ("CONTEXT_PACKAGE.md", CONTEXT_PACKAGE.as_bytes().to_vec()),
            ("manifest.json", pretty(&self.manifest)?),
            ("excluded-files.json", pretty(&ExcludedFiles::new(&self.exclusions))?),
        ];
        for (name, content) in documents {
            archive.add(&format!("{FOLDER}/{name}"), &deflater.pack(&content)?)?;
        }
        for (entry, content) in self.manifest.files.iter().zip(&self.contents) {
            if let Content::Zip(packed) = content {
                archive.add(&format!("{FOLDER}/files/{}", entry.path), packed)?;
            }
        }
        archive.finish()
    }

    /// Returns how many bytes the package has when it is written.
    pub fn bytes(&self) -> io::Result<u64> {
        let mut counter = Counter(0);
        self.write_to(&mut counter)?;
        Ok(counter.0)
    }

    /// Returns about how many tokens a model counts in the files: one for 3.5 bytes, which fits code.
    pub const fn estimated_tokens(&self) -> u64 {
        (self.manifest.total_bytes * 2).div_ceil(7)
    }
}

fn pretty(document: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(document)?;
    bytes.push(b'\n');
    Ok(bytes)
}

struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters() -> Filters {
        Filters { include: Vec::new(), exclude: Vec::new(), max_file_size: 10, max_total_size: 15 }
    }

    fn pack(format: Format, files: &[(&str, &str)]) -> Package {
        let scanner = Scanner::built_in();
        let mut packer = Packer::new(format, Limits { file: 10, total: 15 }, &scanner);
        let mut preparer = Preparer::new(format, &scanner);
        for (path, content) in files {
            let path = RepoPath::from(*path);
            match preparer.prepare(&path, content.as_bytes().to_vec()) {
                Ok(prepared) => packer.add(&path, prepared).unwrap(),
                Err(refused) => packer.exclude(path, refused),
            }
        }
        packer.finish(filters())
    }

    const FILES: [(&str, &str); 7] = [
        ("../up", "1"),
        ("a", "12345678"),
        ("b", "12345678901"),
        ("c", "12345678"),
        ("d", "1\0"),
        ("e", "1234567"),
        ("x.pem", "1"),
    ];

    #[test]
    fn limits_leave_files_out_and_room_is_used() {
        for format in [Format::Text, Format::Zip] {
            let package = pack(format, &FILES);
            let taken: Vec<_> = package.manifest.files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(taken, ["a", "e"]);
            let left: Vec<_> =
                package.exclusions.iter().map(|left| (left.path.to_string(), left.reason.as_str())).collect();
            let expected = [
                ("../up", "unsafe_name"),
                ("b", "too_large"),
                ("c", "total_size"),
                ("d", "binary"),
                ("x.pem", "secret_path"),
            ];
            assert_eq!(left, expected.map(|(path, reason)| (path.to_owned(), reason)));
            assert_eq!(package.manifest.total_bytes, 15);
        }
    }

    #[test]
    fn a_package_says_how_long_it_will_be_and_is_the_same_each_time() {
        for format in [Format::Text, Format::Zip] {
            let (mut one, mut two) = (Vec::new(), Vec::new());
            pack(format, &FILES).write_to(&mut one).unwrap();
            pack(format, &FILES).write_to(&mut two).unwrap();
            assert_eq!(one, two);
            assert_eq!(pack(format, &FILES).bytes().unwrap(), one.len() as u64);
        }
    }

    #[test]
    fn an_archive_is_laid_out_as_promised_and_both_formats_hold_the_same() {
        let (mut archive, mut document) = (Vec::new(), Vec::new());
        pack(Format::Zip, &FILES).write_to(&mut archive).unwrap();
        pack(Format::Text, &FILES).write_to(&mut document).unwrap();
        let read = zip::unzip::read_back(&archive);
        let names: Vec<_> = read.iter().map(|(name, _)| name.as_str()).collect();
        let expected = ["CONTEXT_PACKAGE.md", "manifest.json", "excluded-files.json", "files/a", "files/e"];
        assert_eq!(names, expected.map(|name| format!("oracle-context-package/{name}")));
        let files: Vec<_> = read[3..]
            .iter()
            .map(|(name, content)| (name.rsplit('/').next().unwrap().to_owned(), content.clone()))
            .collect();
        assert_eq!(text::tests::read_back(&document), files);
    }

    #[test]
    fn more_files_than_an_archive_holds_are_refused() {
        let scanner = Scanner::built_in();
        let mut packer = Packer::new(Format::Text, Limits::DEFAULT, &scanner);
        let mut preparer = Preparer::new(Format::Text, &scanner);
        for number in 0..=MAX_FILES {
            let path = RepoPath::from(format!("f{number:05}").as_str());
            let added = packer.add(&path, preparer.prepare(&path, Vec::new()).ok().unwrap());
            assert_eq!(added.is_err(), number == MAX_FILES);
        }
    }
}
