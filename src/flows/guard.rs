//! The guard of a browser, for the door that it comes in by.

pub use crate::transport::driver::Order;
pub use crate::transport::driver::become_guarded;
pub use crate::transport::driver::guard;
