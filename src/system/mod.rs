//! The operating system: the clock, the environment, other programs, files.
//!
//! Only this room asks the real ones. The environment is read once into a value and handed on.

mod beneath;
mod clock;
mod environment;
mod files;
mod interrupt;
mod job;
mod lock;
mod neighbours;
mod open;
mod process;
mod threads;

pub use beneath::Beneath;
pub use beneath::Listed;
pub use beneath::ListedKind;
pub use beneath::Unread;
pub use clock::now;
pub use environment::Environment;
pub use files::Content;
pub use files::FileError;
pub use files::TemporaryFile;
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
pub use files::stream_shared;
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
pub use open::Node;
pub use open::entries_of;
pub use open::node_at;
pub use open::read_pieces;
pub use process::Finished;
pub use process::ProcessError;
pub use process::run;
pub use threads::threads_for;
