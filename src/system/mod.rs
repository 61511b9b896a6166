//! The operating system: the clock, the environment, other programs, files.
//!
//! Only this room asks the real ones. The environment is read once into a value and handed on.

mod children;
mod clock;
mod environment;
mod files;
mod interrupt;
mod job;
mod lock;
mod neighbours;
mod process;
mod random;
mod threads;

pub use children::adopt_orphans;
pub use children::ask_to_end;
pub use children::become_program;
pub use children::children_of;
pub use children::end_all_children;
pub use children::end_with_parent;
pub use children::is_alive;
pub use children::reap;
pub use clock::now;
pub use environment::ApiVariables;
pub use environment::BrowserVariables;
pub use environment::Environment;
pub use environment::host_name;
pub use environment::is_root;
pub use environment::own_program;
pub use files::FileError;
pub use files::append;
pub use files::create_new_private_dir;
pub use files::create_private_dir;
pub use files::ensure_real_dir;
pub use files::link_or_move;
pub use files::move_file;
pub use files::open_log;
pub use files::read_limited;
pub use files::remove_file;
pub use files::scratch_file;
pub use files::write_executable;
pub use files::write_new;
pub use files::write_private;
pub use files::write_shared;
pub use interrupt::interrupted;
pub use interrupt::watch_interrupts;
pub use job::Ended;
pub use job::Group;
pub use job::Job;
pub use job::read_output;
pub use lock::lock;
pub use neighbours::is_at_work;
pub use process::Finished;
pub use process::ProcessError;
pub use process::run;
pub use random::random_hex;
pub use threads::threads_for;
