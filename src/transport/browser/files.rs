//! Files for a page.

use data_encoding::BASE64;
use fantoccini::error::CmdError;
use serde_json::json;

use crate::base::visible;
use crate::system;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::browser::BULKY;
use crate::transport::browser::Browser;
use crate::transport::browser::Command;
use crate::transport::browser::Target;
use crate::transport::browser::drifted;
use crate::transport::browser::fault;

/// Where a remote driver takes files: a grid's own place first, then the driver's.
const UPLOADS: [&str; 2] = ["se/file", "file"];

/// A file for a page: the name that it shows, and the content.
#[derive(Debug, Clone, Copy)]
pub struct Enclosure<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
}

pub(super) fn set(browser: &Browser, target: Target<'_>, files: &[Enclosure<'_>]) -> Result<(), Fault> {
    let element = browser.element(target)?;
    let mut names = Vec::new();
    for file in files {
        if file.name.is_empty() || file.name.starts_with('.') || file.name.contains(['/', '\0']) {
            return Err(unusable(file.name));
        }
        let path = if browser.is_remote() { upload(browser, file)? } else { keep(browser, file)? };
        // It would be read as the end of a name.
        if path.contains(['\n', '\r']) {
            return Err(unusable(&path));
        }
        names.push(path);
    }
    // What is given is added to what is there.
    let input = json!({super::ELEMENT: element});
    browser.execute("arguments[0].value = ''", &[input])?;
    if names.is_empty() {
        return Ok(());
    }
    let command = Command::post(format!("element/{element}/value"), &json!({"text": names.join("\n")}));
    browser.run("attach a file", BULKY, command).map(drop)
}

fn unusable(name: &str) -> Fault {
    drifted(format!("a browser cannot be given the file {}", visible(name)))
}

/// Writes a file where the browser's guard removes it, whatever becomes of us, and returns its path.
fn keep(browser: &Browser, file: &Enclosure<'_>) -> Result<String, Fault> {
    // Two files of one name are two files.
    let place = browser.next_place()?;
    let path = place.join(file.name);
    let kept = system::create_new_private_dir(&place).and_then(|()| system::write_private(&path, file.bytes));
    kept.map_err(|error| {
        let message = format!("failed to keep {} for the browser: {error}", visible(file.name));
        Fault::new(FaultKind::PageDrifted, message, "Check that there is room where temporary files are kept.")
    })?;
    path.to_str().map(str::to_owned).ok_or_else(|| unusable(&path.to_string_lossy()))
}

/// Brings a file to the machine of the browser and returns where it is there. It never lies on this one.
fn upload(browser: &Browser, file: &Enclosure<'_>) -> Result<String, Fault> {
    let archive = archive(file.name, file.bytes).ok_or_else(|| {
        let message = format!("{} is too large to be sent to a remote browser", visible(file.name));
        Fault::new(FaultKind::PageDrifted, message, "Send less, or use a browser on this machine.")
    })?;
    let body = json!({"file": BASE64.encode(&archive)});
    let doing = "bring a file to the remote browser";
    let mut last = None;
    for place in UPLOADS {
        match browser.try_run(doing, 5 * BULKY, Command::post(place, &body))? {
            Ok(answer) => {
                let path = answer.as_str().map(str::to_owned);
                return path.ok_or_else(|| drifted("the remote WebDriver did not say where the file is"));
            }
            Err(error) if is_unknown(&error) => last = Some(error),
            Err(error) => return Err(fault(doing, error)),
        }
    }
    Err(last.map_or_else(|| drifted("no file can be sent"), |error| fault(doing, error)))
}

fn is_unknown(error: &CmdError) -> bool {
    error.is_unknown_command() || error.is_unknown_method() || error.is_unknown_path()
}

/// Returns an archive with one stored file: all that the protocol wants, and smaller than a library for it.
fn archive(name: &str, content: &[u8]) -> Option<Vec<u8>> {
    let size = u32::try_from(content.len()).ok().filter(|size| *size < u32::MAX)?;
    let name_size = u16::try_from(name.len()).ok()?;
    let mut common = Vec::new();
    // Version 2.0, names in UTF-8, stored, the first day of the format's calendar.
    for field in [20_u16, 0x0800, 0, 0, 0x21] {
        common.extend(field.to_le_bytes());
    }
    for field in [libdeflater::crc32(content), size, size] {
        common.extend(field.to_le_bytes());
    }
    common.extend(name_size.to_le_bytes());
    common.extend([0, 0]);

    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.extend(&common);
    bytes.extend(name.as_bytes());
    bytes.extend(content);
    let directory_at = u32::try_from(bytes.len()).ok()?;
    bytes.extend(b"PK\x01\x02\x14\x00");
    bytes.extend(&common);
    // No comment, first disk, no attributes, at the beginning.
    bytes.extend([0; 14]);
    bytes.extend(name.as_bytes());
    let directory_size = u32::try_from(bytes.len()).ok()? - directory_at;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend(directory_size.to_le_bytes());
    bytes.extend(directory_at.to_le_bytes());
    bytes.extend([0, 0]);
    Some(bytes)
}
