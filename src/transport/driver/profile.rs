//! The browser's profile: where it is, and whether anybody uses it.

use std::fs::File;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use serde::Deserialize;
use serde::Serialize;

use crate::base::visible;
use crate::system;
use crate::system::Environment;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::driver::Configured;

/// Between our own runs this file decides.
const LOCK: &str = "git-oracle.lock";
/// Among browsers it is this link, which says `HOST-PID`.
const SINGLETON: &str = "SingletonLock";

const POLL: Duration = Duration::from_millis(20);
/// A browser whose guard was killed ends by itself, a moment later.
const DYING: Duration = Duration::from_secs(2);
/// Our temporary directories start so.
pub(super) const TEMPORARY: &str = "git-oracle-";

/// A user-data directory and, in it, a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub data_dir: PathBuf,
    pub name: Option<String>,
}

impl Profile {
    /// Returns the profile that is meant: of the environment, of the configuration, or our own.
    pub fn of(environment: &Environment, configured: &Configured) -> Result<Self, Fault> {
        if let Some(path) = environment.browser.profile.as_ref().or(configured.profile.as_ref()) {
            return Ok(Profile::at(&environment.current_dir.join(path)));
        }
        let home = environment.oracle_home.as_ref().ok_or_else(|| {
            Fault::new(FaultKind::ProfileInUse, "there is no home for a profile", "Set HOME or ORACLE_HOME_DIR.")
        })?;
        Ok(Profile { data_dir: home.join("profiles").join("default"), name: None })
    }

    /// Takes `…/Default` and `…/Profile 2` apart into the directory of the browser and the name of the profile.
    pub fn at(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_numbered = name.strip_prefix("Profile ").is_some_and(|rest| rest.parse::<u32>().is_ok());
        let parent = path.parent().filter(|parent| parent.parent().is_some());
        match parent {
            Some(parent) if name == "Default" || is_numbered || parent.join("Local State").is_file() => {
                Profile { data_dir: parent.to_owned(), name: Some(name.to_owned()) }
            }
            _ => Profile { data_dir: path.to_owned(), name: None },
        }
    }
}

impl Profile {
    /// Returns the process of ours that uses it. A browser of somebody else that does is a fault.
    pub fn user(&self) -> Result<Option<u32>, Fault> {
        if let Ok(mut file) = File::open(self.data_dir.join(LOCK))
            && matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
        {
            return Ok(Some(read(&mut file).pid));
        }
        refuse_foreign(&self.data_dir, Duration::ZERO).map(|()| None)
    }
}

/// What whoever holds the lock wrote into it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    /// Is removed with the run, or by the next one.
    temporary: Option<PathBuf>,
}

/// The right to use a profile, until it is dropped or its process ends.
pub(super) struct Held {
    file: File,
}

impl Held {
    /// Takes the lock, for which it waits as long as `patience` and nobody says that it is in vain, and makes sure that no
    /// browser is left there.
    pub(super) fn take(data_dir: &Path, patience: Duration, in_vain: &dyn Fn() -> bool) -> Result<Self, Fault> {
        let unusable = |error: &dyn std::fmt::Display| {
            let message = format!("the profile cannot be used, {error}: {}", data_dir.display());
            Fault::new(FaultKind::ProfileInUse, message, "Name another one with CHROME_PROFILE_DIR.")
        };
        if !data_dir.is_dir() {
            system::create_private_dir(data_dir).map_err(|error| unusable(&error))?;
        }
        let mut file = system::open_log(&data_dir.join(LOCK)).map_err(|error| unusable(&error))?;
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(std::fs::TryLockError::Error(error)) => return Err(unusable(&error)),
                Err(std::fs::TryLockError::WouldBlock) if in_vain() => return Err(Fault::interrupted()),
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(POLL),
                Err(std::fs::TryLockError::WouldBlock) => {
                    let holder = read(&mut file).pid;
                    let message =
                        format!("another git-oracle (process {holder}) uses the profile {}", data_dir.display());
                    let hint = "Wait until it has ended, or name another profile with CHROME_PROFILE_DIR.";
                    return Err(Fault::new(FaultKind::ProfileInUse, message, hint));
                }
            }
        }
        remove_left_over(&mut file);
        refuse_foreign(data_dir, DYING)?;
        Ok(Held { file })
    }

    /// Notes who we are and what is to be removed after us.
    pub(super) fn note(&mut self, temporary: Option<&Path>) {
        let holder = Holder { pid: std::process::id(), temporary: temporary.map(Path::to_owned) };
        // Without the note only a message has less to say and a directory may stay in the temporary one.
        let _ =
            serde_json::to_vec(&holder).map(|bytes| self.file.set_len(0).and_then(|()| self.file.write_all(&bytes)));
    }
}

fn read(file: &mut File) -> Holder {
    let mut text = String::new();
    let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(1 << 16).read_to_string(&mut text));
    serde_json::from_str(&text).unwrap_or_default()
}

/// Removes the temporary directory of a run that was killed together with its guard.
fn remove_left_over(file: &mut File) {
    let Some(path) = read(file).temporary else { return };
    let is_ours = path.is_absolute()
        && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMPORARY))
        && std::fs::symlink_metadata(&path)
            .is_ok_and(|found| found.is_dir() && file.metadata().is_ok_and(|own| own.uid() == found.uid()));
    if is_ours {
        let _ = std::fs::remove_dir_all(&path);
    }
}

/// Refuses a profile that a browser uses which is none of ours. The driver would say no more than that it failed.
fn refuse_foreign(data_dir: &Path, patience: Duration) -> Result<(), Fault> {
    let link = data_dir.join(SINGLETON);
    let host = system::host_name();
    let deadline = Instant::now() + patience;
    loop {
        let Ok(target) = std::fs::read_link(&link) else { return Ok(()) };
        let target = target.to_string_lossy().into_owned();
        let Some((holder, pid)) = target.rsplit_once('-') else { return Ok(()) };
        if holder != host {
            let message =
                format!("a browser on the machine {} has used the profile and may still use it", visible(holder));
            let hint = format!("When none does, remove {}", link.display());
            return Err(Fault::new(FaultKind::ProfileInUse, message, hint));
        }
        if !pid.parse().is_ok_and(system::is_alive) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let message =
                format!("the browser with process id {} uses the profile {}", visible(pid), data_dir.display());
            let hint = "Close it, or name another profile with CHROME_PROFILE_DIR.";
            return Err(Fault::new(FaultKind::ProfileInUse, message, hint));
        }
        std::thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_profile_inside_of_a_browsers_directory_is_taken_apart() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Local State"), "{}").unwrap();
        let known = dir.path().to_string_lossy().into_owned();
        let cases = [
            ("/home/a/.config/google-chrome/Default", "/home/a/.config/google-chrome", Some("Default")),
            ("/home/a/.config/chromium/Profile 2", "/home/a/.config/chromium", Some("Profile 2")),
            ("/home/a/.config/chromium/Profile x", "/home/a/.config/chromium/Profile x", None),
            ("/home/a/profile", "/home/a/profile", None),
            ("/Default", "/Default", None),
            (&format!("{known}/Work"), &known, Some("Work")),
        ];
        for (path, data_dir, name) in cases {
            let expected = Profile { data_dir: PathBuf::from(data_dir), name: name.map(str::to_owned) };
            assert_eq!(Profile::at(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_profile_is_used_by_one_at_a_time_and_only_its_owner_may_look() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().join("profiles/default");
        let mut held = Held::take(&data_dir, Duration::ZERO, &|| false).unwrap();
        held.note(None);
        assert_eq!(std::fs::metadata(&data_dir).unwrap().permissions().mode() & 0o777, 0o700);
        let fault = Held::take(&data_dir, Duration::ZERO, &|| false).err().unwrap();
        assert_eq!(fault.kind, FaultKind::ProfileInUse);
        assert!(fault.message.contains(&std::process::id().to_string()), "{fault}");
        drop(held);
        Held::take(&data_dir, Duration::ZERO, &|| false).unwrap();
    }

    #[test]
    fn only_a_temporary_directory_of_ours_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        for (name, goes) in [("git-oracle-1-2", true), ("precious", false)] {
            let temporary = dir.path().join(name);
            std::fs::create_dir(&temporary).unwrap();
            Held::take(dir.path(), Duration::ZERO, &|| false).unwrap().note(Some(&temporary));
            Held::take(dir.path(), Duration::ZERO, &|| false).unwrap().note(None);
            assert_eq!(!temporary.exists(), goes, "{name}");
        }
        let link = dir.path().join("git-oracle-link");
        symlink(dir.path().join("precious"), &link).unwrap();
        Held::take(dir.path(), Duration::ZERO, &|| false).unwrap().note(Some(&link));
        Held::take(dir.path(), Duration::ZERO, &|| false).unwrap();
        assert!(dir.path().join("precious").exists() && link.is_symlink());
    }

    #[test]
    fn a_browser_of_somebody_else_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join(SINGLETON);
        symlink("elsewhere-1", &link).unwrap();
        let fault = refuse_foreign(dir.path(), Duration::ZERO).unwrap_err();
        assert!(fault.message.contains("elsewhere") && fault.hint.contains(SINGLETON), "{fault:?}");
        std::fs::remove_file(&link).unwrap();
        symlink(format!("{}-{}", system::host_name(), u32::MAX), &link).unwrap();
        refuse_foreign(dir.path(), Duration::ZERO).unwrap();
        std::fs::remove_file(&link).unwrap();
        symlink(format!("{}-{}", system::host_name(), std::process::id()), &link).unwrap();
        let fault = refuse_foreign(dir.path(), Duration::ZERO).unwrap_err();
        assert!(fault.message.contains(&std::process::id().to_string()), "{fault}");
    }
}
