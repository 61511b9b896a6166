//! Files for a page.

use std::path::Path;
use std::path::PathBuf;

use data_encoding::BASE64;
use fantoccini::error::CmdError;
use serde_json::json;

use crate::base::visible;
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

pub(super) fn set(browser: &Browser, target: Target<'_>, paths: &[PathBuf]) -> Result<(), Fault> {
    let element = browser.element(target)?;
    let mut names = Vec::new();
    for path in paths {
        // A line break would be read as the end of a name.
        let name = path.to_str().filter(|name| path.is_absolute() && !name.contains(['\n', '\r']));
        let name = name.ok_or_else(|| {
            let shown = path.display().to_string();
            drifted(format!("a browser cannot be given the file {}", visible(&shown)))
        })?;
        names.push(if browser.is_remote() { upload(browser, path)? } else { name.to_owned() });
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

/// Brings a file to the machine of the browser and returns where it is there.
fn upload(browser: &Browser, path: &Path) -> Result<String, Fault> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let message = format!("failed to read {}: {error}", path.display());
        Fault::new(FaultKind::PageDrifted, message, "Check that the file is still there.")
    };
    let content = std::fs::read(path).map_err(|error| unreadable(&error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let archive = archive(&name, &content).ok_or_else(|| unreadable(&"it is too large to be sent"))?;
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
