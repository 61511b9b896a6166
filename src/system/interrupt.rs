//! Ctrl-C and its relatives, noticed instead of obeyed, by those who have something to put back first.

use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use signal_hook::consts::SIGHUP;
use signal_hook::consts::SIGINT;
use signal_hook::consts::SIGTERM;

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on a signal that would end this process is only noted. Who calls this asks [`interrupted`] between steps.
pub fn watch_interrupts() -> io::Result<()> {
    if INTERRUPTED.get().is_some() {
        return Ok(());
    }
    let flag = INTERRUPTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The second one is obeyed: somebody is in earnest.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(flag))?;
        signal_hook::flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

/// Tells whether somebody asked this process to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
